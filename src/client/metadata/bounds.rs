//! What a policy lets a client have that registered itself.

use std::time::Duration;

use crate::client::application::CheckedForm;
use crate::client::metadata::error::MetadataError;
use crate::client::metadata::{ClientMetadata, MoreMetadata};
use crate::client::redirect_uri::{RegisteredRedirectUri, WebUri};
use crate::client::{AuthenticationMethod, AuthenticationMethods, ClientType};
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};

/// The most that a client may have that registered itself.
///
/// It is kept with the client and holds at every later step.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use grantor::scope::{ResourceScope, ScopeCatalog};
/// use grantor::RegistrationBounds;
///
/// # fn main() -> Result<(), grantor::scope::ScopeError> {
/// let catalog = ScopeCatalog::platform();
/// let bounds = RegistrationBounds::new(catalog.parse(b"repo-code:r repo-issue:rw")?, ResourceScope::All)
///     .default_scopes(catalog.parse(b"repo-code:r")?)
///     .lifetime(Duration::from_secs(90 * 86_400));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationBounds {
    scopes: ScopeSet,
    default_scopes: Option<ScopeSet>,
    resource_scope: ResourceScope,
    methods: Option<AuthenticationMethods>,
    has_loopback: bool,
    has_private_use: bool,
    lifetime: Option<Duration>,
}

impl RegistrationBounds {
    /// Lets a client ask users for these scopes and these resources.
    ///
    /// What a client names as `scope` at its registration is what a request without `scope` asks for. It is no limit:
    /// clients ask for more later, with the same id.
    #[must_use]
    pub const fn new(scopes: ScopeSet, resource_scope: ResourceScope) -> Self {
        Self {
            scopes,
            default_scopes: None,
            resource_scope,
            methods: None,
            has_loopback: true,
            has_private_use: true,
            lifetime: None,
        }
    }

    /// Sets the scopes of a registration that names none [RFC 7591 section 2]; all of them unless set.
    #[must_use]
    pub fn default_scopes(self, scopes: ScopeSet) -> Self {
        Self { default_scopes: Some(scopes), ..self }
    }

    /// Accepts these authentication methods only. A client that names another one is refused, since it could use no
    /// substitute.
    #[must_use]
    pub fn methods(self, methods: AuthenticationMethods) -> Self {
        Self { methods: Some(methods), ..self }
    }

    /// Drops redirect URIs on the loopback interface [RFC 8252 section 7.3].
    #[must_use]
    pub fn without_loopback(self) -> Self {
        Self { has_loopback: false, ..self }
    }

    /// Drops redirect URIs with a private-use scheme [RFC 8252 section 7.1].
    #[must_use]
    pub fn without_private_use_schemes(self) -> Self {
        Self { has_private_use: false, ..self }
    }

    /// Ends the registration after that time, whether it is used or not; never unless set. Its tokens end with it.
    #[must_use]
    pub fn lifetime(self, lifetime: Duration) -> Self {
        Self { lifetime: Some(lifetime), ..self }
    }

    /// Makes of the metadata what the client gets.
    ///
    /// # Errors
    ///
    /// [`MetadataError`] if nothing is left of what a client needs.
    pub(crate) fn admit(
        &self,
        mut metadata: ClientMetadata,
        catalog: &ScopeCatalog,
    ) -> Result<Admitted, MetadataError> {
        metadata.redirect_uris.retain(|uri| self.admits(uri));
        if metadata.redirect_uris.is_empty() {
            return Err(MetadataError::NoRedirectUri);
        }
        let method = metadata.authentication_method;
        if self.methods.is_some_and(|methods| !methods.contains(method)) {
            return Err(MetadataError::Method);
        }
        let limit = catalog.known_part(&self.scopes);
        let asked = metadata.scopes.as_ref().or(self.default_scopes.as_ref()).unwrap_or(&limit);
        let default_scopes = asked.intersection(&limit);
        if default_scopes.is_empty() {
            return Err(MetadataError::NoScope);
        }
        let application_type = metadata.application_type();
        let ClientMetadata { redirect_uris, grant_types, name, client_uri, more, .. } = metadata;
        let form = CheckedForm {
            name: name.unwrap_or_default(),
            description: None,
            website: client_uri.unwrap_or_default(),
            redirect_uris,
            scopes: limit,
            resource_scope: self.resource_scope.clone(),
            machine_scopes: ScopeSet::empty(),
            machine_resources: ResourceScope::none(),
            client_type: client_type(method),
            application_type,
            grant_types,
            authentication_methods: AuthenticationMethods::only(method),
        };
        Ok(Admitted { form, default_scopes, lifetime: self.lifetime, more })
    }

    fn admits(&self, uri: &RegisteredRedirectUri) -> bool {
        let uri = uri.as_requested();
        (self.has_loopback || !uri.is_loopback()) && (self.has_private_use || uri.is_web())
    }
}

/// What a client gets that registered itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// Its scopes are the limit.
    pub(crate) form: CheckedForm,
    /// What a request without `scope` asks for.
    pub(crate) default_scopes: ScopeSet,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) more: MoreMetadata,
}

impl Admitted {
    /// Returns whether a link that a page may show leads to a host that no redirect URI has.
    pub(crate) fn has_foreign_links(&self) -> bool {
        let hosts: Vec<_> = self.form.redirect_uris.iter().map(RegisteredRedirectUri::as_requested).collect();
        let is_own = |host: &str| hosts.iter().any(|uri| uri.host().eq_ignore_ascii_case(host));
        let client_uri = Some(&*self.form.website).filter(|uri| !uri.is_empty());
        client_uri.into_iter().chain(self.more.links()).any(|link| !link_host(link).is_some_and(is_own))
    }
}

/// A client that names `none` keeps no secret.
const fn client_type(method: AuthenticationMethod) -> ClientType {
    match method {
        AuthenticationMethod::None => ClientType::Public,
        AuthenticationMethod::ClientSecretBasic | AuthenticationMethod::ClientSecretPost => ClientType::Confidential,
    }
}

/// The host of a link that was checked before.
fn link_host(link: &str) -> Option<&str> {
    let link = link.split('#').next().unwrap_or_default();
    WebUri::split(link).ok().map(|uri| uri.host)
}
