//! Checks the settings of DPoP, and the parts that it needs [RFC 9449].

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::authentication::KeyNeeds;
use crate::config::error::{ConfigError, seconds};
use crate::config::{BoundTokens, Config};
use crate::jose::SigningAlgorithm;

/// Long enough for a client that sleeps between making a proof and sending it.
pub(crate) const LONGEST_PROOF_AGE: Duration = Duration::from_secs(300);
/// A proof is made for a single request, which is sent at once.
const PROOF_AGES: RangeInclusive<Duration> = Duration::from_secs(10)..=LONGEST_PROOF_AGE;
/// A proof with an RSA key of 8192 bits has about 3500 bytes.
const PROOF_BYTES: RangeInclusive<usize> = 1024..=16_384;
/// A nonce is accepted for one to two periods. The clocks of servers that share a store may differ by a minute. That is
/// at most one period, so each server accepts the new nonces of the others.
const NONCE_PERIODS: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(600);
/// The current key, the previous one and the next one.
const NONCE_KEYS: RangeInclusive<usize> = 1..=3;
const FEATURE: &str = "set it to Off, or enable the feature `jose` of this crate";
const REPLAY_STORE: &str = "set it to Off, or add a store for used proofs: Stores::with_replays(…)";

/// The algorithms that proofs may be signed with.
pub(crate) const PROOF_ALGORITHMS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::Es256, SigningAlgorithm::Ps256, SigningAlgorithm::EdDsa];

/// The names of [`PROOF_ALGORITHMS`], as metadata and challenges list them.
pub(crate) fn proof_algorithm_names() -> Vec<&'static str> {
    PROOF_ALGORITHMS.into_iter().flat_map(SigningAlgorithm::names).copied().collect()
}

impl Config {
    /// Returns whether DPoP proofs are read.
    pub(crate) const fn reads_proofs(&self) -> bool {
        match self.bound_tokens {
            BoundTokens::Off => false,
            BoundTokens::Optional | BoundTokens::Required => true,
        }
    }

    /// Checks that the server has the parts that proofs need.
    pub(crate) fn check_proofs(&self, needs: KeyNeeds) -> Result<(), ConfigError> {
        let refused = |remedy| Err(ConfigError::new("bound_tokens", format!("{:?}", self.bound_tokens), remedy));
        match needs {
            _ if !self.reads_proofs() => Ok(()),
            KeyNeeds { has_jose: false, .. } => refused(FEATURE),
            KeyNeeds { has_replays: false, .. } => refused(REPLAY_STORE),
            KeyNeeds { has_jose: true, has_replays: true } => Ok(()),
        }
    }

    /// Checks the settings of proofs.
    pub(super) fn check_proof_settings(&self) -> Result<(), ConfigError> {
        if !PROOF_AGES.contains(&self.proof_age) {
            return Err(ConfigError::new("proof_age", seconds(self.proof_age), "10 to 300 s are accepted"));
        }
        if !PROOF_BYTES.contains(&self.proof_bytes) {
            return Err(ConfigError::new("proof_bytes", self.proof_bytes, "1024 to 16384 are accepted"));
        }
        if self.reads_proofs() && self.proof_bytes >= self.body_bytes {
            let remedy = format!("less than body_bytes ({}) is accepted", self.body_bytes);
            return Err(ConfigError::new("proof_bytes", self.proof_bytes, remedy));
        }
        let Some(nonces) = &self.dpop_nonce else { return Ok(()) };
        if !NONCE_PERIODS.contains(&nonces.period) {
            return Err(ConfigError::new("dpop_nonce.period", seconds(nonces.period), "60 to 600 s are accepted"));
        }
        // Keys are secrets, so the error states only their number.
        if !NONCE_KEYS.contains(&nonces.keys.len()) {
            let value = format!("a list of {}", nonces.keys.len());
            return Err(ConfigError::new("dpop_nonce.keys", value, "one to three keys are accepted"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DpopNonces;
    use crate::secret::nonce::NonceKey;

    type Change = fn(&mut Config);

    fn nonces(period: u64, keys: usize) -> Option<DpopNonces> {
        let keys = (0..keys).map(|_| NonceKey::new([1; 32]));
        Some(DpopNonces { period: Duration::from_secs(period), ..DpopNonces::new(keys) })
    }

    fn refused(mut config: Config, change: Change) -> Option<String> {
        change(&mut config);
        config.check_proof_settings().err().map(|error| error.to_string())
    }

    /// 9449-8-02
    #[test]
    fn settings_of_proofs_are_bounded() {
        let cases: [(Change, Option<&str>); 17] = [
            (|_| {}, None),
            (|config| config.proof_age = Duration::from_secs(9), Some("proof_age is 9 s; 10 to 300 s are accepted")),
            (|config| config.proof_age = Duration::from_secs(10), None),
            (|config| config.proof_age = Duration::from_secs(300), None),
            (
                |config| config.proof_age = Duration::from_secs(301),
                Some("proof_age is 301 s; 10 to 300 s are accepted"),
            ),
            (|config| config.proof_bytes = 1023, Some("proof_bytes is 1023; 1024 to 16384 are accepted")),
            (|config| config.proof_bytes = 1024, None),
            (|config| config.proof_bytes = 16_385, Some("proof_bytes is 16385; 1024 to 16384 are accepted")),
            (|config| config.body_bytes = 4096, None),
            (
                |config| (config.body_bytes, config.bound_tokens) = (4096, BoundTokens::Optional),
                Some("proof_bytes is 4096; less than body_bytes (4096) is accepted"),
            ),
            (|config| config.clock_skew = Duration::ZERO, None),
            (|config| config.dpop_nonce = nonces(60, 1), None),
            (|config| config.dpop_nonce = nonces(600, 3), None),
            (|config| config.dpop_nonce = nonces(59, 1), Some("dpop_nonce.period is 59 s; 60 to 600 s are accepted")),
            (|config| config.dpop_nonce = nonces(601, 1), Some("dpop_nonce.period is 601 s; 60 to 600 s are accepted")),
            (
                |config| config.dpop_nonce = nonces(120, 0),
                Some("dpop_nonce.keys is a list of 0; one to three keys are accepted"),
            ),
            (
                |config| config.dpop_nonce = nonces(120, 4),
                Some("dpop_nonce.keys is a list of 4; one to three keys are accepted"),
            ),
        ];
        for (number, (change, expected)) in cases.into_iter().enumerate() {
            let refused = refused(Config::strict("https://auth.example"), change);
            assert_eq!(refused.as_deref(), expected, "{number}");
        }
    }

    /// 9449-11.1-02
    #[test]
    fn proofs_need_a_replay_store() {
        const ALL: KeyNeeds = KeyNeeds { has_jose: true, has_replays: true };
        let mut config = Config::strict("https://auth.example");
        let none = KeyNeeds { has_jose: false, has_replays: false };
        assert_eq!(config.check_proofs(none), Ok(()), "they are not read");
        config.bound_tokens = BoundTokens::Optional;
        for (needs, remedy) in
            [(KeyNeeds { has_replays: false, ..ALL }, REPLAY_STORE), (KeyNeeds { has_jose: false, ..ALL }, FEATURE)]
        {
            let error = config.check_proofs(needs).unwrap_err();
            assert_eq!((error.field(), error.value(), error.remedy()), ("bound_tokens", "Optional", remedy));
        }
        assert_eq!(config.check_proofs(ALL), Ok(()));
    }
}
