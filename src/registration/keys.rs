//! Keys: which ones a registration may have under the settings, and how they are replaced.

use std::sync::Arc;

use crate::model::application::{Application, ApplicationForm, CheckedForm, Field, FieldError, Problem};
use crate::model::client::{
    AuthenticationMethods, Client, ClientKeys, ClientOrigin, ClientType, KeyFault, KeyRules, KeyTerms,
};
use crate::registration::error::RegistrarError;

/// Puts other keys in force.
///
/// # Errors
///
/// [`RegistrarError::Invalid`].
pub(super) fn replace(next: &mut Application, keys: &ClientKeys, rules: &KeyRules) -> Result<(), RegistrarError> {
    let field = field_of(keys);
    let refused = |field, problem| RegistrarError::Invalid(vec![FieldError::new(field, problem)]);
    if next.client.authentication_methods != AuthenticationMethods::KEY {
        return Err(refused(field, Problem::KeysNotUsed));
    }
    if next.client.open().is_some_and(|open| open.origin == ClientOrigin::MetadataDocument) {
        return Err(refused(field, Problem::KeysOfDocument));
    }
    if let ClientKeys::Url(address) = keys
        && ClientKeys::at(address).is_none()
    {
        return Err(refused(field, Problem::NotAnHttpsAddress));
    }
    rules.judge(Some(keys), None).map_err(|fault| refused(field, rules.problem(fault)))?;
    match next.client.signing_algorithm() {
        Some(algorithm) if !keys.may_fit(algorithm) => {
            return Err(refused(field, Problem::NoKeyForAlgorithm { algorithm }));
        }
        Some(_) | None => {}
    }
    let before = next.client.keys().cloned();
    next.client_mut().put_keys(Some(keys.clone()));
    put_in_form(&mut next.form, keys);
    if let Some(proposed) = next.proposed.as_mut().filter(|proposed| proposed.keys() == before.as_ref()) {
        put_in_form(proposed, keys);
    }
    Ok(())
}

fn put_in_form(form: &mut CheckedForm, keys: &ClientKeys) {
    Arc::make_mut(form.key_terms.get_or_insert_default()).keys = Some(keys.clone());
}

/// Puts the keys and the authentication method of a form in force. While one key is kept, the keys still count as those
/// of a previous owner.
pub(super) fn put_key_terms_in_force(client: &mut Client, form: &CheckedForm) {
    let left = client.keys_left_of_previous_owner(form.keys());
    client.key_terms.clone_from(&form.key_terms);
    if let Some(left) = left {
        client.put_keys_of_previous_owner(left);
    }
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
        let default = KeyTerms::default();
        let key_terms = checked.and_then(|form| form.key_terms.as_deref()).unwrap_or(&default);
        let fault = self.judge(key_terms.keys.as_ref(), key_terms.signing_algorithm).err();
        let field = match fault {
            Some(KeyFault::Algorithm(_)) => Field::SigningAlgorithm,
            Some(KeyFault::KeySet(_) | KeyFault::NoAcceptedKey | KeyFault::NoFetcher) | None => {
                key_terms.keys.as_ref().map_or(Field::Jwks, field_of)
            }
        };
        let refused = [
            (is_confidential && !is_offered)
                .then_some((Field::AuthenticationMethods, Problem::MethodsNotOffered { offered })),
            fault.map(|fault| (field, self.problem(fault))),
            (form.require_pushed_authorization_requests && !self.pushed_requests)
                .then_some((Field::RequirePushedAuthorizationRequests, Problem::PushedRequestsOff)),
            (form.dpop_bound_access_tokens && !self.dpop_bound_tokens)
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
