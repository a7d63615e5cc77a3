//! The form that a developer submits, unchecked and checked.

use crate::jose::{JwkSet, JwkSetBounds};
use crate::model::application::field::{Field, FieldError, Problem};
use crate::model::application::text;
use crate::model::client::form::RegistrationLimits;
use crate::model::client::{
    ApplicationType, AuthenticationMethod, AuthenticationMethods, CheckedForm, ClientKeys, ClientOptions, ClientType,
    GrantType, GrantTypes, counts_as_public,
};
use crate::model::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};

/// The form that a developer submits, unchecked.
///
/// Characters are Unicode scalar values, and nothing is normalized.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplicationForm {
    /// The name shown to the user: no misleading characters, and at least one visible character.
    pub name: String,
    /// What the application does, with lines ended by U+000A alone. An empty text counts as none.
    pub description: Option<String>,
    /// The absolute `https` or `http` address of the official website, without user name; its host in ASCII.
    pub website: String,
    /// The redirect URIs: complete, no two equal, at least one if `grant_types` has the authorization code
    /// [RFC 6749 section 3.1.2].
    pub redirect_uris: Vec<String>,
    /// The scopes that users may be asked for, separated by spaces as in a request; at least one if `grant_types`
    /// has the authorization code or the device code [RFC 6749 section 3.3].
    pub scopes: String,
    /// The resources that users may be asked for. Every form needs it, even one without the authorization code. A list
    /// must not be empty.
    pub resource_scope: Option<ResourceScope>,
    /// The scopes of tokens without a user, separated by spaces; at least one if `grant_types` has client credentials,
    /// none by default [RFC 6749 section 4.4]. They are separate from `scopes`.
    pub client_scopes: String,
    /// The resources of tokens without a user: a list, or [`ResourceScope::All`] for every resource that has a
    /// name; none by default. [`ResourceScope::Public`] is refused. An account is never among them.
    pub client_resources: Option<ResourceScope>,
    /// Whether the client can keep a secret; confidential by default [RFC 6749 section 2.1].
    pub client_type: ClientType,
    /// Where the application runs; on a server by default [RFC 8252 section 8.4].
    pub application_type: ApplicationType,
    /// The grant types; authorization code and refresh by default [RFC 6749 section 1.3]. Refresh needs the
    /// authorization code or the device code. Client credentials are for confidential web applications without the
    /// device code.
    pub grant_types: GrantTypes,
    /// The methods that a confidential client may authenticate with, at least one and not `none`; by default its secret
    /// in the header or in the form. A public client always has `none` [RFC 7591 section 2].
    ///
    /// [`AuthenticationMethods::KEY`] needs `jwks` or `jwks_uri`, and excludes other methods: such a client has no
    /// secret.
    pub authentication_methods: AuthenticationMethods,
    /// The public keys of a client that authenticates with its key, as the JSON of a JWK Set; none by default
    /// [RFC 7591 section 2]. An empty text counts as none.
    pub jwks: Option<String>,
    /// The https address of the client's JWK Set, in place of `jwks`; none by default. An empty text counts as none.
    /// The server needs a [`Builder::fetcher`](crate::server::Builder::fetcher), such as that of the package
    /// `grantor-fetch`.
    pub jwks_uri: Option<String>,
    /// What the client registers about its own requests and tokens; nothing by default.
    pub options: ClientOptions,
}

impl ApplicationForm {
    /// Creates a form. Set redirect URIs, scopes and the resource scope before it is submitted.
    #[must_use]
    pub fn new(name: impl Into<String>, website: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            website: website.into(),
            redirect_uris: Vec::new(),
            scopes: String::new(),
            resource_scope: None,
            client_scopes: String::new(),
            client_resources: None,
            client_type: ClientType::Confidential,
            application_type: ApplicationType::Web,
            grant_types: GrantTypes::default(),
            authentication_methods: AuthenticationMethods::default(),
            jwks: None,
            jwks_uri: None,
            options: ClientOptions::default(),
        }
    }

    /// Checks every field. Whether names look like others is left to the reviewer [RFC 7591 section 5]. The
    /// [`Registrar`](crate::Registrar), which knows the settings, checks whether the server accepts the methods,
    /// algorithms and key sets.
    ///
    /// # Errors
    ///
    /// At most one [`FieldError`] per field, in the order of [`Field`]; for redirect URIs at most one per URI.
    pub fn check(
        &self,
        limits: &RegistrationLimits,
        catalog: &ScopeCatalog,
        policy: &RedirectUriPolicy,
    ) -> Result<CheckedForm, Vec<FieldError>> {
        self.check_within(limits, catalog, policy, JwkSetBounds::MOST)
    }

    /// Does the same with the bounds of a key set.
    pub(crate) fn check_within(
        &self,
        limits: &RegistrationLimits,
        catalog: &ScopeCatalog,
        policy: &RedirectUriPolicy,
        key_set: JwkSetBounds,
    ) -> Result<CheckedForm, Vec<FieldError>> {
        let mut refused = Refused(Vec::new());
        let description = self.description.as_deref().unwrap_or_default();
        let scopes = |is_needed, scopes: &str| scopes_for(is_needed, scopes, catalog);
        // In the order of `Field`. A refused field has a placeholder.
        let form = CheckedForm {
            name: refused.or(Field::Name, text::name(&self.name, limits.name)).unwrap_or_default(),
            description: refused.or(Field::Description, text::plain_text(description, limits.description)).flatten(),
            website: refused.or(Field::Website, text::website(&self.website, limits.website)).unwrap_or_default(),
            redirect_uris: self.check_redirect_uris(limits, policy, &mut refused),
            scopes: refused.or(Field::Scopes, scopes(self.grant_types.ask_users(), &self.scopes)).unwrap_or_default(),
            resource_scope: refused
                .or(Field::ResourceScope, self.check_resource_scope())
                .unwrap_or_else(ResourceScope::none),
            client_scopes: refused
                .or(Field::ClientScopes, scopes(self.grant_types.act_for_client(), &self.client_scopes))
                .unwrap_or_default(),
            client_resources: refused
                .or(Field::ClientResources, self.check_client_resources())
                .unwrap_or_else(ResourceScope::none),
            client_type: self.client_type,
            application_type: self.application_type,
            grant_types: refused.or(Field::GrantTypes, self.check_grant_types()).unwrap_or_default(),
            authentication_methods: refused
                .or(Field::AuthenticationMethods, self.check_authentication_methods())
                .unwrap_or_default(),
            keys: self.check_keys_and_algorithm(key_set, &mut refused),
            options: self.options.clone(),
        };
        if refused.0.is_empty() { Ok(form) } else { Err(refused.0) }
    }

    fn check_redirect_uris(
        &self,
        limits: &RegistrationLimits,
        policy: &RedirectUriPolicy,
        refused: &mut Refused,
    ) -> Vec<RegisteredRedirectUri> {
        let limit = limits.redirect_uris;
        if self.redirect_uris.is_empty() && self.grant_types.redirect() {
            refused.push(Field::RedirectUris, Problem::Missing);
        }
        if self.redirect_uris.len() > limit {
            refused.push(Field::RedirectUris, Problem::TooManyValues { limit });
            return Vec::new();
        }
        let mut sound = Vec::<RegisteredRedirectUri>::with_capacity(self.redirect_uris.len());
        for (text, number) in self.redirect_uris.iter().zip(1..) {
            match RegisteredRedirectUri::parse(text, policy) {
                Err(error) => refused.push(Field::RedirectUris, Problem::RedirectUri { number, error }),
                Ok(uri) if sound.contains(&uri) => refused.push(Field::RedirectUris, Problem::Repeated { number }),
                Ok(uri) => sound.push(uri),
            }
        }
        sound
    }

    fn check_client_resources(&self) -> Result<ResourceScope, Problem> {
        match &self.client_resources {
            None => Ok(ResourceScope::none()),
            Some(ResourceScope::Public) => Err(Problem::NotOffered),
            Some(resources) => Ok(resources.clone()),
        }
    }

    fn check_resource_scope(&self) -> Result<ResourceScope, Problem> {
        match &self.resource_scope {
            None => Err(Problem::Missing),
            Some(ResourceScope::Specified(resources)) if resources.is_empty() => Err(Problem::Missing),
            Some(resource_scope) => Ok(resource_scope.clone()),
        }
    }

    fn check_grant_types(&self) -> Result<GrantTypes, Problem> {
        let counts_as_public = counts_as_public(self.client_type, self.application_type, self.grant_types);
        if let Some(grant_type) = self.grant_types.of_confidential_clients().filter(|_| counts_as_public) {
            return Err(Problem::ConfidentialOnly { grant_type });
        }
        if self.grant_types.contains(GrantType::RefreshToken) && !self.grant_types.refresh() {
            return Err(Problem::RefreshAlone);
        }
        Ok(self.grant_types)
    }

    const fn check_authentication_methods(&self) -> Result<AuthenticationMethods, Problem> {
        let methods = self.authentication_methods;
        match self.client_type {
            // It is public, and signs its requests: the client of a metadata document.
            ClientType::Public if self.uses_key() => Ok(AuthenticationMethods::KEY.with(AuthenticationMethod::None)),
            ClientType::Public => Ok(AuthenticationMethods::PUBLIC),
            ClientType::Confidential if methods.is_empty() => Err(Problem::Missing),
            ClientType::Confidential if methods.contains(AuthenticationMethod::None) => Err(Problem::NotOffered),
            ClientType::Confidential
                if methods.contains(AuthenticationMethod::PrivateKeyJwt) && methods.use_secret() =>
            {
                Err(Problem::SecretBesideKeys)
            }
            ClientType::Confidential => Ok(methods),
        }
    }

    /// Checks the keys and the algorithm without the server's settings, which are checked later.
    fn check_keys_and_algorithm(&self, bounds: JwkSetBounds, refused: &mut Refused) -> Option<ClientKeys> {
        let keys = self.check_keys(bounds).map_err(|error| refused.0.push(error)).ok().flatten();
        refused.or(Field::SigningAlgorithm, self.check_signing_algorithm(keys.as_ref()));
        keys
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

    fn check_signing_algorithm(&self, keys: Option<&ClientKeys>) -> Result<(), Problem> {
        let Some(algorithm) = self.options.signing_algorithm else { return Ok(()) };
        match keys {
            _ if !self.uses_key() => Err(Problem::KeysNotUsed),
            Some(keys) if !keys.may_fit(algorithm) => Err(Problem::NoKeyForAlgorithm { algorithm }),
            Some(_) | None => Ok(()),
        }
    }

    const fn uses_key(&self) -> bool {
        let methods = self.authentication_methods;
        let keeps_methods =
            matches!(self.client_type, ClientType::Confidential) || methods.contains(AuthenticationMethod::None);
        keeps_methods && methods.contains(AuthenticationMethod::PrivateKeyJwt)
    }
}

impl CheckedForm {
    /// Converts the form to an unchecked one, to be edited or checked again.
    #[must_use]
    pub fn to_form(&self, catalog: &ScopeCatalog) -> ApplicationForm {
        let (jwks, jwks_uri) = match &self.keys {
            Some(ClientKeys::Set(set)) => (Some(set.as_str().to_owned()), None),
            Some(ClientKeys::Url(url)) => (None, Some(url.to_string())),
            None => (None, None),
        };
        ApplicationForm {
            name: self.name.to_string(),
            description: self.description.as_deref().map(str::to_owned),
            website: self.website.to_string(),
            redirect_uris: self.redirect_uris.iter().map(|uri| uri.as_str().to_owned()).collect(),
            scopes: catalog.to_wire(&self.scopes).into_owned(),
            resource_scope: Some(self.resource_scope.clone()),
            client_scopes: catalog.to_wire(&self.client_scopes).into_owned(),
            client_resources: Some(self.client_resources.clone()),
            client_type: self.client_type,
            application_type: self.application_type,
            grant_types: self.grant_types,
            authentication_methods: self.authentication_methods,
            jwks,
            jwks_uri,
            options: self.options.clone(),
        }
    }
}

struct Refused(Vec<FieldError>);

impl Refused {
    fn push(&mut self, field: Field, problem: Problem) {
        self.0.push(FieldError::new(field, problem));
    }

    fn or<T>(&mut self, field: Field, checked: Result<T, Problem>) -> Option<T> {
        checked.map_err(|problem| self.push(field, problem)).ok()
    }
}

/// Reads scopes; at least one if `is_needed`.
fn scopes_for(is_needed: bool, scopes: &str, catalog: &ScopeCatalog) -> Result<ScopeSet, Problem> {
    let scopes = catalog.parse(scopes.as_bytes()).map_err(Problem::Scope)?;
    if is_needed && scopes.is_empty() { Err(Problem::Missing) } else { Ok(scopes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::redirect_uri::RedirectUriError;
    use crate::scope::ScopeError;

    fn sound() -> ApplicationForm {
        let mut form = ApplicationForm::new("Demo", "https://demo.example");
        form.redirect_uris = vec!["https://demo.example/cb".to_owned()];
        form.scopes = "account-email repo-code:rw".to_owned();
        form.resource_scope = Some(ResourceScope::All);
        form
    }

    fn check(form: &ApplicationForm) -> Result<CheckedForm, Vec<FieldError>> {
        form.check(&RegistrationLimits::default(), &ScopeCatalog::platform(), &RedirectUriPolicy::default())
    }

    fn none_left() -> ResourceScope {
        ResourceScope::specified(["a"]).unwrap().reduced_to(&ResourceScope::Public)
    }

    #[test]
    fn a_sound_form_comes_back_as_it_was() {
        let mut form = sound();
        form.description = Some(String::new());
        let checked = check(&form).unwrap();
        assert_eq!((&*checked.name, &*checked.website), ("Demo", "https://demo.example"));
        assert_eq!(checked.description, None);
        assert_eq!(checked.scopes.as_str(), "repo-code:rw account-email:r");
        assert_eq!(checked.redirect_uris[0].as_str(), "https://demo.example/cb");
        let again = checked.to_form(&ScopeCatalog::platform());
        assert_eq!(check(&again), Ok(checked));
    }

    #[test]
    fn every_refusal_is_collected_in_order() {
        let mut form = ApplicationForm::new("", "demo.example");
        form.description = Some("a\0".to_owned());
        form.authentication_methods = AuthenticationMethods::PUBLIC;
        let errors = check(&form).unwrap_err();
        let fields: Vec<_> = errors.iter().map(|error| error.to_string()).collect();
        assert_eq!(
            fields,
            [
                "name: is missing",
                "description: has U+0000 as character 2, which is a control character",
                "website: is not a plain https or http address",
                "redirect_uris: is missing",
                "scopes: is missing",
                "resource_scope: is missing",
                "authentication_methods: has a value that is not offered",
            ]
        );
        assert!(errors.is_sorted_by_key(FieldError::field));
    }

    /// SVC-2.1-05, SVC-2.1-06, SVC-2.1-07
    #[test]
    fn each_field_has_its_problems() {
        let uris = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let many = |count: usize| (0..count).map(|n| format!("https://demo.example/{n}")).collect::<Vec<_>>();
        let redirect = |number, error| Problem::RedirectUri { number, error };
        type Edit = Box<dyn Fn(&mut ApplicationForm)>;
        let edits: Vec<(Edit, Field, Problem)> = vec![
            (Box::new(|form| form.name = "x".repeat(51)), Field::Name, Problem::TooManyCharacters { limit: 50 }),
            (Box::new(|form| form.website = "https://a@b.example".to_owned()), Field::Website, Problem::UserInfo),
            (
                Box::new(move |form| form.redirect_uris = uris(&["https://demo.example/cb", "https://demo.example/#"])),
                Field::RedirectUris,
                redirect(2, RedirectUriError::Fragment),
            ),
            (
                Box::new(move |form| form.redirect_uris = uris(&["http://demo.example/cb"])),
                Field::RedirectUris,
                redirect(1, RedirectUriError::PlainHttp),
            ),
            (
                Box::new(move |form| form.redirect_uris = uris(&["https://a.example", "https://a.example"])),
                Field::RedirectUris,
                Problem::Repeated { number: 2 },
            ),
            (
                Box::new(move |form| form.redirect_uris = many(11)),
                Field::RedirectUris,
                Problem::TooManyValues { limit: 10 },
            ),
            (
                Box::new(|form| form.scopes = "repo-nothing".to_owned()),
                Field::Scopes,
                Problem::Scope(ScopeError::Unknown { token: Some("repo-nothing".into()), nearest: None }),
            ),
            (
                Box::new(|form| form.scopes = "repo-security:rw".to_owned()),
                Field::Scopes,
                Problem::Scope(ScopeError::PermissionNotAllowed {
                    token: "repo-security:rw".into(),
                    accepted: "repo-security:r".into(),
                }),
            ),
            (
                Box::new(|form| form.scopes = "repo-delete:r".to_owned()),
                Field::Scopes,
                Problem::Scope(ScopeError::PermissionNotAllowed {
                    token: "repo-delete:r".into(),
                    accepted: "repo-delete:rw".into(),
                }),
            ),
            (Box::new(|form| form.scopes = "\t".to_owned()), Field::Scopes, Problem::Scope(ScopeError::Malformed)),
            (Box::new(|form| form.scopes = " ".to_owned()), Field::Scopes, Problem::Missing),
            (Box::new(|form| form.resource_scope = Some(none_left())), Field::ResourceScope, Problem::Missing),
            (
                Box::new(|form| form.grant_types = GrantTypes::NONE.with(GrantType::RefreshToken)),
                Field::GrantTypes,
                Problem::RefreshAlone,
            ),
            (
                Box::new(|form| form.authentication_methods = [].into_iter().collect()),
                Field::AuthenticationMethods,
                Problem::Missing,
            ),
            (
                Box::new(|form| form.authentication_methods = AuthenticationMethods::PUBLIC),
                Field::AuthenticationMethods,
                Problem::NotOffered,
            ),
        ];
        for (edit, field, problem) in edits {
            let mut form = sound();
            edit(&mut form);
            assert_eq!(check(&form), Err(vec![FieldError::new(field, problem)]));
        }
        let mut form = sound();
        form.redirect_uris = many(10);
        assert_eq!(check(&form).unwrap().redirect_uris.len(), 10);
    }

    #[test]
    fn a_resource_server_needs_neither_redirect_uri_nor_scope() {
        let mut form = ApplicationForm::new("API", "https://api.example");
        form.resource_scope = Some(ResourceScope::All);
        form.grant_types = GrantTypes::NONE;
        assert!(check(&form).unwrap().scopes.is_empty());
    }

    #[test]
    fn a_public_client_authenticates_with_none() {
        for methods in [AuthenticationMethods::SECRET, AuthenticationMethods::PUBLIC] {
            let form = ApplicationForm { client_type: ClientType::Public, authentication_methods: methods, ..sound() };
            assert_eq!(check(&form).unwrap().authentication_methods, AuthenticationMethods::PUBLIC);
        }
        assert_eq!(check(&sound()).unwrap().authentication_methods, AuthenticationMethods::SECRET);
    }

    /// SVC-8-01
    #[test]
    fn limits_are_the_services_and_can_be_changed() {
        let limits = RegistrationLimits { name: 4, ..RegistrationLimits::default() };
        let check = |name: &str| {
            let form = ApplicationForm { name: name.to_owned(), ..sound() };
            form.check(&limits, &ScopeCatalog::platform(), &RedirectUriPolicy::default()).map(drop)
        };
        assert_eq!(check("\u{1f600}\u{1f600}\u{1f600}\u{1f600}"), Ok(()));
        let refused = FieldError::new(Field::Name, Problem::TooManyCharacters { limit: 4 });
        assert_eq!(refused.to_string(), "name: has more than 4 characters");
        assert_eq!(check("Demos"), Err(vec![refused]));
    }
}
