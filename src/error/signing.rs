//! Why a token could not be signed.

use std::error::Error;

use crate::base::debug_as_text;

/// Why a [`Signer`](crate::hooks::Signer) has not signed a token. The request is answered with 503, and nothing was
/// changed: the client may send it again.
#[derive(thiserror::Error)]
#[error("the token could not be signed: {0}")]
pub struct SignerError(#[source] Box<dyn Error + Send + Sync>);

debug_as_text!(SignerError);

impl SignerError {
    /// Creates an error from its cause, such as the error of a key management service. The cause is in events, so it must
    /// not contain secrets.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}
