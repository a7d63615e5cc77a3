//! Signed tokens and public keys: compact JWS [RFC 7515], JWK and JWK Set [RFC 7517], thumbprints [RFC 7638].
//!
//! All of these are parsed in every build. Signatures are verified only with the feature `jose`.
//!
//! This reads one form with four algorithms. Most vulnerabilities of libraries for signed tokens are in what it leaves
//! out: an algorithm chosen by the header, symmetric keys, keys fetched because a header names them, encryption,
//! compression. The caller names the algorithm, and the key must fit it. Each value has one encoding, so another reader
//! cannot find other values in the same text. Lengths are checked before anything is split or decoded.

pub(crate) mod access_jwt;
mod jwk;
mod jws;
mod material;
#[cfg(feature = "jose")]
mod signatures;
#[cfg(test)]
mod tests;

pub(crate) use jwk::Jwk;
pub(crate) use jwk::{FetchedKeys, JwkSetBounds};
pub use jwk::{JwkSet, JwkSetError};
pub(crate) use jws::{Claims, JoseError, Jws};
pub use material::{JwkError, JwkThumbprint, SigningAlgorithm};
pub(crate) use signatures::KeyPair;

/// Whether signatures can be verified. This needs the feature `jose`.
pub(crate) const IS_AVAILABLE: bool = cfg!(feature = "jose");

/// The maximum nesting depth of the JSON of headers, claims and keys.
pub(crate) const DEPTH: usize = 8;

/// Without the feature `jose`, there are no private keys, no signature is valid, and no point is on its curve.
#[cfg(not(feature = "jose"))]
mod signatures {
    use crate::jose::material::Material;
    use crate::jose::{Jwk, JwkError, SigningAlgorithm};

    #[derive(Debug)]
    pub(crate) enum KeyPair {}

    impl KeyPair {
        pub(crate) const fn from_pkcs8(_: SigningAlgorithm, _: &[u8]) -> Option<Self> {
            None
        }

        pub(crate) const fn public(&self) -> Result<Jwk, JwkError> {
            match *self {}
        }

        pub(crate) const fn sign(&self, _: &[u8]) -> Option<Vec<u8>> {
            match *self {}
        }
    }

    pub(super) const fn is_valid(_: SigningAlgorithm, _: &Material, _: &[u8], _: &[u8]) -> bool {
        false
    }

    pub(super) const fn is_on_p256(_: &[u8]) -> bool {
        false
    }
}

/// base64url without padding [RFC 7515 section 2]. Each value has exactly one encoding.
pub(crate) mod base64url {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    pub(crate) fn encode(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes the output of [`encode`]. Padding, white space, other alphabets, and unused bits that are not zero are
    /// refused.
    pub(crate) fn decode(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        URL_SAFE_NO_PAD.decode(text).ok()
    }
}
