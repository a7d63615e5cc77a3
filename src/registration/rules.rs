//! Checks applications and their keys by the rules of the current configuration.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::context::RegistrationRules;
use crate::model::application::{Application, ApplicationForm, Field, FieldError, Logo, Problem};
use crate::model::client::{
    AskConsent, AuthenticationMethods, CheckedForm, Client, ClientKeys, ClientType, KeyFault, KeyRules, MustAsk,
    Privileges, RefreshRotation,
};
use crate::registration::approval::Approval;
use crate::registration::error::RegistrarError;

impl RegistrationRules {
    /// The rules under these settings; `fetches_keys` says whether key sets can be fetched.
    pub(crate) fn new(config: &Config, fetches_keys: bool) -> Self {
        Self {
            catalog: config.scopes.clone(),
            limits: config.registration.form.clone(),
            redirect_uris: config.redirect_uris.clone(),
            public_clients: config.public_clients,
            always_asks: config.always_asks(),
            grant_types: config.offered_grant_types(),
            keys: config.key_rules(fetches_keys),
            reservation: reservation(config),
        }
    }

    pub(super) fn check_new(
        &self,
        form: &ApplicationForm,
        logo: Option<Logo>,
    ) -> Result<(CheckedForm, Arc<Logo>), RegistrarError> {
        let checked_logo = match logo {
            Some(logo) => logo.check(&self.limits).map(|()| Arc::new(logo)),
            None => Err(FieldError::new(Field::Logo, Problem::Missing)),
        };
        both(self.check(form), checked_logo)
    }

    pub(super) fn check_change(
        &self,
        form: &ApplicationForm,
        logo: Option<Logo>,
    ) -> Result<(CheckedForm, Option<Arc<Logo>>), RegistrarError> {
        let checked_logo = match logo {
            Some(logo) => logo.check(&self.limits).map(|()| Some(Arc::new(logo))),
            None => Ok(None),
        };
        both(self.check(form), checked_logo)
    }

    /// Checks a form again that was valid under earlier rules.
    pub(super) fn check_again(&self, form: &CheckedForm) -> Result<CheckedForm, RegistrarError> {
        self.check(&form.to_form(&self.catalog)).map_err(RegistrarError::Invalid)
    }

    /// Checks the form of a client that registered itself. It has no logo before its first review.
    pub(super) fn check_open(
        &self,
        form: &CheckedForm,
        approval: &Approval,
        first_review: bool,
    ) -> Result<CheckedForm, RegistrarError> {
        let checked_logo = match &approval.logo {
            Some(logo) => logo.check(&self.limits),
            None if first_review => Err(FieldError::new(Field::Logo, Problem::Missing)),
            None => Ok(()),
        };
        both(self.check(&approval.supply(form).to_form(&self.catalog)), checked_logo).map(|(form, ())| form)
    }

    /// Checks a client that your service describes.
    pub(super) fn check_description(&self, client: &Client) -> Result<(), RegistrarError> {
        let form = &client.form;
        let asks_users = form.grant_types.ask_users();
        let has_own_id = [
            (client.id.is_made_by_server(), Problem::ServerMadeId),
            (client.id.as_str().starts_with("https://"), Problem::DocumentId),
        ];
        let mut errors: Vec<_> = has_own_id
            .into_iter()
            .filter(|(is_refused, _)| *is_refused)
            .map(|(_, problem)| FieldError::new(Field::ClientId, problem))
            .collect();
        let needs_secret = form.client_type == ClientType::Confidential && form.authentication_methods.use_secret();
        if needs_secret && !client.has_secret() {
            errors.push(FieldError::new(Field::ClientSecret, Problem::Missing));
        }
        let as_form = form.to_form(&self.catalog);
        let mut of_form = self.check(&as_form).err().unwrap_or_default();
        // The keys of a form with another fault are not checked, and that fault may be allowed here.
        let mut of_keys = self.keys.refused(&as_form, Some(form));
        of_keys.retain(|error| !of_form.iter().any(|own| own.field() == error.field()));
        of_form.extend(of_keys);
        // A first-party client needs no website, and no user resources if no user is involved.
        errors.extend(of_form.into_iter().filter(|error| {
            let has_no_website = error.field() == Field::Website && form.website.is_empty();
            let has_no_users = error.field() == Field::ResourceScope && !asks_users;
            !has_no_website && !has_no_users
        }));
        if !errors.is_empty() {
            return Err(RegistrarError::Invalid(errors.into_iter().map(of_builder).collect()));
        }
        self.check_privileges(client, client.privileges)
    }

    /// Checks privileges that only a confidential web application may have, and whether users may go unasked.
    pub(super) fn check_privileges(&self, client: &Client, privileges: Privileges) -> Result<(), RegistrarError> {
        let keeps = privileges.refresh_rotation == Some(RefreshRotation::Keep);
        if client.counts_as_public() && (privileges.may_introspect || keeps) {
            return Err(RegistrarError::PublicClient);
        }
        match privileges.ask_consent {
            AskConsent::Always => Ok(()),
            AskConsent::Once | AskConsent::Never if self.always_asks => Err(MustAsk::PlatformProfile.into()),
            AskConsent::Once | AskConsent::Never => Ok(client.check_identity()?),
        }
    }

    fn check(&self, form: &ApplicationForm) -> Result<CheckedForm, Vec<FieldError>> {
        let checked = form.check_within(&self.limits, &self.catalog, &self.redirect_uris, self.keys.key_set);
        let public = form.client_type == ClientType::Public && !self.public_clients;
        let refused = [
            public.then_some(FieldError::new(Field::ClientType, Problem::PublicClientsOff)),
            self.grant_type_off(form).map(|problem| FieldError::new(Field::GrantTypes, problem)),
        ];
        let mut refused: Vec<_> = refused.into_iter().flatten().collect();
        refused.extend(self.keys.refused(form, checked.as_ref().ok()));
        if refused.is_empty() {
            return checked;
        }
        let mut errors = checked.err().unwrap_or_default();
        errors.retain(|error| !refused.iter().any(|refused| refused.field() == error.field()));
        errors.extend(refused);
        errors.sort_by_key(FieldError::field);
        Err(errors)
    }

    /// Returns the problem of the first grant type that is switched off.
    fn grant_type_off(&self, form: &ApplicationForm) -> Option<Problem> {
        let off = form.grant_types.iter().find(|grant_type| !self.grant_types.contains(*grant_type))?;
        let setting = Config::switch_of(off).map_or("", |(setting, _)| setting);
        Some(Problem::GrantTypeOff { grant_type: off, setting })
    }
}

/// Returns how long the id of a deleted client is kept: until the last token that it could have got would have expired,
/// plus an hour. Within this hour every write in progress completes, and every cache reads the client again.
fn reservation(config: &Config) -> Duration {
    let lives = [config.tokens.access_lifetime, config.tokens.refresh_lifetime, config.client_credentials.lifetime];
    let longest = lives.into_iter().max().unwrap_or_default();
    longest.saturating_add(config.authorization.code_lifetime).saturating_add(Duration::from_secs(3600))
}

/// Names the method of the builder that sets a missing field.
fn of_builder(error: FieldError) -> FieldError {
    if *error.problem() != Problem::Missing {
        return error;
    }
    let method = match error.field().as_str() {
        "authentication_methods" | "client_secret" => "secret",
        "redirect_uris" => "redirect_uri",
        own => own,
    };
    FieldError::new(error.field(), Problem::NotDescribed { method })
}

fn both<T>(
    form: Result<CheckedForm, Vec<FieldError>>,
    logo: Result<T, FieldError>,
) -> Result<(CheckedForm, T), RegistrarError> {
    match (form, logo) {
        (Ok(form), Ok(logo)) => Ok((form, logo)),
        (form, logo) => {
            let mut errors = form.err().unwrap_or_default();
            errors.extend(logo.err());
            errors.sort_by_key(FieldError::field);
            Err(RegistrarError::Invalid(errors))
        }
    }
}

/// Puts other keys in force.
///
/// # Errors
///
/// [`RegistrarError::Invalid`].
pub(super) fn replace_keys(next: &mut Application, keys: &ClientKeys, rules: &KeyRules) -> Result<(), RegistrarError> {
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
