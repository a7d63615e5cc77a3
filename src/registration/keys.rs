//! Keys: which ones a registration may have under the settings, and how they are replaced.

use crate::model::application::{Application, ApplicationForm, Field, FieldError, Problem};
use crate::model::client::{AuthenticationMethods, CheckedForm, ClientKeys, ClientType, KeyFault, KeyRules};
use crate::registration::error::RegistrarError;

/// Puts other keys in force.
///
/// # Errors
///
/// [`RegistrarError::Invalid`].
pub(super) fn replace(next: &mut Application, keys: &ClientKeys, rules: &KeyRules) -> Result<(), RegistrarError> {
    let field = field_of(keys);
    let refused = |field, problem| RegistrarError::Invalid(vec![FieldError::new(field, problem)]);
    if next.client.form.authentication_methods != AuthenticationMethods::KEY {
        return Err(refused(field, Problem::KeysNotUsed));
    }
    if next.client.is_of_document() {
        return Err(refused(field, Problem::KeysOfDocument));
    }
    if let ClientKeys::Url(address) = keys
        && ClientKeys::at(address).is_none()
    {
        return Err(refused(field, Problem::NotAnHttpsAddress));
    }
    rules.judge(Some(keys), None).map_err(|fault| refused(field, rules.problem(fault)))?;
    match next.client.form.options.signing_algorithm {
        Some(algorithm) if !keys.may_fit(algorithm) => {
            return Err(refused(field, Problem::NoKeyForAlgorithm { algorithm }));
        }
        Some(_) | None => {}
    }
    let form = CheckedForm { keys: Some(keys.clone()), ..next.client.form.clone() };
    if let Some(proposed) = next.proposed.as_mut().filter(|proposed| proposed.keys == next.client.form.keys) {
        proposed.keys = Some(keys.clone());
    }
    next.client_mut().put_form(form);
    Ok(())
}

const fn field_of(keys: &ClientKeys) -> Field {
    match keys {
        ClientKeys::Set(_) => Field::Jwks,
        ClientKeys::Url(_) => Field::JwksUri,
    }
}

impl KeyRules {
    /// Returns what the settings refuse of a form; `checked` is the form if it is valid in itself.
    pub(super) fn refused(&self, form: &ApplicationForm, checked: Option<&CheckedForm>) -> Vec<FieldError> {
        let is_confidential = form.client_type == ClientType::Confidential;
        let offered = self.methods;
        let is_offered = form.authentication_methods.is_empty() || form.authentication_methods.meets(offered);
        let keys = checked.and_then(|form| form.keys.as_ref());
        let fault = self.judge(keys, checked.and_then(|form| form.options.signing_algorithm)).err();
        let field = match fault {
            Some(KeyFault::Algorithm(_)) => Field::SigningAlgorithm,
            Some(KeyFault::KeySet(_) | KeyFault::NoAcceptedKey | KeyFault::NoFetcher) | None => {
                keys.map_or(Field::Jwks, field_of)
            }
        };
        let refused = [
            (is_confidential && !is_offered)
                .then_some((Field::AuthenticationMethods, Problem::MethodsNotOffered { offered })),
            fault.map(|fault| (field, self.problem(fault))),
            (form.options.requires_pushed_requests && !self.pushed_requests)
                .then_some((Field::RequirePushedAuthorizationRequests, Problem::PushedRequestsOff)),
            (form.options.requires_dpop_bound_tokens && !self.dpop_bound_tokens)
                .then_some((Field::DpopBoundAccessTokens, Problem::DpopBoundTokensOff)),
        ];
        refused.into_iter().flatten().map(|(field, problem)| FieldError::new(field, problem)).collect()
    }

    fn problem(&self, fault: KeyFault) -> Problem {
        let accepted = || self.algorithms.clone();
        match fault {
            KeyFault::KeySet(error) => Problem::KeySet(error),
            KeyFault::NoAcceptedKey => Problem::NoAcceptedKey { accepted: accepted() },
            KeyFault::NoFetcher => Problem::NoFetcher,
            KeyFault::Algorithm(algorithm) => Problem::SigningAlgorithm { algorithm, accepted: accepted() },
        }
    }
}
