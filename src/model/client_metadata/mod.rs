//! What a client says about itself in a registration [RFC 7591 section 2] or in a metadata document.

mod bounds;
mod document;
mod document_url;
mod encoding;
mod error;
mod json;
mod judge;

pub(crate) use bounds::Admitted;
pub use bounds::RegistrationBounds;
pub(crate) use document::DocumentRules;
pub(crate) use document_url::DocumentUrl;
pub use document_url::DocumentUrlError;
pub use error::{DocumentError, MetadataError};
pub(crate) use judge::{MetadataRules, Replacement};

use crate::jose::SigningAlgorithm;
use crate::model::client::{ApplicationType, AuthenticationMethods, ClientKeys, GrantTypes};
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::scope::ScopeSet;

/// The most bytes that metadata takes in a record. 2 KiB stay for what the server adds, so that a registration takes at
/// most 8 KiB: the id, which may be a URL of 512 bytes, and twice the scopes that the policy admits.
const METADATA_BYTES: usize = 6 * 1024;

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
    /// `token_endpoint_auth_signing_alg` of a client that authenticates with `private_key_jwt`.
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// `require_pushed_authorization_requests` [RFC 9126 section 6].
    pub requires_pushed_requests: bool,
    /// `dpop_bound_access_tokens` [RFC 9449 section 5.2].
    pub requires_dpop_bound_tokens: bool,
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

/// Metadata of a client that no request needs: for a reviewer and for pages [RFC 7591 section 2].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MoreMetadata {
    /// `logo_uri`. It is never fetched. A page that loads it reveals its visitors to a third party's server.
    pub logo_uri: Option<String>,
    /// `tos_uri`, the terms of service; plain text, to be escaped by a page.
    pub tos_uri: Option<String>,
    /// `policy_uri`, the privacy policy; plain text, to be escaped by a page.
    pub policy_uri: Option<String>,
    /// `contacts`; plain text, to be escaped by a page.
    pub contacts: Vec<String>,
    /// `software_id`; plain text, to be escaped by a page.
    pub software_id: Option<String>,
    /// `software_version`; plain text, to be escaped by a page.
    pub software_version: Option<String>,
}

impl MoreMetadata {
    /// The links that a page may show.
    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        [&self.tos_uri, &self.policy_uri].into_iter().flatten().map(AsRef::as_ref)
    }
}
