//! Which pages of other origins may read the answers [Fetch standard, CORS protocol].

use std::borrow::Cow;

use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request, Response};

/// Which pages of other origins may call the token, pushed request, revocation, registration and metadata endpoints from
/// a browser, and read the answers.
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
    pub(crate) fn preflight(&self, endpoint: Endpoint, request: &Request<'_>, proofs: Proofs) -> Option<Response> {
        if !request.is_preflight() {
            return None;
        }
        let answer = self.vary(Response::new(204));
        let Some(allowed) = self.allowed(request) else { return Some(answer) };
        let answer = answer
            .with_header(ALLOW_ORIGIN, allowed)
            .with_header("Access-Control-Allow-Methods", endpoint.allow())
            .with_header("Access-Control-Allow-Headers", proofs.request_headers())
            .with_header("Access-Control-Max-Age", MAX_AGE);
        Some(answer)
    }

    /// Lets the page read the answer, if it may [CORS-02, CORS-05].
    pub(crate) fn share(&self, request: &Request<'_>, response: Response, proofs: Proofs) -> Response {
        let response = self.vary(response);
        match self.allowed(request) {
            Some(allowed) => response.with_header(ALLOW_ORIGIN, allowed).with_header(EXPOSE_HEADERS, proofs.exposed()),
            None => response,
        }
    }

    /// Names the headers of a resource's answer that a page has to read, and browsers keep from it unless they are
    /// named. Whether the page may read the answer at all is for the resource to say [CORS-06].
    pub(crate) fn expose(&self, response: Response) -> Response {
        let telling = ["WWW-Authenticate", "Retry-After", "DPoP-Nonce"];
        let telling: Vec<&str> = telling.into_iter().filter(|name| response.header(name).is_some()).collect();
        if *self == Self::Off || telling.is_empty() {
            return response;
        }
        response.with_header(EXPOSE_HEADERS, telling.join(", "))
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
/// Whether an endpoint reads DPoP proofs. The CORS headers name `DPoP` and `DPoP-Nonce` only then [RFC 9449 section 8].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proofs {
    Off,
    Read,
}

impl Proofs {
    /// The headers that clients send and that a page may send only if they are allowed. The list does not depend on
    /// what the preflight asks for.
    const fn request_headers(self) -> &'static str {
        match self {
            Self::Off => "authorization, content-type, mcp-protocol-version",
            Self::Read => "authorization, content-type, mcp-protocol-version, dpop",
        }
    }

    /// The response headers that a page has to read, and that browsers hide from it unless they are exposed.
    const fn exposed(self) -> &'static str {
        match self {
            Self::Off => "WWW-Authenticate, Retry-After",
            Self::Read => "WWW-Authenticate, Retry-After, DPoP-Nonce",
        }
    }
}

/// Seconds; no browser keeps a preflight longer than a day, and some no longer than this.
const MAX_AGE: &str = "7200";
