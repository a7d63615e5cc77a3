//! The settings of DPoP-bound tokens [RFC 9449].

use std::time::Duration;

use crate::config::error::ConfigError;
use crate::jose::SigningAlgorithm;
use crate::secret::nonce::NonceKey;

/// The settings of DPoP-bound tokens [RFC 9449].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DpopSettings {
    /// Whether access tokens are bound to a key of the client [RFC 9449]: off, in the FAPI profile required.
    ///
    /// Every value except [`DpopBoundTokens::Off`] needs the feature `jose`.
    pub tokens: DpopBoundTokens,
    /// The keys of the nonces that DPoP proofs must contain [RFC 9449 sections 8 and 9]; none: proofs need no nonce. One
    /// to three keys are accepted.
    ///
    /// A nonce is derived from the time and a key, and is not stored. New nonces are made with the first key, and nonces
    /// of all of them are accepted. All servers of one issuer need the same keys.
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
    /// Those of requests with a proof. Clients with [`requires_dpop_bound_tokens`](crate::Client::requires_dpop_bound_tokens)
    /// must send one.
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
/// The current key, the previous one and the next one.
const MAX_NONCE_KEYS: usize = 3;
const FEATURE: &str = "set it to Off, or enable the feature `jose` of this crate";

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

    /// Checks that signatures can be verified if proofs are read.
    pub(crate) fn check_needs(&self, has_jose: bool) -> Result<(), ConfigError> {
        if self.reads_proofs() && !has_jose {
            return Err(ConfigError::new("dpop.tokens", format!("{:?}", self.tokens), FEATURE));
        }
        Ok(())
    }

    /// Checks the settings of proofs.
    pub(super) fn check(&self, body_bytes: usize) -> Result<(), ConfigError> {
        if self.reads_proofs() && body_bytes <= PROOF_BYTES {
            let remedy = format!("more than the {PROOF_BYTES} bytes of a DPoP proof is accepted");
            return Err(ConfigError::new("limits.body_bytes", body_bytes, remedy));
        }
        // Keys are secrets, so the error states only their number.
        if self.nonce_keys.len() > MAX_NONCE_KEYS {
            let value = format!("a list of {}", self.nonce_keys.len());
            return Err(ConfigError::new("dpop.nonce_keys", value, "at most three keys are accepted"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    type Change = fn(&mut Config);

    fn keys(count: u8) -> Vec<NonceKey> {
        (0..count).map(|number| NonceKey::new([number; 32])).collect()
    }

    fn refused(mut config: Config, change: Change) -> Option<String> {
        change(&mut config);
        config.dpop.check(config.limits.body_bytes).err().map(|error| error.to_string())
    }

    /// 9449-8-02
    #[test]
    fn settings_of_proofs_are_bounded() {
        let cases: [(Change, Option<&str>); 6] = [
            (|_| {}, None),
            (|config| config.limits.body_bytes = 4096, None),
            (
                |config| (config.limits.body_bytes, config.dpop.tokens) = (4096, DpopBoundTokens::Optional),
                Some("limits.body_bytes is 4096; more than the 4096 bytes of a DPoP proof is accepted"),
            ),
            (|config| config.client_authentication.clock_skew = Duration::ZERO, None),
            (|config| config.dpop.nonce_keys = keys(3), None),
            (
                |config| config.dpop.nonce_keys = keys(4),
                Some("dpop.nonce_keys is a list of 4; at most three keys are accepted"),
            ),
        ];
        for (number, (change, expected)) in cases.into_iter().enumerate() {
            let refused = refused(Config::strict("https://auth.example"), change);
            assert_eq!(refused.as_deref(), expected, "{number}");
        }
    }

    #[test]
    fn proofs_need_the_feature() {
        let mut config = Config::strict("https://auth.example");
        assert_eq!(config.dpop.check_needs(false), Ok(()), "they are not read");
        config.dpop.tokens = DpopBoundTokens::Optional;
        let error = config.dpop.check_needs(false).unwrap_err();
        assert_eq!((error.field(), error.value(), error.remedy()), ("dpop.tokens", "Optional", FEATURE));
        assert_eq!(config.dpop.check_needs(true), Ok(()));
    }
}
