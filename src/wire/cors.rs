//! Which pages of other origins may read the answers [Fetch standard, CORS protocol].

use std::borrow::Cow;

use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request, Response};

/// Which pages of other origins may call the token, revocation, registration and metadata endpoints from a browser, and
/// read the answers.
///
/// These endpoints read no cookie, and an answer never allows credentials: a page sends only what it has itself. The
/// authorization endpoint, introspection and the pages are never covered [RFC 9700 section 2.6].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cors {
    /// None: no answer has a CORS header, and `OPTIONS` is answered 405.
    #[default]
    Off,
    /// Pages of any origin.
    AnyOrigin,
    /// Pages of these origins. Each is written as browsers write it, such as `https://app.example`: lower case, no
    /// default port, no slash at the end.
    Origins(Vec<String>),
}

impl Cors {
    /// The settings, if they cover that endpoint.
    pub(crate) fn of(&self, endpoint: Endpoint) -> Option<&Self> {
        let is_on = !matches!(self, Self::Off);
        (is_on && endpoint.is_covered_by_cors()).then_some(self)
    }

    /// Answers a preflight by settings alone, before anything else of the request is looked at [CORS-04].
    pub(crate) fn preflight(&self, endpoint: Endpoint, request: &Request<'_>) -> Option<Response> {
        if !request.is_preflight() {
            return None;
        }
        let answer = self.vary(Response::new(204));
        let Some(allowed) = self.allowed(request) else { return Some(answer) };
        let answer = answer
            .with_header(ALLOW_ORIGIN, allowed)
            .with_header("Access-Control-Allow-Methods", endpoint.allow())
            .with_header("Access-Control-Allow-Headers", REQUEST_HEADERS)
            .with_header("Access-Control-Max-Age", MAX_AGE);
        Some(answer)
    }

    /// Lets the page read the answer, if it may [CORS-02, CORS-05].
    pub(crate) fn share(&self, request: &Request<'_>, response: Response) -> Response {
        let response = self.vary(response);
        match self.allowed(request) {
            Some(allowed) => {
                response.with_header(ALLOW_ORIGIN, allowed).with_header(EXPOSE_HEADERS, "WWW-Authenticate, Retry-After")
            }
            None => response,
        }
    }

    /// Names the header of a resource's answer that a page has to read, and browsers keep from it unless it is
    /// named. Whether the page may read the answer at all is for the resource to say [CORS-06].
    pub(crate) fn expose(&self, response: Response) -> Response {
        let telling = ["WWW-Authenticate", "Retry-After"].into_iter().find(|name| response.header(name).is_some());
        match telling.filter(|_| *self != Self::Off) {
            Some(name) => response.with_header(EXPOSE_HEADERS, name),
            None => response,
        }
    }

    /// The value of `Access-Control-Allow-Origin` for the page that asks.
    fn allowed(&self, request: &Request<'_>) -> Option<Cow<'static, str>> {
        match (self, request.origin()) {
            (Self::Off, _) => None,
            (Self::AnyOrigin, _) => Some("*".into()),
            (Self::Origins(_), HeaderLine::Absent | HeaderLine::Several) => None,
            (Self::Origins(listed), HeaderLine::One(origin)) => {
                listed.iter().find(|own| own.as_bytes() == origin).map(|own| own.clone().into())
            }
        }
    }

    /// Tells caches where the answer depends on who asks.
    fn vary(&self, response: Response) -> Response {
        match self {
            Self::Off | Self::AnyOrigin => response,
            Self::Origins(_) => response.with_header("Vary", "Origin"),
        }
    }
}

const ALLOW_ORIGIN: &str = "Access-Control-Allow-Origin";
const EXPOSE_HEADERS: &str = "Access-Control-Expose-Headers";
/// What clients send beyond what any page may send; never what the request asks for.
const REQUEST_HEADERS: &str = "authorization, content-type, mcp-protocol-version";
/// Seconds; no browser keeps a preflight longer than a day, and some no longer than this.
const MAX_AGE: &str = "7200";
