//! A request that a resource refuses.

use std::fmt;

use crate::base::debug_as_text;
use crate::error::Reason;
use crate::wire::Response;

/// A request that a resource refuses, with its response [RFC 6750 section 3, RFC 9449 section 7].
pub struct ResourceError {
    pub(super) reason: Reason,
    pub(super) response: Response,
}

impl ResourceError {
    /// Returns exactly what was wrong.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Returns the response: 401 or 403 with a challenge, 400 for a malformed request, 500 or 503 without one if the
    /// store failed or an authorization server in another process, 500 if your service did not set the
    /// [path](crate::wire::Request::path) of a request with a DPoP-bound token, and 204 without headers for a
    /// preflight. If both schemes are accepted, there may be two `WWW-Authenticate` headers.
    #[must_use]
    pub fn into_response(self) -> Response {
        self.response
    }
}

#[cfg(any(feature = "tracing", feature = "metrics"))]
impl<T> crate::hooks::observed::Answered for Result<T, ResourceError> {
    fn status(&self) -> u16 {
        self.as_ref().err().map_or(200, |error| error.response.status())
    }
}

debug_as_text!(ResourceError);

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

impl std::error::Error for ResourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.reason)
    }
}
