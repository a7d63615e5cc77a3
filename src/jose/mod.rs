//! Signed tokens and public keys: compact JWS [RFC 7515], JWK and JWK Set [RFC 7517], thumbprints [RFC 7638].
//!
//! All of these are parsed in every build. Signatures are verified only with the feature `jose`.

mod algorithm;
mod base64url;
mod claims;
mod error;
mod jwk;
mod jwk_set;
mod jws;
mod material;
#[cfg_attr(not(feature = "jose"), path = "no_signature.rs")]
mod signature;
#[cfg(test)]
mod tests;
mod thumbprint;

pub use algorithm::SigningAlgorithm;
pub(crate) use claims::Claims;
pub(crate) use error::JoseError;
pub use error::JwkError;
pub(crate) use jwk::Jwk;
pub(crate) use jwk_set::{FetchedKeys, JwkSetBounds};
pub use jwk_set::{JwkSet, JwkSetError};
pub(crate) use jws::Jws;
pub use thumbprint::{JwkThumbprint, JwkThumbprintError};

/// Whether signatures can be verified. This needs the feature `jose`.
pub(crate) const IS_AVAILABLE: bool = cfg!(feature = "jose");

/// The maximum nesting depth of the JSON of headers, claims and keys.
const DEPTH: usize = 8;
