//! What a policy allows a client that registered itself.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::base::codec::kind;
use crate::base::field::{encode, fields};
use crate::model::client::{
    AuthenticationMethod, AuthenticationMethods, CheckedForm, Client, ClientType, GrantType, GrantTypes,
};
use crate::model::client_metadata::error::MetadataError;
use crate::model::client_metadata::{ClientMetadata, MoreMetadata};
use crate::model::redirect_uri::{RegisteredRedirectUri, WebUri};
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use crate::secret::Digest;

/// The limits of a client that registered itself.
///
/// They are stored with the client and apply to every later step.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use grantor::scope::{ResourceScope, ScopeCatalog};
/// use grantor::client_metadata::RegistrationBounds;
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
    pub(super) scopes: ScopeSet,
    pub(super) default_scopes: Option<ScopeSet>,
    pub(super) resource_scope: ResourceScope,
    pub(super) resources: Option<BTreeSet<Box<str>>>,
    pub(super) methods: Option<AuthenticationMethods>,
    pub(super) has_loopback: bool,
    pub(super) has_private_use: bool,
    pub(super) grant_types: GrantTypes,
    pub(super) lifetime: Option<Duration>,
}

impl RegistrationBounds {
    /// Creates bounds with which a client may ask users for these scopes, on these of the users' resources.
    ///
    /// A client's `scope` at registration is the default for requests without `scope`. It is not a limit: clients ask
    /// for more later, with the same id.
    #[must_use]
    pub fn new(scopes: ScopeSet, resource_scope: ResourceScope) -> Self {
        Self {
            scopes,
            default_scopes: None,
            resource_scope,
            resources: None,
            methods: None,
            has_loopback: true,
            has_private_use: true,
            grant_types: GrantTypes::admitted_by_default(),
            lifetime: None,
        }
    }

    /// Sets the scopes of a registration that names none [RFC 7591 section 2]; all of them unless set.
    #[must_use]
    pub fn default_scopes(self, scopes: ScopeSet) -> Self {
        Self { default_scopes: Some(scopes), ..self }
    }

    /// Allows tokens for these protected resources only [RFC 8707]; for all of them by default. Each is named by its
    /// [identifier](crate::protected_resource::ProtectedResource::new) in
    /// [`Config::resources`](crate::Config::resources).
    ///
    /// A request that names another resource is refused with `invalid_target`. A request that names none is for the
    /// server's default resource, if that is allowed. If it is not, and the server has only one of the allowed
    /// resources, the request is for that one. If the server has several, the client must name one.
    ///
    /// This has no effect while the server has no protected resources.
    #[must_use]
    pub fn resources(self, identifiers: impl IntoIterator<Item: Into<Box<str>>>) -> Self {
        Self { resources: Some(identifiers.into_iter().map(Into::into).collect()), ..self }
    }

    /// Accepts these authentication methods only. A client that names another method is refused, since it could not use
    /// a substitute.
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

    /// Lets clients use device codes, if [`Config::devices.on`](crate::Config::devices) is set [RFC 8628]. By default
    /// the grant type is dropped, since such a client has no redirect URI that shows whose it is.
    #[must_use]
    pub fn devices(self) -> Self {
        Self { grant_types: self.grant_types.with(GrantType::DeviceCode), ..self }
    }

    /// Ends the registration after that time, whether it is used or not; never unless set. Its tokens end with it.
    #[must_use]
    pub fn lifetime(self, lifetime: Duration) -> Self {
        Self { lifetime: Some(lifetime), ..self }
    }

    /// Returns the bounds that admit only what both `self` and `others` admit.
    pub(crate) fn within(self, others: &Self) -> Self {
        let scopes = self.scopes.intersection(&others.scopes);
        let defaults = [&others.default_scopes, &self.default_scopes].into_iter().flatten();
        let default_scopes =
            defaults.map(|scopes_of_one| scopes_of_one.intersection(&scopes)).find(|left| !left.is_empty());
        let methods = match (self.methods, others.methods) {
            (Some(own), Some(others)) => Some(own.iter().filter(|method| others.contains(*method)).collect()),
            (own, others) => own.or(others),
        };
        let resources = match (self.resources, &others.resources) {
            (Some(own), Some(others)) => Some(own.intersection(others).cloned().collect()),
            (own, others) => own.or_else(|| others.clone()),
        };
        Self {
            scopes,
            default_scopes,
            resource_scope: self.resource_scope.reduced_to(&others.resource_scope),
            resources,
            methods,
            has_loopback: self.has_loopback && others.has_loopback,
            has_private_use: self.has_private_use && others.has_private_use,
            grant_types: self.grant_types.intersection(others.grant_types),
            lifetime: self.lifetime.into_iter().chain(others.lifetime).min(),
        }
    }

    /// The bounds that admit exactly what a client has.
    pub(crate) fn of(client: &Client) -> Self {
        let resources = client.open().and_then(|open| open.resources.clone());
        let bounds = Self::new(client.form.scopes.clone(), client.form.resource_scope.clone());
        let grant_types = client.form.grant_types.iter().chain(bounds.grant_types.iter()).collect();
        Self { resources, grant_types, ..bounds }
    }

    /// Returns what a client with this metadata gets.
    ///
    /// # Errors
    ///
    /// [`MetadataError`] if the bounds leave nothing of what a client needs.
    pub(crate) fn admit(
        &self,
        mut metadata: ClientMetadata,
        catalog: &ScopeCatalog,
    ) -> Result<Admitted, MetadataError> {
        metadata.redirect_uris.retain(|uri| self.admits(uri));
        metadata.grant_types = metadata.grant_types.intersection(self.grant_types);
        if !metadata.grant_types.ask_users() {
            return Err(MetadataError::NoGrantType);
        }
        // A client of devices alone has none.
        if metadata.redirect_uris.is_empty() && metadata.grant_types.redirect() {
            return Err(MetadataError::NoRedirectUri);
        }
        let methods = metadata.authentication_methods;
        if self.methods.is_some_and(|accepted| !methods.iter().all(|method| accepted.contains(method))) {
            return Err(MetadataError::Method);
        }
        let limit = catalog.known_part(&self.scopes);
        let asked = metadata.scopes.as_ref().or(self.default_scopes.as_ref()).unwrap_or(&limit);
        let default_scopes = asked.intersection(&limit);
        // Without any of the user's resources, no scope could be granted.
        if default_scopes.is_empty() || self.resource_scope.is_empty() {
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
            client_scopes: ScopeSet::empty(),
            client_resources: ResourceScope::none(),
            client_type: client_type(methods),
            application_type,
            grant_types,
            authentication_methods: methods,
            keys: metadata.keys,
            options: metadata.options,
        };
        Ok(Admitted { form, default_scopes, resources: self.resources.clone(), lifetime: self.lifetime, more })
    }

    fn admits(&self, uri: &RegisteredRedirectUri) -> bool {
        let uri = uri.as_requested();
        (self.has_loopback || !uri.is_loopback()) && (self.has_private_use || uri.is_web())
    }
}

/// What a client that registered itself gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// Its scopes are the limit.
    pub(crate) form: CheckedForm,
    /// The scopes of a request without `scope`.
    pub(crate) default_scopes: ScopeSet,
    /// The protected resources that it may reach.
    pub(crate) resources: Option<BTreeSet<Box<str>>>,
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

/// A client that names `none` is public, even if it also has a key.
const fn client_type(methods: AuthenticationMethods) -> ClientType {
    if methods.contains(AuthenticationMethod::None) { ClientType::Public } else { ClientType::Confidential }
}

/// The host of a link that was checked before.
fn link_host(link: &str) -> Option<&str> {
    let link = link.split('#').next().unwrap_or_default();
    WebUri::split(link).ok().map(|uri| uri.host)
}

fields! {
    RegistrationBounds {
        scopes, resource_scope, default_scopes, resources, methods, has_loopback, has_private_use, grant_types,
        lifetime,
    }
}
fields! {
    ClientMetadata {
        redirect_uris, authentication_methods, grant_types, claims_native, scopes, name, client_uri, more, keys,
        options,
    }
}

impl ClientMetadata {
    /// Digests everything that was taken from a metadata document. Two documents with the same digest make the same
    /// client.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.encode())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        encode(kind::METADATA, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(wire: &str) -> ScopeSet {
        ScopeCatalog::platform().parse(wire.as_bytes()).unwrap()
    }

    fn bounds(wire: &str) -> RegistrationBounds {
        RegistrationBounds::new(scopes(wire), ResourceScope::All)
    }

    /// 7591-5-03
    #[test]
    fn two_bounds_leave_what_both_have() {
        let (basic, none) = (AuthenticationMethod::ClientSecretBasic, AuthenticationMethod::None);
        let own =
            bounds("repo-code:rw repo-issue:r").methods([basic, none].into_iter().collect()).resources(["a", "b"]);
        let own = own.lifetime(Duration::from_secs(9)).default_scopes(scopes("repo-issue:r"));
        let other = RegistrationBounds::new(scopes("repo-code:r account-email:r"), ResourceScope::Public);
        let other = other.methods(AuthenticationMethods::only(none)).resources(["b", "c"]).without_loopback();
        let both = RegistrationBounds::new(scopes("repo-code:r"), ResourceScope::Public);
        let both = both.methods(AuthenticationMethods::only(none)).resources(["b"]).without_loopback();
        // Each default is outside of the other bounds, so the default is everything that is left.
        let both = both.lifetime(Duration::from_secs(9));
        assert_eq!(own.clone().within(&other), both);
        assert_eq!(other.within(&own), both);
        assert_eq!(own.clone().within(&bounds("repo-code:rw repo-issue:rw")), own);
        let named = own.within(&bounds("repo-code:r repo-issue:r").default_scopes(scopes("repo-code:r")));
        assert_eq!(named.default_scopes, Some(scopes("repo-code:r")));
    }
}
