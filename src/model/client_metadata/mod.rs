//! What a client says about itself in a registration [RFC 7591 section 2] or in a metadata document.

mod bounds;
mod document;
pub(crate) mod error;
mod judge;

pub use crate::model::members::MoreMetadata;
pub(crate) use bounds::Admitted;
pub use bounds::RegistrationBounds;
pub(crate) use document::DocumentRules;
pub(crate) use error::DocumentUrl;
pub use error::{DocumentError, MetadataError};
pub(crate) use judge::{MetadataRules, Replacement};

use crate::model::client::{ApplicationType, AuthenticationMethods, ClientKeys, ClientOptions, GrantTypes};
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::scope::ScopeSet;

/// The checked metadata of a client that registers itself or has a metadata document [RFC 7591 section 2]. None of it
/// is verified.
///
/// Values that this server does not offer are already left out: grant types, scopes, and redirect URIs of a kind that
/// [`Config::redirect_uris`](crate::Config::redirect_uris) does not accept. The two `requires_…` fields are `false`
/// where the server does not support them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientMetadata {
    /// `redirect_uris`, at least one.
    pub redirect_uris: Vec<RegisteredRedirectUri>,
    /// `token_endpoint_auth_method`; beside `private_key_jwt` also `none`, if the client is described by a metadata
    /// document that lists it in `token_endpoint_auth_methods_supported`. A client with `none` is public.
    pub authentication_methods: AuthenticationMethods,
    /// `grant_types`: the authorization code, and perhaps refresh.
    pub grant_types: GrantTypes,
    pub(crate) claims_native: bool,
    /// `client_name`; plain text, to be escaped by a page.
    pub name: Option<String>,
    /// `client_uri`; plain text, to be escaped by a page.
    pub client_uri: Option<String>,
    /// The scopes of `scope` that the catalog has; `None` if it was not sent, or counts as not sent
    /// ([`ExcessScopes::Drop`](crate::config::ExcessScopes::Drop)).
    pub scopes: Option<ScopeSet>,
    /// `jwks` or `jwks_uri`, exactly one of the two, of a client that authenticates with `private_key_jwt`; `None` for
    /// any other.
    pub keys: Option<ClientKeys>,
    /// What a client registers about its own requests and tokens. The algorithm is that of a client that authenticates
    /// with `private_key_jwt`.
    pub options: ClientOptions,
    /// Members that only pages and reviewers read.
    pub more: MoreMetadata,
}

impl ClientMetadata {
    /// Returns `application_type`: native if a redirect URI leads to the user's own device, otherwise as sent.
    ///
    /// Clients leave it out, or send `web` with such redirect URIs.
    #[must_use]
    pub fn application_type(&self) -> ApplicationType {
        let is_on_device = |uri: &RegisteredRedirectUri| {
            let uri = uri.as_requested();
            uri.is_loopback() || !uri.is_web()
        };
        let is_native = self.claims_native || self.redirect_uris.iter().any(is_on_device);
        if is_native { ApplicationType::Native } else { ApplicationType::Web }
    }
}
