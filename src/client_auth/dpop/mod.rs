//! DPoP proofs: signatures that show that the sender of a request has a key [RFC 9449].

pub(crate) mod nonce;
mod proof;
mod target_uri;
#[cfg(test)]
mod tests;

pub(crate) use nonce::Role;
pub(crate) use proof::{Expected, Proof, verify};
pub(crate) use target_uri::TargetUri;
