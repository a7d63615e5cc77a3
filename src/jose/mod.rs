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
#[cfg(feature = "jose")]
mod key_pair;
mod material;
#[cfg(feature = "jose")]
mod signature;
#[cfg(test)]
mod tests;

pub(crate) use jwk::{FetchedKeys, Jwk, JwkSetBounds};
pub use jwk::{JwkSet, JwkSetError};
pub(crate) use jws::{Claims, JoseError, Jws};
pub(crate) use key_pair::KeyPair;
pub(crate) use material::{DEPTH, IS_AVAILABLE};
pub use material::{JwkError, JwkThumbprint, SigningAlgorithm};

/// Without the feature `jose`, there are no private keys.
#[cfg(not(feature = "jose"))]
mod key_pair {
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
}

/// Without the feature `jose`, no signature is valid, and no point is on its curve.
#[cfg(not(feature = "jose"))]
mod signature {
    use crate::jose::SigningAlgorithm;
    use crate::jose::material::Material;

    pub(super) const fn is_valid(_: SigningAlgorithm, _: &Material, _: &[u8], _: &[u8]) -> bool {
        false
    }

    pub(super) const fn is_on_p256(_: &[u8]) -> bool {
        false
    }
}
