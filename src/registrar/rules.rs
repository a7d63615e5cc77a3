//! What an application has to meet under the configuration of now.

use std::sync::Arc;

use crate::client::application::{ApplicationForm, CheckedForm, Field, FieldError, Logo, Problem, RegistrationLimits};
use crate::client::redirect_uri::RedirectUriPolicy;
use crate::client::{ClientType, GrantTypes};
use crate::registrar::error::RegistrarError;
use crate::scope::ScopeCatalog;

/// The part of the configuration that registrations are checked by.
#[derive(Clone, Debug)]
pub(crate) struct RegistrationRules {
    pub(crate) catalog: ScopeCatalog,
    pub(crate) limits: RegistrationLimits,
    pub(crate) redirect_uris: RedirectUriPolicy,
    pub(crate) public_clients: bool,
    pub(crate) grant_types: GrantTypes,
}

impl RegistrationRules {
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

    /// Checks a form that was sound under the rules of another day.
    pub(super) fn check_again(&self, form: &CheckedForm) -> Result<CheckedForm, RegistrarError> {
        self.check(&form.to_form(&self.catalog)).map_err(RegistrarError::Invalid)
    }

    fn check(&self, form: &ApplicationForm) -> Result<CheckedForm, Vec<FieldError>> {
        let checked = form.check(&self.limits, &self.catalog, &self.redirect_uris);
        let not_served = form.client_type == ClientType::Public && !self.public_clients;
        let not_offered = form.grant_types.iter().any(|grant_type| !self.grant_types.contains(grant_type));
        let mut refused = Vec::new();
        refused.extend(not_served.then_some(Field::ClientType));
        refused.extend(not_offered.then_some(Field::GrantTypes));
        if refused.is_empty() {
            return checked;
        }
        let mut errors = checked.err().unwrap_or_default();
        errors.retain(|error| !refused.contains(&error.field()));
        errors.extend(refused.into_iter().map(|field| FieldError::new(field, Problem::NotOffered)));
        errors.sort_by_key(FieldError::field);
        Err(errors)
    }
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
