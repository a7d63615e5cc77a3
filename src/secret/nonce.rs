//! The key for generating nonces for DPoP proofs.

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The length of a key in bytes.
const KEY_BYTES: usize = 32;

/// A key for generating nonces for DPoP proofs [RFC 9449 section 8]: 32 random bytes.
///
/// # Security
///
/// Anyone who has this key can compute future nonces. Together with a client's key, they can sign proofs in advance.
/// `Debug` does not show the key.
#[derive(Clone)]
pub struct NonceKey([u8; KEY_BYTES]);

impl Drop for NonceKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for NonceKey {}

impl NonceKey {
    /// Creates a key from these bytes. Take them from a secure random generator.
    #[must_use]
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for NonceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NonceKey([redacted])")
    }
}
