//! Why the key set of an authorization server is not known.

use crate::base::debug_as_text;
use crate::jose::JwkSetError;
use crate::wire::fetch::FetchError;

/// Why a [`JwtVerifier`](crate::resource::JwtVerifier) does not know the keys that access tokens are signed with [RFC
/// 9068 section 4].
///
/// It is no verdict on a token: the request is answered with 503, and the client keeps its tokens.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// No complete response arrived in time, or too many checks wait for it.
    #[error("the request for the key set failed")]
    Fetch(#[from] FetchError),
    /// The response has another status than 200.
    #[error("the key set was answered with status {0}")]
    Status(u16),
    /// The response does not have the media type of JSON.
    #[error("the key set was answered with another media type than that of JSON")]
    MediaType,
    /// The response is not a key set, or has more than 65 536 bytes or 32 keys.
    #[error("the response is not a key set")]
    Set(#[from] JwkSetError),
    /// The checks that last waited for it were dropped, and the pause after that has not ended.
    #[error("the last request for the key set was interrupted")]
    Interrupted,
    /// The transport panicked.
    #[error("the transport of the request for the key set panicked")]
    Panicked,
}

debug_as_text!(KeySetError);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::error::{ErrorCode, Reason};
    use crate::wire::fetch::FetchErrorKind;

    /// 9068-4-01
    #[test]
    fn without_the_keys_a_token_is_neither_valid_nor_invalid() {
        for error in [FetchError::new(FetchErrorKind::TimedOut).into(), KeySetError::Status(404), KeySetError::Panicked]
        {
            let reason = Reason::from(Arc::new(error));
            assert_eq!(reason.code(), ErrorCode::TemporarilyUnavailable, "{reason}");
        }
    }
}
