//! What an administrator leaves to an approved application.

use crate::model::application::{Field, FieldError, Problem};
use crate::model::client::{CheckedForm, GrantType, GrantTypes};
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::registration::error::{Extension, RegistrarError};
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};

/// What is left of an approved application. Fields that are not set stay as they are.
///
/// [`Registrar::reduce`](crate::Registrar::reduce) puts it in force.
///
/// # Examples
///
/// ```
/// use grantor::{ClientId, Registrar, RegistrarError};
/// use grantor::registration::Reduction;
///
/// async fn allow_reading_only(registrar: &Registrar, id: &ClientId) -> Result<(), RegistrarError> {
///     let version = registrar.application(id).await?.version();
///     registrar.reduce(id, version, Reduction::default().scopes("repo-code:r")).await
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    scopes: Option<String>,
    resource_scope: Option<ResourceScope>,
    client_scopes: Option<String>,
    client_resources: Option<ResourceScope>,
    grant_types: Option<GrantTypes>,
    redirect_uris: Option<Vec<String>>,
}

impl Reduction {
    /// Keeps only these scopes, written as in a request [RFC 6749 section 3.3].
    #[must_use]
    pub fn scopes(self, wire: impl Into<String>) -> Self {
        Self { scopes: Some(wire.into()), ..self }
    }

    /// Keeps only these resources.
    #[must_use]
    pub fn resource_scope(self, resources: ResourceScope) -> Self {
        Self { resource_scope: Some(resources), ..self }
    }

    /// Keeps only these scopes for tokens without a user [RFC 6749 section 4.4].
    #[must_use]
    pub fn client_scopes(self, wire: impl Into<String>) -> Self {
        Self { client_scopes: Some(wire.into()), ..self }
    }

    /// Keeps only these resources for tokens without a user. To keep none, remove the grant type.
    #[must_use]
    pub fn client_resources(self, resources: ResourceScope) -> Self {
        Self { client_resources: Some(resources), ..self }
    }

    /// Keeps only these grant types.
    ///
    /// Without the authorization code, users can no longer authorize the client; tokens that they granted before stay
    /// valid. Without refresh, no token is refreshed. Without client credentials, the tokens of the client itself
    /// become invalid.
    #[must_use]
    pub fn grant_types(self, grant_types: GrantTypes) -> Self {
        Self { grant_types: Some(grant_types), ..self }
    }

    /// Keeps only these redirect URIs, written as they were registered.
    #[must_use]
    pub fn redirect_uris(self, uris: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { redirect_uris: Some(uris.into_iter().map(Into::into).collect()), ..self }
    }

    /// Returns the form in force, reduced to what is left.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Extends`] with everything that the form does not have; [`RegistrarError::Invalid`] if a text
    /// is not a scope, or if nothing is left that a grant type needs.
    pub(super) fn judge(&self, form: &CheckedForm, catalog: &ScopeCatalog) -> Result<CheckedForm, RegistrarError> {
        let mut left = form.clone();
        let mut extends = Vec::new();
        for (field, wanted, scopes) in [
            (Field::Scopes, &self.scopes, &mut left.scopes),
            (Field::ClientScopes, &self.client_scopes, &mut left.client_scopes),
        ] {
            let Some(wanted) = wanted else { continue };
            let wanted = read_scopes(field, wanted, catalog)?;
            extends.extend(new_scopes(&wanted, scopes, catalog).map(|added| Extension::new(field, added)));
            *scopes = wanted;
        }
        for (field, wanted, resources) in [
            (Field::ResourceScope, &self.resource_scope, &mut left.resource_scope),
            (Field::ClientResources, &self.client_resources, &mut left.client_resources),
        ] {
            let Some(wanted) = wanted else { continue };
            extends.extend(new_resources(wanted, resources).into_iter().map(|added| Extension::new(field, added)));
            resources.clone_from(wanted);
        }
        if let Some(wanted) = self.grant_types {
            let new = wanted.iter().filter(|grant_type| !left.grant_types.contains(*grant_type));
            extends.extend(new.map(|grant_type| Extension::new(Field::GrantTypes, grant_type.as_str())));
            left.grant_types = wanted;
        }
        if let Some(wanted) = &self.redirect_uris {
            let is_known = |text: &&String| form.redirect_uris.iter().any(|uri| uri.as_str() == **text);
            let new = wanted.iter().filter(|text| !is_known(text));
            extends.extend(new.map(|text| Extension::new(Field::RedirectUris, text.as_str())));
            left.redirect_uris.retain(|uri: &RegisteredRedirectUri| wanted.iter().any(|text| uri.as_str() == *text));
        }
        if !extends.is_empty() {
            return Err(RegistrarError::Extends(extends));
        }
        check(&left)?;
        Ok(left)
    }
}

fn read_scopes(field: Field, text: &str, catalog: &ScopeCatalog) -> Result<ScopeSet, RegistrarError> {
    let refused = |error| RegistrarError::Invalid(vec![FieldError::new(field, Problem::Scope(error))]);
    catalog.parse(text.as_bytes()).map_err(refused)
}

/// Returns the scopes that are not approved, each written as in a request.
fn new_scopes(wanted: &ScopeSet, approved: &ScopeSet, catalog: &ScopeCatalog) -> impl Iterator<Item = String> {
    let wire = catalog.to_wire(wanted).into_owned();
    let each: Vec<_> = wire.split(' ').filter(|token| !token.is_empty()).map(str::to_owned).collect();
    each.into_iter().filter(|token| catalog.parse(token.as_bytes()).is_ok_and(|scope| !scope.is_subset_of(approved)))
}

fn new_resources(wanted: &ResourceScope, approved: &ResourceScope) -> Vec<String> {
    match (wanted, approved) {
        _ if approved.covers(wanted) => Vec::new(),
        (ResourceScope::Specified(wanted), ResourceScope::Specified(approved)) => {
            wanted.iter().filter(|name| !approved.contains(name)).map(str::to_owned).collect()
        }
        (ResourceScope::Specified(wanted), _) => wanted.iter().map(str::to_owned).collect(),
        (ResourceScope::All | ResourceScope::Public, _) => vec![wanted.as_str().to_owned()],
    }
}

/// Checks that each grant type keeps what it needs.
fn check(left: &CheckedForm) -> Result<(), RegistrarError> {
    let types = left.grant_types;
    let users = types.ask_users();
    let missing = [
        (Field::RedirectUris, types.redirect() && left.redirect_uris.is_empty(), Problem::Missing),
        (Field::Scopes, users && left.scopes.is_empty(), Problem::Missing),
        (Field::ResourceScope, users && left.resource_scope.is_empty(), Problem::Missing),
        (Field::ClientScopes, types.act_for_client() && left.client_scopes.is_empty(), Problem::Missing),
        (Field::ClientResources, left.client_resources == ResourceScope::Public, Problem::NotOffered),
        (Field::GrantTypes, types.contains(GrantType::RefreshToken) && !types.refresh(), Problem::RefreshAlone),
    ];
    let missing = missing.into_iter().filter(|(_, is_refused, _)| *is_refused);
    let errors: Vec<_> = missing.map(|(field, _, problem)| FieldError::new(field, problem)).collect();
    if errors.is_empty() { Ok(()) } else { Err(RegistrarError::Invalid(errors)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::application::{ApplicationForm, RegistrationLimits};
    use crate::model::redirect_uri::RedirectUriPolicy;

    fn form() -> CheckedForm {
        let mut form = ApplicationForm::new("Demo", "https://demo.example");
        form.redirect_uris = vec!["https://demo.example/cb".to_owned(), "https://demo.example/other".to_owned()];
        form.scopes = "repo-code:rw account-email".to_owned();
        form.resource_scope = Some(ResourceScope::specified(["one", "two"]).unwrap());
        form.client_scopes = "repo-issue:rw".to_owned();
        form.client_resources = Some(ResourceScope::All);
        form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
        form.check(&RegistrationLimits::default(), &ScopeCatalog::platform(), &RedirectUriPolicy::default()).unwrap()
    }

    fn judge(reducing: &Reduction) -> Result<CheckedForm, String> {
        reducing.judge(&form(), &ScopeCatalog::platform()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_is_put_in_force() {
        let left = judge(
            &Reduction::default()
                .scopes("repo-code:r")
                .resource_scope(ResourceScope::specified(["two"]).unwrap())
                .client_scopes("repo-issue:r")
                .client_resources(ResourceScope::specified(["three"]).unwrap())
                .grant_types(GrantTypes::CODE_ONLY)
                .redirect_uris(["https://demo.example/other"]),
        )
        .unwrap();
        assert_eq!((left.scopes.as_str(), left.client_scopes.as_str()), ("repo-code:r", "repo-issue:r"));
        assert_eq!(left.resource_scope, ResourceScope::specified(["two"]).unwrap());
        assert_eq!(left.client_resources, ResourceScope::specified(["three"]).unwrap());
        assert_eq!(left.grant_types, GrantTypes::CODE_ONLY);
        assert_eq!(
            left.redirect_uris.iter().map(|uri| uri.as_str()).collect::<Vec<_>>(),
            ["https://demo.example/other"]
        );
        assert_eq!(judge(&Reduction::default()), Ok(form()));
    }

    #[test]
    fn what_is_new_is_named() {
        let refused = |what: &str| Err(format!("not approved: {what}; only a submission and its review can add it"));
        let rows = [
            (Reduction::default().scopes("repo-code:r repo-delete:rw"), r#"scopes: "repo-delete:rw""#),
            (Reduction::default().client_scopes("repo-code:r"), r#"client_scopes: "repo-code:r""#),
            (Reduction::default().resource_scope(ResourceScope::All), r#"resource_scope: "all""#),
            (
                Reduction::default().resource_scope(ResourceScope::specified(["one", "three"]).unwrap()),
                r#"resource_scope: "three""#,
            ),
            (
                Reduction::default().redirect_uris(["https://demo.example/cb", "https://new.example/\n"]),
                r#"redirect_uris: "https://new.example/\n""#,
            ),
            (
                Reduction::default().scopes("repo-issue:r").resource_scope(ResourceScope::Public),
                r#"scopes: "repo-issue:r"; resource_scope: "public""#,
            ),
        ];
        for (reducing, what) in rows {
            assert_eq!(judge(&reducing), refused(what));
        }
        let mut fewer = form();
        fewer.grant_types = GrantTypes::CODE_ONLY;
        let reducing = Reduction::default().grant_types(GrantTypes::default());
        let outcome = reducing.judge(&fewer, &ScopeCatalog::platform()).map_err(|error| error.to_string());
        assert_eq!(outcome, refused(r#"grant_types: "refresh_token""#));
    }

    #[test]
    fn a_grant_type_keeps_what_it_needs() {
        let none: [&str; 0] = [];
        let rows = [
            (Reduction::default().scopes(""), "refused: scopes: is missing"),
            (Reduction::default().client_scopes(""), "refused: client_scopes: is missing"),
            (Reduction::default().redirect_uris(none), "refused: redirect_uris: is missing"),
            (
                Reduction::default().client_resources(ResourceScope::Public),
                "refused: client_resources: has a value that is not offered",
            ),
            (
                Reduction::default().grant_types(GrantTypes::NONE.with(GrantType::RefreshToken)),
                "refused: grant_types: has refresh_token without authorization_code or \
                 urn:ietf:params:oauth:grant-type:device_code",
            ),
        ];
        for (reducing, text) in rows {
            assert_eq!(judge(&reducing), Err(text.to_owned()));
        }
        let nothing =
            Reduction::default().grant_types(GrantTypes::NONE).scopes("").client_scopes("").redirect_uris(none);
        assert!(judge(&nothing).is_ok());
    }
}
