//! Signed tokens and public keys: compact JWS [RFC 7515], JWK and JWK Set [RFC 7517], thumbprints [RFC 7638].
//!
//! All of these are parsed in every build. Signatures are verified only with the feature `jose`.

mod algorithm;
pub(crate) mod base64url;
mod jwk;
mod jwk_set;
mod jws;
mod material;
#[cfg(feature = "jose")]
mod signature;
#[cfg(test)]
mod tests;
mod thumbprint;

pub use algorithm::SigningAlgorithm;
pub(crate) use jwk::Jwk;
pub(crate) use jwk_set::{FetchedKeys, JwkSetBounds};
pub use jwk_set::{JwkSet, JwkSetError};
pub(crate) use jws::{Claims, JoseError, Jws};
pub use material::JwkError;
pub use thumbprint::{JwkThumbprint, JwkThumbprintError};

/// Whether signatures can be verified. This needs the feature `jose`.
pub(crate) const IS_AVAILABLE: bool = cfg!(feature = "jose");

/// The maximum nesting depth of the JSON of headers, claims and keys.
const DEPTH: usize = 8;

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
