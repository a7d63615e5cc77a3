//! Parameters in the form encoding: parsed without loss, and encoded so that all decoders agree. The decoder keeps
//! bytes, since `state` must be returned unchanged.

use std::borrow::Cow;
use std::{fmt, str};

use memchr::{memchr, memchr2};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use thiserror::Error;

/// The parameters of one query or body that the endpoint knows [RFC 6749 appendix B].
///
/// Values are bytes, and borrow from the request unless they were decoded. Unknown parameters are skipped, even those
/// that are repeated or cannot be decoded, such as `utm_campaign=50%off` [6749-3.1-03].
pub(crate) struct Params<'a>(Vec<Param<'a>>);

#[cfg(test)]
impl Params<'static> {
    /// No parameters.
    pub(crate) const NONE: &'static Self = &Self(Vec::new());
}

impl<'a> Params<'a> {
    /// The parameters that have a value.
    #[cfg(test)]
    pub(crate) fn of(pairs: &[(&'static str, Option<&'a str>)]) -> Self {
        let mut params = Self(Vec::new());
        for ((name, value), place) in pairs.iter().zip(0..) {
            value.iter().for_each(|value| params.add(place, name, Cow::Borrowed(value.as_bytes())));
        }
        params
    }

    /// Parses a query, and keeps the parameters with these names.
    pub(crate) fn parse(bytes: &'a [u8], known: &[&'static str], limits: &ParamLimits) -> Result<Self, ParamsError> {
        Self::parse_any(bytes, known, limits, |_| Ok(()))
    }

    /// Parses a body. It must be in the form encoding, unknown parameters included [6749-3.2-02].
    pub(crate) fn parse_body(
        bytes: &'a [u8],
        known: &[&'static str],
        limits: &ParamLimits,
    ) -> Result<Self, ParamsError> {
        Self::parse_any(bytes, known, limits, check_escapes)
    }

    fn parse_any(
        bytes: &'a [u8],
        known: &[&'static str],
        limits: &ParamLimits,
        check_unknown: impl Fn(&[u8]) -> Result<(), ParamsError>,
    ) -> Result<Self, ParamsError> {
        if bytes.len() > limits.bytes {
            return Err(ParamsError::TooLong);
        }

        let mut params = Self(Vec::with_capacity(USUAL));
        let mut rest = bytes;
        let mut parameters = 0;
        while !rest.is_empty() {
            let (piece, after) = split_at_first(rest, b'&');
            rest = after;
            if piece.is_empty() {
                continue;
            }
            if parameters >= limits.parameters {
                return Err(ParamsError::TooMany);
            }
            parameters += 1;
            let (name, value) = split_at_first(piece, b'=');
            match known_name(name, known) {
                Some((place, RESOURCE)) => params.add_another(place, value),
                Some((place, name)) => params.add(place, name, form_decode(value)?),
                None => check_unknown(piece)?,
            }
        }
        Ok(params)
    }

    /// Encodes the parameters of these names that have a value, so that [`parse`](Self::parse) reads the same values.
    pub(crate) fn to_query(&self, names: &[&str]) -> String {
        let mut query = String::new();
        let mut add = |name: &str, value: &[u8]| {
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str(name);
            query.push('=');
            form_encode_into(&mut query, value);
        };
        for name in names {
            match *name {
                RESOURCE => self.resources().for_each(|value| add(name, value)),
                _ => self.bytes(name).into_iter().for_each(|value| add(name, value)),
            }
        }
        query
    }

    /// Returns the first value that is not empty, since an empty one counts as absent
    /// [6749-3.1-02].
    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.get(name)?.value.as_deref()
    }

    /// Returns the values of [`RESOURCE`], in the order of the request. A value that cannot be decoded is returned as
    /// it was sent; it has an escape that is not valid in a URI.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(|param| param.name == RESOURCE).filter_map(|param| param.value.as_deref())
    }

    /// Returns the same as [`Self::bytes`] for parameters that must be text. A value that is not UTF-8 counts as
    /// absent, so check [`Self::all_utf8`] first.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        str::from_utf8(self.bytes(name)?).ok()
    }

    /// Returns whether the parameter was sent more than once; empty copies count [6749-3.1-04].
    pub(crate) fn is_repeated(&self, name: &str) -> bool {
        self.get(name).is_some_and(|param| param.is_repeated)
    }

    /// Returns the first repeated name, in the order of the known names.
    pub(crate) fn first_repeated(&self) -> Option<&'static str> {
        let repeated = self.0.iter().filter(|param| param.is_repeated);
        repeated.min_by_key(|param| param.place).map(|param| param.name)
    }

    pub(crate) fn all_utf8(&self) -> bool {
        let is_utf8 = |value: &[u8]| value.is_ascii() || str::from_utf8(value).is_ok();
        let is_wrong =
            |param: &Param<'_>| param.name != RESOURCE && param.value.as_deref().is_some_and(|value| !is_utf8(value));
        !self.0.iter().any(is_wrong)
    }

    fn get(&self, name: &str) -> Option<&Param<'a>> {
        self.0.iter().find(|param| param.name == name)
    }

    /// Adds a value of [`RESOURCE`], the one parameter that may be sent several times.
    fn add_another(&mut self, place: u16, value: &'a [u8]) {
        let value = form_decode(value).unwrap_or(Cow::Borrowed(value));
        self.0.push(Param { place, name: RESOURCE, value: Some(value), is_repeated: false });
    }

    fn add(&mut self, place: u16, name: &'static str, value: Cow<'a, [u8]>) {
        let value = Some(value).filter(|value| !value.is_empty());
        let param = Param { place, name, value, is_repeated: false };
        match self.0.iter_mut().find(|sent| sent.place == place) {
            Some(sent) => sent.repeat(param),
            None => self.0.push(param),
        }
    }
}

impl fmt::Debug for Params<'_> {
    /// Prints only the names that were sent, since values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|param| param.name)).finish()
    }
}

/// The maximum size of a query in bytes: a request with the longest `state`, a `resource` and a `redirect_uri` of the
/// maximum size fits.
pub(crate) const QUERY_BYTES: usize = 32_768;
/// The maximum number of parameters of a query or body, unknown ones included.
pub(crate) const PARAMETERS: usize = 100;

/// The maximum size of one query or body. Both bounds are inclusive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParamLimits {
    /// The number of bytes of the whole, as sent.
    pub(crate) bytes: usize,
    /// The number of parameters, known or not. Empty pieces between two `&` do not count.
    pub(crate) parameters: usize,
}

/// Why a query or body is refused as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum ParamsError {
    #[error("the parameters are too long")]
    TooLong,
    #[error("there are too many parameters")]
    TooMany,
    #[error("a percent sign is not followed by two hexadecimal digits")]
    MalformedEscape,
}

/// Decodes one name or value: `+` becomes a space, an escape becomes a byte [RFC 6749 appendix B].
pub(crate) fn form_decode(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ParamsError> {
    if !is_encoded(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }

    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        let (byte, after) = match first {
            b'+' => (b' ', after),
            b'%' => split_escape(after)?,
            literal => (*literal, after),
        };
        decoded.push(byte);
        rest = after;
    }
    Ok(Cow::Owned(decoded))
}

/// Returns whether decoding changes anything.
pub(crate) fn is_encoded(bytes: &[u8]) -> bool {
    memchr2(b'+', b'%', bytes).is_some()
}

/// Encodes one name or value so that form and URI decoders read the same bytes [D-08].
///
/// A space becomes `%20`, never `+`. Everything except `A-Z a-z 0-9 - . _ ~` is escaped.
pub(crate) fn form_encode_into(out: &mut String, bytes: &[u8]) {
    out.extend(percent_encode(bytes, ALL_BUT_UNRESERVED));
}

/// Returns the parameters of these names as they were sent. All other parameters are ignored, even malformed ones.
pub(crate) fn parameters_named(bytes: &[u8], names: &[&str]) -> Vec<u8> {
    let is_named = |piece: &&[u8]| {
        let (name, _) = split_at_first(piece, b'=');
        form_decode(name).is_ok_and(|name| names.iter().any(|own| own.as_bytes() == &*name))
    };
    bytes.split(|byte| *byte == b'&').filter(is_named).collect::<Vec<_>>().join(&b'&')
}

/// Adds one parameter to the query of a URI, and leaves the rest untouched [HTTP-06].
///
/// The URI must have no fragment, and the name must need no encoding.
pub(crate) fn append_query(uri: &mut String, name: &str, value: &[u8]) {
    match uri.split_once('?') {
        None => uri.push('?'),
        Some((_, query)) if query.is_empty() || query.ends_with('&') => {}
        Some(_) => uri.push('&'),
    }
    uri.push_str(name);
    uri.push('=');
    form_encode_into(uri, value);
}

/// A known parameter of the request.
struct Param<'a> {
    /// Its index among the known names.
    place: u16,
    name: &'static str,
    /// The first value that is not empty.
    value: Option<Cow<'a, [u8]>>,
    is_repeated: bool,
}

impl Param<'_> {
    fn repeat(&mut self, other: Self) {
        self.is_repeated = true;
        if self.value.is_none() {
            self.value = other.value;
        }
    }
}

/// Finds a name among the known names. They need no escapes and are usually sent without.
fn known_name(sent: &[u8], known: &[&'static str]) -> Option<(u16, &'static str)> {
    let find = |sent: &[u8]| (0..).zip(known.iter().copied()).find(|(_, name)| name.as_bytes() == sent);
    match find(sent) {
        None if is_encoded(sent) => find(&form_decode(sent).ok()?),
        found => found,
    }
}

fn check_escapes(bytes: &[u8]) -> Result<(), ParamsError> {
    bytes.split(|byte| *byte == b'%').skip(1).try_for_each(|after| split_escape(after).map(|_| ()))
}

/// Splits bytes at the first separator. Without one, the second part is empty.
fn split_at_first(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    let split = memchr(separator, bytes).and_then(|position| {
        let (before, from) = bytes.split_at_checked(position)?;
        Some((before, from.get(1..)?))
    });
    split.unwrap_or((bytes, &[]))
}

/// Splits the bytes after a `%` into the decoded byte and the rest.
fn split_escape(after: &[u8]) -> Result<(u8, &[u8]), ParamsError> {
    let [high, low, rest @ ..] = after else { return Err(ParamsError::MalformedEscape) };
    let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low)) else {
        return Err(ParamsError::MalformedEscape);
    };
    Ok(((high << 4) | low, rest))
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// The parameter that names protected resources. It may be repeated, and its values are validated when they are
/// compared [RFC 8707 section 2].
pub(crate) const RESOURCE: &str = "resource";

/// Enough for the parameters of a usual request to any endpoint, so that the list is allocated once.
const USUAL: usize = 8;

/// The complement of the unreserved characters of RFC 3986 section 2.3.
const ALL_BUT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Names and values, decoded. What cannot be decoded has no fields.
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn read(form: &[u8]) -> Self {
        Self(serde_urlencoded::from_bytes(form).unwrap_or_default())
    }

    /// Returns the first value of a field; empty if there is none.
    pub(crate) fn first(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Returns every value of a field.
    pub(crate) fn all<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| &**value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str; 3] = &["state", "scope", "code"];
    const LIMITS: ParamLimits = ParamLimits { bytes: 64, parameters: 4 };

    fn parse(bytes: &[u8]) -> Result<Params<'_>, ParamsError> {
        Params::parse(bytes, NAMES, &LIMITS)
    }

    /// RFC 6749 appendix B: U+0020, U+0025, U+0026, U+002B, U+00A3 and U+20AC.
    #[test]
    fn example_of_appendix_b_is_decoded() {
        let decoded = form_decode(b"+%25%26%2B%C2%A3%E2%82%AC").unwrap();
        assert_eq!(decoded.as_ref(), " %&+\u{a3}\u{20ac}".as_bytes());

        let params = parse(b"state=+%25%26%2b%c2%a3%e2%82%ac").unwrap();
        assert_eq!(params.text("state"), Some(" %&+\u{a3}\u{20ac}"));
    }

    #[test]
    fn values_are_found_as_sent() {
        let table: &[(&[u8], Option<&[u8]>)] = &[
            (b"", None),
            (b"state", None),
            (b"state=", None),
            (b"&&state=a&&", Some(b"a")),
            (b"state=a=b=", Some(b"a=b=")),
            (b"state==", Some(b"=")),
            (b"=state", None),
            (b"=", None),
            (b"st%61te=a", Some(b"a")),
            (b"State=a", None),
            (b"state+=a", None),
            (b"state=%ff%00%0d%0A", Some(b"\xff\0\r\n")),
            (b"state=\xff", Some(b"\xff")),
            (b"state=%253D", Some(b"%3D")),
            (b"state=%3d%26", Some(b"=&")),
            (b"state=+", Some(b" ")),
            (b"state=a;scope=b", Some(b"a;scope=b")),
            (b"foo=1&foo=2&state=a", Some(b"a")),
        ];
        for (bytes, expected) in table {
            let params = parse(bytes).unwrap();
            assert_eq!(params.bytes("state"), *expected, "{}", bytes.escape_ascii());
            assert_eq!(params.first_repeated(), None, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn known_parameters_sent_twice_are_noticed() {
        let table: &[(&[u8], Option<&str>)] = &[
            (b"state=a&state=b", Some("state")),
            (b"state=a&state=a", Some("state")),
            (b"scope=&scope=x", Some("scope")),
            (b"scope=x&scope=", Some("scope")),
            (b"scope&scope", Some("scope")),
            (b"code=a&c%6fde=b", Some("code")),
            (b"code=a&code=b&scope=&scope", Some("scope")),
            (b"code=a&scope=b&state=c", None),
            (b"foo=1&foo=2", None),
        ];
        for (bytes, expected) in table {
            let params = parse(bytes).unwrap();
            assert_eq!(params.first_repeated(), *expected, "{}", bytes.escape_ascii());
            for name in NAMES {
                let once = params.first_repeated().is_none();
                assert!(!(once && params.is_repeated(name)), "{name}");
            }
            assert_eq!(expected.is_some_and(|name| params.is_repeated(name)), expected.is_some());
        }
        assert!(!parse(b"foo=1&foo=2").unwrap().is_repeated("foo"));
        assert_eq!(parse(b"scope=&scope=x&scope=y").unwrap().bytes("scope"), Some(b"x".as_slice()));
    }

    /// 6749-3.1-03
    #[test]
    fn malformed_escapes_are_refused_in_bodies_and_in_known_parameters() {
        let table: &[&[u8]] =
            &[b"%", b"%z", b"%zz", b"%4", b"%4g", b"a%", b"%%41", b"%+1", b"%c3%", b"%\xff\xff", b"%0x"];
        for escape in table {
            assert_eq!(form_decode(escape), Err(ParamsError::MalformedEscape));
            let known = [b"foo=%41&code=a&state=", *escape].concat();
            assert_eq!(parse(&known).unwrap_err(), ParamsError::MalformedEscape, "{}", known.escape_ascii());
            for prefix in [&b"code=a&foo="[..], b"code=a&"] {
                let unknown = [prefix, escape].concat();
                let params = parse(&unknown).unwrap();
                assert_eq!(params.bytes("code"), Some(&b"a"[..]), "{}", unknown.escape_ascii());
                let of_body = Params::parse_body(&unknown, NAMES, &LIMITS).unwrap_err();
                assert_eq!(of_body, ParamsError::MalformedEscape, "{}", unknown.escape_ascii());
            }
        }
    }

    #[test]
    fn parameters_are_picked_from_whatever_surrounds_them() {
        for (bytes, expected) in [
            (&b"state=%zz&sc%6fpe=a&%zz=b&code=c&scope"[..], &b"sc%6fpe=a&code=c&scope"[..]),
            (b"", b""),
            (b"&&state&codes=1&", b""),
            (b"code=%zz&scope=%zz", b"code=%zz&scope=%zz"),
        ] {
            assert_eq!(parameters_named(bytes, &["scope", "code"]), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let names = ["state", RESOURCE, "scope", "code"];
        let limits = ParamLimits { bytes: 1000, parameters: 100 };
        let form = b"code=&resource=a%26b&x=1&state=a+%26%00%ff&resource=&resource=%zz&scope=b";
        let query = Params::parse(form, &names, &limits).unwrap().to_query(&names);
        assert_eq!(query, "state=a%20%26%00%FF&resource=a%26b&resource=&resource=%25zz&scope=b");
        let again = Params::parse(query.as_bytes(), &names, &limits).unwrap();
        assert_eq!(again.to_query(&names), query);
    }

    #[test]
    fn values_at_the_limits_are_allowed() {
        let mut bytes = b"state=".to_vec();
        bytes.resize(64, b'a');
        assert!(parse(&bytes).is_ok());
        bytes.push(b'a');
        assert_eq!(parse(&bytes).unwrap_err(), ParamsError::TooLong);

        assert!(parse(b"a&&&b=1&c=&&=").is_ok());
        assert_eq!(parse(b"a&b&c&d&e").unwrap_err(), ParamsError::TooMany);
        assert_eq!(parse(b"a&a&a&a&a").unwrap_err(), ParamsError::TooMany);
    }

    #[test]
    fn only_values_that_need_decoding_are_copied() {
        let params = parse(b"state=a-b_c~d.e&scope=a+b").unwrap();
        let is_borrowed = |name| matches!(params.get(name).unwrap().value, Some(Cow::Borrowed(_)));
        assert!(is_borrowed("state"));
        assert!(!is_borrowed("scope"));
    }

    #[test]
    fn text_is_utf8() {
        let params = parse(b"state=%ff&scope=%c3%a4").unwrap();
        assert_eq!(params.text("state"), None);
        assert_eq!(params.text("scope"), Some("\u{e4}"));
        assert_eq!(params.text("code"), None);
        assert!(!params.all_utf8());
        assert!(parse(b"scope=%c3%a4&foo=%ff").unwrap().all_utf8());
    }

    #[test]
    fn there_may_be_any_number_of_known_parameters() {
        const MANY: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
        let limits = ParamLimits { bytes: 1000, parameters: 100 };
        let form = MANY.map(|name| format!("{name}={name}")).join("&") + "&l=&k&m=1&m=2";
        let params = Params::parse(form.as_bytes(), &MANY, &limits).unwrap();
        for name in MANY {
            assert_eq!(params.text(name), Some(name));
            assert_eq!(params.is_repeated(name), ["k", "l"].contains(&name), "{name}");
        }
        assert_eq!((params.first_repeated(), params.text("m")), (Some("k"), None));
    }

    /// RFC 8707 section 2
    #[test]
    fn a_resource_may_be_repeated_and_is_judged_elsewhere() {
        let names = ["state", RESOURCE];
        let limits = ParamLimits { bytes: 1000, parameters: 100 };
        let form = b"resource=a&state=x&resource=&resource=%zz&resource=b%2fc&resource=%ff&resource=a";
        let params = Params::parse(form, &names, &limits).unwrap();
        let values: Vec<_> = params.resources().collect();
        assert_eq!(values, [&b"a"[..], b"", b"%zz", b"b/c", b"\xff", b"a"]);
        assert_eq!((params.first_repeated(), params.all_utf8(), params.text("state")), (None, true, Some("x")));
        let many = "resource=a&".repeat(20) + "state=x&state=y";
        let params = Params::parse(many.as_bytes(), &names, &limits).unwrap();
        assert_eq!((params.resources().count(), params.first_repeated()), (20, Some("state")));
    }

    #[test]
    fn debug_shows_names_only() {
        assert_eq!(format!("{:?}", parse(b"code=secret&state=&foo=secret").unwrap()), r#"{"code", "state"}"#);
    }

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let mut encoded = String::new();
        form_encode_into(&mut encoded, &all);
        assert!(encoded.bytes().all(|byte| byte == b'%' || byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)));
        assert_eq!(form_decode(encoded.as_bytes()).unwrap(), all);

        for byte in all {
            let mut encoded = String::new();
            form_encode_into(&mut encoded, &[byte]);
            let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            let expected = if is_unreserved { char::from(byte).to_string() } else { format!("%{byte:02X}") };
            assert_eq!(encoded, expected);
        }
    }

    #[test]
    fn query_is_appended_to_what_is_there() {
        let table = [
            ("https://c.example", "https://c.example?code=a%20%26"),
            ("https://c.example/cb", "https://c.example/cb?code=a%20%26"),
            ("https://c.example/cb&", "https://c.example/cb&?code=a%20%26"),
            ("https://c.example/cb?", "https://c.example/cb?code=a%20%26"),
            ("https://c.example/cb?x=1&", "https://c.example/cb?x=1&code=a%20%26"),
            ("https://c.example/cb?x=%7e'&y=a+b", "https://c.example/cb?x=%7e'&y=a+b&code=a%20%26"),
            ("https://c.example/cb?x=1?", "https://c.example/cb?x=1?&code=a%20%26"),
            ("com.example.app:/cb", "com.example.app:/cb?code=a%20%26"),
        ];
        for (uri, expected) in table {
            let mut uri = uri.to_owned();
            append_query(&mut uri, "code", b"a &");
            assert_eq!(uri, expected);
        }

        let mut uri = "https://c.example/cb".to_owned();
        append_query(&mut uri, "code", b"a");
        append_query(&mut uri, "state", b"\r\n\0");
        assert_eq!(uri, "https://c.example/cb?code=a&state=%0D%0A%00");
    }

    #[test]
    fn values_are_decoded_and_in_order() {
        let fields = Fields::read(b"scope=a%3Ar&x=1+2&scope=b");
        assert_eq!(fields.all("scope").collect::<Vec<_>>(), ["a:r", "b"]);
        assert_eq!([fields.first("scope"), fields.first("x"), fields.first("y")], ["a:r", "1 2", ""]);
    }
}
