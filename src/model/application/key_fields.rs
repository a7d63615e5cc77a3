//! The fields of a form for keys, pushed requests and DPoP-bound tokens.

use std::sync::Arc;

use crate::jose::{JwkSet, JwkSetBounds};
use crate::model::application::field::{Field, FieldError, Problem};
use crate::model::application::form::ApplicationForm;
use crate::model::client::{AuthenticationMethod, ClientKeys, ClientType, KeyTerms};

impl ApplicationForm {
    /// Checks the fields without the server's settings, which are checked later. Returns `None` if all fields have
    /// their defaults.
    ///
    /// # Errors
    ///
    /// At most one [`FieldError`] per field, in the order of [`Field`].
    pub(crate) fn check_key_terms(&self, bounds: JwkSetBounds) -> Result<Option<Arc<KeyTerms>>, Vec<FieldError>> {
        let keys = self.check_keys(bounds);
        let algorithm = self.check_signing_algorithm(keys.as_ref().ok().and_then(Option::as_ref));
        match (keys, algorithm) {
            (Ok(keys), Ok(())) => {
                let key_terms = KeyTerms {
                    keys,
                    signing_algorithm: self.signing_algorithm,
                    requires_pushed_requests: self.require_pushed_authorization_requests,
                    requires_dpop_bound_tokens: self.dpop_bound_access_tokens,
                    keys_of_previous_owner: None,
                };
                Ok((key_terms != KeyTerms::default()).then(|| Arc::new(key_terms)))
            }
            (keys, algorithm) => Err(keys.err().into_iter().chain(algorithm.err()).collect()),
        }
    }

    fn check_keys(&self, bounds: JwkSetBounds) -> Result<Option<ClientKeys>, FieldError> {
        let given = |text: &'_ Option<String>| text.clone().filter(|text| !text.is_empty());
        let refused = |field, problem| Err(FieldError::new(field, problem));
        match (given(&self.jwks), given(&self.jwks_uri)) {
            (None, None) if self.uses_key() => refused(Field::Jwks, Problem::NoKeys),
            (None, None) => Ok(None),
            (Some(_), Some(_)) => refused(Field::JwksUri, Problem::TwoKeySets),
            (Some(_), None) if !self.uses_key() => refused(Field::Jwks, Problem::KeysNotUsed),
            (None, Some(_)) if !self.uses_key() => refused(Field::JwksUri, Problem::KeysNotUsed),
            (Some(json), None) => match JwkSet::parse_within(json, bounds) {
                Ok(set) => Ok(Some(ClientKeys::Set(set))),
                Err(error) => refused(Field::Jwks, Problem::KeySet(error)),
            },
            (None, Some(address)) => match ClientKeys::at(&address) {
                Some(keys) => Ok(Some(keys)),
                None => refused(Field::JwksUri, Problem::NotAnHttpsAddress),
            },
        }
    }

    fn check_signing_algorithm(&self, keys: Option<&ClientKeys>) -> Result<(), FieldError> {
        let Some(algorithm) = self.signing_algorithm else { return Ok(()) };
        let problem = match keys {
            _ if !self.uses_key() => Problem::KeysNotUsed,
            Some(keys) if !keys.may_fit(algorithm) => Problem::NoKeyForAlgorithm { algorithm },
            Some(_) | None => return Ok(()),
        };
        Err(FieldError::new(Field::SigningAlgorithm, problem))
    }

    fn uses_key(&self) -> bool {
        self.client_type == ClientType::Confidential
            && self.authentication_methods.contains(AuthenticationMethod::PrivateKeyJwt)
    }
}
