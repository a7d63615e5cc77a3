//! Which keys may be registered on this server.

use crate::jose::{JwkSetBounds, JwkSetError, SigningAlgorithm};
use crate::model::client::{AuthenticationMethod, AuthenticationMethods, ClientKeys};

/// Which keys a client may register, according to the settings and the parts of the server.
#[derive(Clone, Debug)]
pub(crate) struct KeyRules {
    /// The methods of confidential clients that the server offers.
    pub(crate) methods: AuthenticationMethods,
    /// The algorithms that assertions may have.
    pub(crate) algorithms: Vec<SigningAlgorithm>,
    /// The maximum size of a key set by value.
    pub(crate) key_set: JwkSetBounds,
    /// Whether there is a fetcher for key sets at an address.
    pub(crate) has_fetcher: bool,
    pub(crate) pushed_requests: bool,
    pub(crate) dpop_bound_tokens: bool,
}

/// Why the server does not accept the keys of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    /// The key set is too large.
    KeySet(JwkSetError),
    /// No key is for an algorithm that the server accepts.
    NoAcceptedKey,
    /// The keys are at a URL, and the server has no fetcher.
    NoFetcher,
    /// The registered algorithm is not accepted.
    Algorithm(SigningAlgorithm),
}

impl KeyRules {
    pub(crate) fn offers_keys(&self) -> bool {
        self.methods.contains(AuthenticationMethod::PrivateKeyJwt)
    }

    pub(crate) fn accepts(&self, algorithm: SigningAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    /// Checks valid keys against the settings.
    pub(crate) fn judge(&self, keys: Option<&ClientKeys>, algorithm: Option<SigningAlgorithm>) -> Result<(), KeyFault> {
        let JwkSetBounds { bytes, keys: max } = self.key_set;
        match keys {
            Some(ClientKeys::Set(set)) if set.as_str().len() > bytes => {
                return Err(KeyFault::KeySet(JwkSetError::TooLarge(bytes)));
            }
            Some(ClientKeys::Set(set)) if set.keys().len() > max => {
                return Err(KeyFault::KeySet(JwkSetError::TooManyKeys(max)));
            }
            Some(keys @ ClientKeys::Set(_)) if !self.algorithms.iter().any(|accepted| keys.may_fit(*accepted)) => {
                return Err(KeyFault::NoAcceptedKey);
            }
            Some(ClientKeys::Url(_)) if !self.has_fetcher => return Err(KeyFault::NoFetcher),
            Some(ClientKeys::Set(_) | ClientKeys::Url(_)) | None => {}
        }
        match algorithm.filter(|algorithm| !self.accepts(*algorithm)) {
            Some(algorithm) => Err(KeyFault::Algorithm(algorithm)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
impl KeyRules {
    /// Everything is offered but RS256.
    pub(crate) fn of_tests() -> Self {
        let algorithms = SigningAlgorithm::ALL.iter().copied().filter(|own| *own != SigningAlgorithm::Rs256).collect();
        Self {
            methods: AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt),
            algorithms,
            key_set: JwkSetBounds { bytes: 65_536, keys: 32 },
            has_fetcher: true,
            pushed_requests: true,
            dpop_bound_tokens: true,
        }
    }
}
