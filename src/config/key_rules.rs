//! Which keys clients may register, according to the settings.

use crate::config::Config;
use crate::config::client_authentication::KEY_SET;
use crate::jose::{IS_AVAILABLE, SigningAlgorithm};
use crate::model::client::{AuthenticationMethod, ClientType, KeyRules};

impl Config {
    /// The algorithms that clients may sign assertions with.
    pub(crate) fn assertion_algorithms(&self) -> impl Iterator<Item = SigningAlgorithm> {
        let has_rs256 = self.client_authentication.rs256;
        let all = SigningAlgorithm::ALL.iter().copied();
        all.filter(move |algorithm| *algorithm != SigningAlgorithm::Rs256 || has_rs256)
    }

    /// The methods that the client of a metadata document may have: those without a shared secret.
    pub(crate) fn document_methods(&self) -> Vec<AuthenticationMethod> {
        let offered = [
            (AuthenticationMethod::PrivateKeyJwt, self.key_rules(true).offers_keys()),
            (AuthenticationMethod::None, self.serves(ClientType::Public)),
        ];
        offered.into_iter().filter(|(_, is_offered)| *is_offered).map(|(method, _)| method).collect()
    }

    /// The rules for keys. Without a fetcher, no client may have a `jwks_uri`.
    pub(crate) fn key_rules(&self, has_fetcher: bool) -> KeyRules {
        let methods = self.client_authentication.methods;
        KeyRules {
            methods: if IS_AVAILABLE { methods } else { methods.without(AuthenticationMethod::PrivateKeyJwt) },
            algorithms: self.assertion_algorithms().collect(),
            key_set: KEY_SET,
            has_fetcher,
            pushed_requests: self.pushed_requests.are_taken(),
            dpop_bound_tokens: self.dpop.reads_proofs(),
        }
    }
}
