//! Responses, and the challenge of a resource [RFC 6750 section 3, RFC 9449 section 7.1].

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// A complete HTTP response. An adapter adds and changes nothing.
///
/// # Security
///
/// `Debug` prints the status, the names of the headers and the length of the body. The `Location` header and the body
/// may contain codes and tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    status: u16,
    headers: Cow<'static, [Header]>,
    body: Vec<u8>,
}

/// A header line: its name and its value.
type Header = (&'static str, Cow<'static, str>);

/// The headers of responses that contain tokens, and of empty responses.
const TOKEN_JSON: &[Header] = &[
    ("Content-Type", Cow::Borrowed("application/json;charset=UTF-8")),
    ("Cache-Control", Cow::Borrowed("no-store")),
    ("Pragma", Cow::Borrowed("no-cache")),
];
const EMPTY: &[Header] = &[("Cache-Control", Cow::Borrowed("no-store")), ("Pragma", Cow::Borrowed("no-cache"))];

impl Response {
    /// Creates the empty response to a successful request.
    pub(crate) fn empty() -> Self {
        Self { status: 200, headers: Cow::Borrowed(EMPTY), body: Vec::new() }
    }

    /// Creates a JSON response with the media type of the token endpoint [RFC 6749 section 5.1, D-16].
    pub(crate) fn json(status: u16, message: &impl Serialize) -> Self {
        Self { status, headers: Cow::Borrowed(TOKEN_JSON), body: to_json(message) }
    }

    /// Creates the response that contains new tokens, of JSON that is already written.
    pub(crate) fn tokens(json: String) -> Self {
        Self { status: 200, headers: Cow::Borrowed(TOKEN_JSON), body: json.into_bytes() }
    }

    /// Creates a JSON response with the bare media type [D-16].
    pub(crate) fn plain_json(status: u16, message: &impl Serialize) -> Self {
        Self::new(status)
            .with_header("Content-Type", "application/json")
            .with_header("Cache-Control", "no-store")
            .with_header("Pragma", "no-cache")
            .with_body(to_json(message))
    }

    /// Creates a redirect to a location that is already checked and encoded [HTTP-03, HTTP-06].
    pub(crate) fn redirect(status: RedirectStatus, location: String) -> Self {
        Self::new(status.code())
            .with_header("Location", location)
            .with_header("Cache-Control", "no-store")
            .with_header("Referrer-Policy", "no-referrer")
    }

    /// Creates a response without headers and body.
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Cow::Owned(Vec::with_capacity(4)), body: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.to_mut().push((name, value.into()));
        self
    }

    #[must_use]
    pub(crate) fn with_body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Returns the status code [RFC 9110 section 15].
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the name and value of every header line, in the order to send [RFC 9110 section 6.3].
    ///
    /// Names and values contain no control characters.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (*name, value.as_ref()))
    }

    /// Returns the value of the first header line with this name, in any case [RFC 9110 section 5.1].
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the body, which may be empty.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the body without a copy.
    #[must_use]
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &names)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// The status of a redirect back to the client [RFC 9700 section 4.12].
///
/// 307 and 308 cannot be expressed, since a browser would then send the user's form to the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedirectStatus {
    /// 302, which browsers follow with GET.
    #[default]
    Found,
    /// 303, which browsers must follow with GET.
    SeeOther,
}

impl RedirectStatus {
    fn code(self) -> u16 {
        match self {
            Self::Found => 302,
            Self::SeeOther => 303,
        }
    }
}

fn to_json(message: &impl Serialize) -> Vec<u8> {
    // Most messages fit.
    let mut json = Vec::with_capacity(512);
    // Every message of this crate can be written: its keys are texts.
    serde_json::to_writer(&mut json, message).unwrap_or_default();
    json
}

/// The authentication scheme of an access token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenScheme {
    /// The request has a token but no proof [RFC 6750 section 2.1].
    #[default]
    Bearer,
    /// The request has a token and a DPoP proof [RFC 9449 section 7.1].
    Dpop,
}

impl TokenScheme {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::Dpop => "DPoP",
        }
    }

    /// Returns the scheme of that name, in any letter case [RFC 9110 section 11.1].
    #[inline]
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"Bearer") {
            Some(Self::Bearer)
        } else if name.eq_ignore_ascii_case(b"DPoP") {
            Some(Self::Dpop)
        } else {
            None
        }
    }
}

/// Returns the value of `WWW-Authenticate`: the scheme, then each attribute that has a value, quoted.
///
/// Values must not contain quotes, backslashes or control characters.
pub(crate) fn challenge(scheme: TokenScheme, attributes: &[(&str, &str)]) -> String {
    let mut challenge = String::from(scheme.as_str());
    let mut separator = ' ';
    // Some clients parse an empty value as two quotes.
    for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
        challenge.push(separator);
        if separator == ',' {
            challenge.push(' ');
        }
        separator = ',';
        for part in [*name, "=\"", value, "\""] {
            challenge.push_str(part);
        }
    }
    challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_have_exactly_their_headers() {
        let message = std::collections::BTreeMap::<&str, &str>::new();
        let table = [
            (
                Response::json(200, &message),
                200,
                vec![
                    ("Content-Type", "application/json;charset=UTF-8"),
                    ("Cache-Control", "no-store"),
                    ("Pragma", "no-cache"),
                ],
                "{}",
            ),
            (
                Response::plain_json(401, &message).with_header("WWW-Authenticate", "Basic"),
                401,
                vec![
                    ("Content-Type", "application/json"),
                    ("Cache-Control", "no-store"),
                    ("Pragma", "no-cache"),
                    ("WWW-Authenticate", "Basic"),
                ],
                "{}",
            ),
            (
                Response::redirect(RedirectStatus::Found, "https://c.example/?code=x".to_owned()),
                302,
                vec![
                    ("Location", "https://c.example/?code=x"),
                    ("Cache-Control", "no-store"),
                    ("Referrer-Policy", "no-referrer"),
                ],
                "",
            ),
            (Response::empty(), 200, vec![("Cache-Control", "no-store"), ("Pragma", "no-cache")], ""),
        ];
        for (response, status, headers, body) in table {
            assert_eq!(response.status(), status);
            assert_eq!(response.headers().collect::<Vec<_>>(), headers);
            assert_eq!(response.body(), body.as_bytes());
            assert_eq!(response.into_body(), body.as_bytes());
        }
    }

    #[test]
    fn redirect_is_found_unless_see_other_is_chosen() {
        assert_eq!(RedirectStatus::default(), RedirectStatus::Found);
        assert_eq!(Response::redirect(RedirectStatus::SeeOther, String::new()).status(), 303);
    }

    #[test]
    fn header_is_looked_up_in_any_case_and_the_first_wins() {
        let response = Response::new(405).with_header("Allow", "GET").with_header("Allow", "POST".to_owned());
        assert_eq!(response.header("aLLOW"), Some("GET"));
        assert_eq!(response.header("Location"), None);
    }

    #[test]
    fn debug_shows_no_value() {
        let response = Response::redirect(RedirectStatus::Found, "https://c.example/?code=secret".into())
            .with_body(b"secret".into());
        let shown = format!("{response:?}");
        assert_eq!(
            shown,
            r#"Response { status: 302, headers: ["Location", "Cache-Control", "Referrer-Policy"], body: 6 bytes }"#
        );
    }

    #[test]
    fn attributes_without_a_value_are_left_out() {
        let bearer = |attributes| challenge(TokenScheme::Bearer, attributes);
        assert_eq!(bearer(&[("realm", "r"), ("scope", ""), ("error", "e")]), r#"Bearer realm="r", error="e""#);
        assert_eq!(bearer(&[("scope", "a b")]), r#"Bearer scope="a b""#);
        assert_eq!(bearer(&[("scope", "")]), "Bearer");
        assert_eq!(challenge(TokenScheme::Dpop, &[("algs", "ES256")]), r#"DPoP algs="ES256""#);
    }

    #[test]
    fn schemes_are_read_in_any_case() {
        for (name, scheme) in [
            ("Bearer", Some(TokenScheme::Bearer)),
            ("bEARER", Some(TokenScheme::Bearer)),
            ("DPoP", Some(TokenScheme::Dpop)),
            ("dPOp", Some(TokenScheme::Dpop)),
            ("Basic", None),
            ("DPoP ", None),
            ("", None),
        ] {
            assert_eq!(TokenScheme::named(name.as_bytes()), scheme, "{name}");
        }
    }
}
