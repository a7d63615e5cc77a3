//! The HTTP request that your service's web framework received.

use std::fmt;
use std::net::IpAddr;

use memchr::memchr;

use crate::base::id::Subject;

/// An HTTP request, reduced to what the endpoints read.
///
/// It borrows everything and decodes nothing: the query and the body are the bytes that arrived. Do not use a
/// framework's form or query extractors, since they lose repeated and empty parameters and replace bytes that are not
/// UTF-8.
///
/// # Security
///
/// `Debug` prints no credential, no query and no body.
///
/// # Examples
///
/// ```
/// use grantor::wire::{Body, Request};
///
/// let request = Request::new("POST")
///     .header("Content-Type", b"application/x-www-form-urlencoded")
///     .body(Body::Bytes(b"grant_type=refresh_token&refresh_token=secret"))
///     .peer([192, 0, 2, 1].into());
///
/// assert!(!format!("{request:?}").contains("secret"));
/// ```
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: Option<&'a str>,
    pub(crate) query: &'a [u8],
    pub(crate) authorization: HeaderLine<'a>,
    content_type: HeaderLine<'a>,
    pub(crate) origin: HeaderLine<'a>,
    pub(crate) dpop: HeaderLine<'a>,
    pub(crate) user_agent: HeaderLine<'a>,
    asks_for_method: bool,
    sec_fetch_mode: FetchMetadata,
    sec_fetch_dest: FetchMetadata,
    is_cross_site: bool,
    is_prefetch: bool,
    pub(crate) body: Body<'a>,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) subject: Option<&'a Subject>,
    pub(crate) session: Option<&'a [u8]>,
    /// The public URL that the service set.
    pub(crate) url: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// Creates a request with only this method; methods are case-sensitive [RFC 9110 section 9.1].
    #[must_use]
    pub fn new(method: &'a str) -> Self {
        Self {
            method,
            path: None,
            query: &[],
            authorization: HeaderLine::Absent,
            content_type: HeaderLine::Absent,
            origin: HeaderLine::Absent,
            dpop: HeaderLine::Absent,
            user_agent: HeaderLine::Absent,
            asks_for_method: false,
            sec_fetch_mode: FetchMetadata::Absent,
            sec_fetch_dest: FetchMetadata::Absent,
            is_cross_site: false,
            is_prefetch: false,
            body: Body::Empty,
            peer: None,
            subject: None,
            session: None,
            url: None,
        }
    }

    /// Sets the path as it arrived, not decoded [RFC 3986 section 3.3]. Endpoints with several paths need it, such as
    /// [`ResourceMetadata`](crate::wire::Endpoint::ResourceMetadata), and so do resources that accept DPoP proofs. If a
    /// framework removes the prefix of nested routes, pass the whole path.
    #[must_use]
    pub fn path(mut self, path: &'a str) -> Self {
        self.path = Some(path);
        self
    }

    /// Sets the query: the raw bytes after the `?`, not decoded [RFC 3986 section 3.4].
    #[must_use]
    pub fn query(mut self, bytes: &'a [u8]) -> Self {
        self.query = bytes;
        self
    }

    /// Adds one header line, its name in any case [RFC 9110 section 5.1].
    ///
    /// Call it once for every line that arrived, even for repeated names, so that repeats are detected. Lines that no
    /// endpoint reads are dropped, so all lines may be passed.
    #[must_use]
    #[inline]
    pub fn header(mut self, name: &str, value: &'a [u8]) -> Self {
        self.add_header(name, value);
        self
    }

    fn add_header(&mut self, name: &str, value: &'a [u8]) {
        if name.eq_ignore_ascii_case("Authorization") {
            self.authorization = self.authorization.and(value);
        } else if name.eq_ignore_ascii_case("Content-Type") {
            self.content_type = self.content_type.and(value);
        } else if name.eq_ignore_ascii_case("Origin") {
            self.origin = self.origin.and(value);
        } else if name.eq_ignore_ascii_case("DPoP") {
            self.dpop = self.dpop.and(value);
        } else if name.eq_ignore_ascii_case("User-Agent") {
            self.user_agent = self.user_agent.and(value);
        } else if name.eq_ignore_ascii_case("Access-Control-Request-Method") {
            self.asks_for_method = true;
        } else if name.eq_ignore_ascii_case("Sec-Fetch-Mode") {
            self.sec_fetch_mode = self.sec_fetch_mode.and(value, b"navigate");
        } else if name.eq_ignore_ascii_case("Sec-Fetch-Dest") {
            self.sec_fetch_dest = self.sec_fetch_dest.and(value, b"document");
        } else if name.eq_ignore_ascii_case("Sec-Fetch-Site") {
            self.is_cross_site |= value.trim_ascii() == b"cross-site";
        } else if PREFETCH.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            self.is_prefetch = true;
        }
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: Body<'a>) -> Self {
        self.body = body;
        self
    }

    /// Sets the address of the peer. Failed authentications are throttled by it.
    ///
    /// Behind a proxy it is the address that the proxy reports, never one that a client can choose by sending a header
    /// itself.
    #[must_use]
    pub fn peer(mut self, address: IpAddr) -> Self {
        self.peer = Some(address);
        self
    }

    /// Sets the signed-in user, for the authorization endpoint.
    ///
    /// The server fetches a client's metadata document only for a request with a user: see
    /// [`Config::registration.metadata_documents`](crate::Config::registration).
    #[must_use]
    pub fn subject(mut self, subject: &'a Subject) -> Self {
        self.subject = Some(subject);
        self
    }

    /// Sets a secret value that identifies the browser's session, for the authorization endpoint.
    ///
    /// A session that presents a pushed request before its `request_uri` expires may present it again later, once the
    /// user has signed in [RFC 9126 section 4]. The value must therefore stay the same during the sign-in. Since a
    /// sign-in should start a session with a new id, keep a random value of the old session in the new one, and pass
    /// that value. An empty value counts as none.
    #[must_use]
    pub fn session(mut self, session: &'a [u8]) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets the public URL of the request, which DPoP proofs at a resource must name [RFC 9449 section 4.2].
    ///
    /// It is for resources behind a proxy that changes the path or the host. Without it, the URL is the origin of the
    /// protected resource, or of the issuer if there is no [`Config::resources`](crate::Config::resources), followed by
    /// the [path](Self::path) of the request.
    ///
    /// # Security
    ///
    /// Never build it from `Host`, `Forwarded` or `X-Forwarded-Host`. The sender of the request writes them, so a proof
    /// for another server would be accepted.
    #[must_use]
    pub fn url(mut self, url: &'a str) -> Self {
        self.url = Some(url);
        self
    }

    /// Returns whether the request is a CORS preflight: `OPTIONS` with `Access-Control-Request-Method` [Fetch standard,
    /// CORS preflight].
    ///
    /// A preflight never has an access token. A resource must respond to it before it calls
    /// [`authenticate`](crate::ResourceServer::authenticate), and do nothing else for it.
    #[must_use]
    pub fn is_preflight(&self) -> bool {
        self.asks_for_method && self.method == "OPTIONS"
    }

    /// Returns whether a user navigates to the address, as far as the browser says so: with `GET`, in a window or tab,
    /// and not in advance [Fetch Metadata Request Headers sections 2.1 and 2.2]. Old browsers say nothing.
    pub(crate) fn is_navigation(&self) -> bool {
        let is_document = match (self.sec_fetch_mode, self.sec_fetch_dest) {
            (FetchMetadata::Absent, FetchMetadata::Absent) | (FetchMetadata::Expected, FetchMetadata::Expected) => true,
            (FetchMetadata::Absent | FetchMetadata::Expected | FetchMetadata::Other, _) => false,
        };
        self.method == "GET" && is_document && !self.is_prefetch
    }

    /// Returns whether a page sent the request, as far as its browser says so. A form that a page of another origin
    /// submits has an `Origin` too; `null` if the page hides where it is.
    pub(crate) fn is_of_page(&self) -> bool {
        self.is_cross_site || !matches!(self.origin, HeaderLine::Absent)
    }

    /// Returns whether the body is declared as a form, ignoring the media type's parameters and case [6749-3.2-02,
    /// 6749-3.2-03].
    pub(crate) fn is_form(&self) -> bool {
        self.is_of(FORM)
    }

    /// Returns whether the body is declared as JSON, ignoring the media type's parameters and case.
    pub(crate) fn is_json(&self) -> bool {
        self.is_of(JSON)
    }

    fn is_of(&self, media_type: &[u8]) -> bool {
        let HeaderLine::One(value) = self.content_type else { return false };
        let end = memchr(b';', value).unwrap_or(value.len());
        trim_blanks(value.get(..end).unwrap_or_default()).eq_ignore_ascii_case(media_type)
    }
}

/// The headers of requests that a browser sends before its user does anything.
const PREFETCH: [&str; 3] = ["Sec-Purpose", "Purpose", "X-Moz"];

/// What a browser says about a request in one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FetchMetadata {
    Absent,
    /// The value of a navigation, once.
    Expected,
    Other,
}

impl FetchMetadata {
    fn and(self, value: &[u8], expected: &[u8]) -> Self {
        if self == Self::Absent && value.trim_ascii() == expected { Self::Expected } else { Self::Other }
    }
}

/// The media type of a form [RFC 6749 appendix B].
const FORM: &[u8] = b"application/x-www-form-urlencoded";
/// The media type of client metadata [RFC 7591 section 3.1].
const JSON: &[u8] = b"application/json";

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("query", &format_args!("{} bytes", self.query.len()))
            .field("authorization", &self.authorization)
            .field("content_type", &self.content_type)
            .field("origin", &self.origin)
            .field("dpop", &self.dpop)
            .field("asks_for_method", &self.asks_for_method)
            .field("body", &self.body)
            .field("peer", &self.peer)
            .field("subject", &self.subject)
            .finish()
    }
}

/// The body of a request.
///
/// # Security
///
/// `Debug` prints only the length.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum Body<'a> {
    /// No body was sent.
    #[default]
    Empty,
    /// The whole body, not decoded.
    Bytes(&'a [u8]),
    /// The framework stopped reading at its size or time limit, so the rest is unknown.
    TooLarge,
}

impl<'a> From<&'a [u8]> for Body<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::TooLarge => f.write_str("TooLarge"),
        }
    }
}

/// The lines of one header field that must not be repeated.
#[derive(Clone, Copy)]
pub(crate) enum HeaderLine<'a> {
    Absent,
    One(&'a [u8]),
    Several,
}

impl<'a> HeaderLine<'a> {
    fn and(self, value: &'a [u8]) -> Self {
        match self {
            Self::Absent => Self::One(value),
            Self::One(_) | Self::Several => Self::Several,
        }
    }
}

impl fmt::Debug for HeaderLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("Absent"),
            Self::One(value) => write!(f, "One({} bytes)", value.len()),
            Self::Several => f.write_str("Several"),
        }
    }
}

/// Splits the value of an `Authorization` header after its scheme, at the first space.
pub(crate) fn split_scheme(value: &[u8]) -> (&[u8], &[u8]) {
    let value = value.trim_ascii();
    let end = value.iter().position(|&byte| byte == b' ').unwrap_or(value.len());
    value.split_at_checked(end).unwrap_or((value, &[]))
}

/// Removes the optional white space of RFC 9110 section 5.6.3, which is only space and tab.
fn trim_blanks(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &[u8] = b"application/x-www-form-urlencoded";

    #[test]
    fn form_is_recognised_by_its_media_type_alone() {
        let table: &[(&[u8], bool)] = &[
            (FORM, true),
            (b"Application/X-WWW-Form-Urlencoded; charset=utf-8", true),
            (b"application/x-www-form-urlencoded;charset=UTF-8", true),
            (b" \tapplication/x-www-form-urlencoded\t ;x", true),
            (b"", false),
            (b";", false),
            (b"application/json", false),
            (b"multipart/form-data", false),
            (b"application/x-www-form-urlencodedd", false),
            (b"application/x-www-form-urlencoded, application/json", false),
            (b"application/x-www-form-urlencoded charset=utf-8", false),
            (b"application/json; x=application/x-www-form-urlencoded", false),
            (b"application/x-www-form-urlencoded\n", false),
            (b"\xff", false),
        ];
        for (value, expected) in table {
            let request = Request::new("POST").header("content-TYPE", value);
            assert_eq!(request.is_form(), *expected, "{}", value.escape_ascii());
        }
        assert!(!Request::new("POST").is_form());
        let json = |value: &'static [u8]| Request::new("POST").header("Content-Type", value).is_json();
        assert!(json(b"application/json") && json(b"Application/JSON; charset=utf-8"));
        assert!(!json(FORM) && !json(b"application/ld+json") && !json(b"text/json"));
    }

    #[test]
    fn repeated_header_lines_are_noticed_even_when_equal_or_empty() {
        let request = Request::new("POST").header("Content-Type", FORM).header("content-type", FORM);
        assert!(!request.is_form());
        assert!(matches!(request.content_type, HeaderLine::Several));

        let request = Request::new("POST").header("AUTHORIZATION", b"").header("authorization", b"Basic x");
        assert!(matches!(request.authorization, HeaderLine::Several));
        assert!(matches!(request.header("Authorization", b"").authorization, HeaderLine::Several));
    }

    #[test]
    fn headers_that_nobody_reads_are_dropped() {
        let request = Request::new("GET").header("Cookie", b"a").header("X-Authorization", b"b");
        assert!(matches!(request.authorization, HeaderLine::Absent));
        assert!(matches!(request.content_type, HeaderLine::Absent));
    }

    #[test]
    fn a_navigation_is_a_get_of_a_document() {
        const NAVIGATE: (&str, &str) = ("Sec-Fetch-Mode", "navigate");
        const DOCUMENT: (&str, &str) = ("sec-fetch-dest", "document");
        let is_navigation = |method, headers: &[(&str, &'static str)]| {
            let request = headers
                .iter()
                .fold(Request::new(method), |request, (name, value)| request.header(name, value.as_bytes()));
            request.is_navigation()
        };
        assert!(is_navigation("GET", &[]) && is_navigation("GET", &[NAVIGATE, DOCUMENT]));
        for method in ["HEAD", "POST", "get"] {
            assert!(!is_navigation(method, &[]) && !is_navigation(method, &[NAVIGATE, DOCUMENT]), "{method}");
        }
        for headers in [
            &[NAVIGATE][..],
            &[DOCUMENT],
            &[NAVIGATE, ("Sec-Fetch-Dest", "iframe")],
            &[NAVIGATE, ("Sec-Fetch-Dest", "empty")],
            &[("Sec-Fetch-Mode", "no-cors"), DOCUMENT],
            &[("Sec-Fetch-Mode", ""), DOCUMENT],
            &[("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")],
            &[NAVIGATE, NAVIGATE, DOCUMENT],
            &[NAVIGATE, DOCUMENT, ("Sec-Purpose", "prefetch;prerender")],
            &[NAVIGATE, DOCUMENT, ("Purpose", "prefetch")],
            &[("X-moz", "prefetch")],
        ] {
            assert!(!is_navigation("GET", headers), "{headers:?}");
        }
    }

    #[test]
    fn what_was_given_is_kept() {
        let bytes: &[u8] = b"a=\xff";
        let request = Request::new("GeT")
            .query(b"state=%ff&state=\x00")
            .header("Authorization", b"Bearer t")
            .body(bytes.into())
            .peer([192, 0, 2, 1].into());
        assert_eq!(request.method, "GeT");
        assert_eq!(request.query, b"state=%ff&state=\x00");
        assert!(matches!(request.authorization, HeaderLine::One(b"Bearer t")));
        assert!(matches!(request.body, Body::Bytes(b"a=\xff")));
        assert_eq!(request.peer, Some([192, 0, 2, 1].into()));
    }

    #[test]
    fn debug_shows_no_content() {
        let request = Request::new("POST")
            .query(b"code=secret")
            .header("Authorization", b"Basic secret")
            .header("Content-Type", b"secret/type")
            .body(Body::Bytes(b"client_secret=secret"));
        let shown = format!("{request:?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert!(!shown.contains("115"), "bytes shown as numbers: {shown}");
        assert!(shown.contains("Bytes(20 bytes)"), "{shown}");
        assert_eq!(format!("{:?} {:?}", Body::Empty, Body::TooLarge), "Empty TooLarge");
    }
}
