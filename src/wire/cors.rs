//! Which pages of other origins may read the responses [Fetch standard, CORS protocol].

use std::borrow::Cow;

use crate::wire::request::HeaderLine;
use crate::wire::{Request, Response};

/// The pages of other origins that may call the token, pushed request, revocation, registration and metadata endpoints
/// from a browser and read the responses.
///
/// These endpoints read no cookies, and a response never allows credentials: a page can send only its own data. CORS
/// never covers the authorization endpoint, introspection and pages [RFC 9700 section 2.6].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cors {
    /// None: no response has a CORS header, and the response to `OPTIONS` is 405.
    #[default]
    Off,
    /// Pages of any origin.
    AnyOrigin,
    /// Pages of these origins. Write each as browsers do, such as `https://app.example`: lower case, no default port,
    /// no trailing slash.
    Origins(Vec<String>),
}

impl Cors {
    /// Responds to a preflight from the settings alone, before the rest of the request is read [CORS-04].
    pub(crate) fn preflight(&self, request: &Request<'_>, allow: &'static str, proofs: Proofs) -> Option<Response> {
        if !request.is_preflight() {
            return None;
        }
        let answer = self.vary(Response::new(204));
        let Some(allowed) = self.allowed(request) else { return Some(answer) };
        let answer = answer
            .with_header(ALLOW_ORIGIN, allowed)
            .with_header("Access-Control-Allow-Methods", allow)
            .with_header("Access-Control-Allow-Headers", proofs.request_headers())
            .with_header("Access-Control-Max-Age", MAX_AGE);
        Some(answer)
    }

    /// Adds the headers that allow the page to read the response, if the settings permit it [CORS-02, CORS-05].
    pub(crate) fn share(&self, request: &Request<'_>, response: Response, proofs: Proofs) -> Response {
        let response = self.vary(response);
        match self.allowed(request) {
            Some(allowed) => response.with_header(ALLOW_ORIGIN, allowed).with_header(EXPOSE_HEADERS, proofs.exposed()),
            None => response,
        }
    }

    /// Exposes the headers of a resource's response that a page needs to read. Browsers hide them otherwise. The
    /// resource decides whether the page may read the response at all [CORS-06].
    pub(crate) fn expose(&self, response: Response) -> Response {
        let names = ["WWW-Authenticate", "Retry-After", "DPoP-Nonce"];
        let present: Vec<&str> = names.into_iter().filter(|name| response.header(name).is_some()).collect();
        if *self == Self::Off || present.is_empty() {
            return response;
        }
        response.with_header(EXPOSE_HEADERS, present.join(", "))
    }

    /// Returns whether the page that sent the request may read the response.
    pub(crate) fn covers(&self, request: &Request<'_>) -> bool {
        self.allowed(request).is_some()
    }

    /// Returns the value of `Access-Control-Allow-Origin` for the requesting page.
    fn allowed(&self, request: &Request<'_>) -> Option<Cow<'static, str>> {
        match (self, request.origin) {
            (Self::Off, _) => None,
            (Self::AnyOrigin, _) => Some("*".into()),
            (Self::Origins(_), HeaderLine::Absent | HeaderLine::Several) => None,
            (Self::Origins(listed), HeaderLine::One(origin)) => {
                listed.iter().find(|own| own.as_bytes() == origin).map(|own| own.clone().into())
            }
        }
    }

    /// Adds `Vary` if the response depends on the origin of the request.
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
    /// Returns the request headers that clients send and that a page may send only if they are allowed. The list does
    /// not depend on the headers that the preflight names.
    const fn request_headers(self) -> &'static str {
        match self {
            Self::Off => "authorization, content-type, mcp-protocol-version",
            Self::Read => "authorization, content-type, mcp-protocol-version, dpop",
        }
    }

    /// Returns the response headers that a page needs to read and that browsers hide unless they are exposed.
    const fn exposed(self) -> &'static str {
        match self {
            Self::Off => "WWW-Authenticate, Retry-After",
            Self::Read => "WWW-Authenticate, Retry-After, DPoP-Nonce",
        }
    }
}

/// In seconds. No browser caches a preflight for longer than a day, and some no longer than this.
const MAX_AGE: &str = "7200";
