//! The settings of DPoP-bound tokens [RFC 9449].

use std::time::Duration;

use crate::jose::SigningAlgorithm;
use crate::secret::nonce::NonceKey;

/// The settings of DPoP-bound tokens [RFC 9449].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DpopSettings {
    /// Whether access tokens are bound to a key of the client [RFC 9449]: off; in the FAPI profile required, and in the
    /// MCP profile optional if the feature `jose` is enabled.
    ///
    /// Every value except [`DpopBoundTokens::Off`] needs the feature `jose`.
    pub tokens: DpopBoundTokens,
    /// The keys of the nonces that DPoP proofs must contain [RFC 9449 sections 8 and 9]; none: proofs need no nonce.
    /// One to three keys are accepted.
    ///
    /// A nonce is derived from the time and a key, and is not stored. New nonces are made with the first key, and
    /// nonces of all of them are accepted. All servers of one issuer need the same keys.
    pub nonce_keys: Vec<NonceKey>,
}

impl Default for DpopSettings {
    fn default() -> Self {
        Self { tokens: DpopBoundTokens::Off, nonce_keys: Vec::new() }
    }
}

/// Which access tokens are bound to a key of the client. The client proves with DPoP that it has the key [RFC 9449].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DpopBoundTokens {
    /// None: new access tokens are bearer tokens, and the `DPoP` header of token requests is not read. Grants and
    /// tokens that are already bound stay bound, so they cannot be used while this is set.
    Off,
    /// Those of requests with a proof. Clients with
    /// [`requires_dpop_bound_tokens`](field@crate::client::ClientOptions::requires_dpop_bound_tokens) must send one.
    Optional,
    /// All: a token request without a proof is refused.
    Required,
}

/// The maximum size of a DPoP proof in bytes. A proof with an RSA key of 4096 bits has about 2000.
pub(crate) const PROOF_BYTES: usize = 4096;
/// How long a DPoP proof is valid, counted from its `iat`. A proof is made for a single request, which is sent at once
/// [RFC 9449 section 11.1].
pub(crate) const PROOF_LIFETIME: Duration = Duration::from_secs(60);
/// How long a nonce is handed out, in seconds. It is accepted for one more period. The clocks of servers that share a
/// store may differ by a minute. That is at most one period, so each server accepts the new nonces of the others.
pub(crate) const NONCE_PERIOD: u32 = 120;

/// The algorithms that proofs may be signed with.
pub(crate) const PROOF_ALGORITHMS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::Es256, SigningAlgorithm::Ps256, SigningAlgorithm::EdDsa];

/// The names of [`PROOF_ALGORITHMS`], as metadata and challenges list them.
pub(crate) fn proof_algorithm_names() -> Vec<&'static str> {
    PROOF_ALGORITHMS.into_iter().flat_map(SigningAlgorithm::names).copied().collect()
}

impl DpopSettings {
    /// Returns whether DPoP proofs are read.
    pub(crate) const fn reads_proofs(&self) -> bool {
        match self.tokens {
            DpopBoundTokens::Off => false,
            DpopBoundTokens::Optional | DpopBoundTokens::Required => true,
        }
    }
}
