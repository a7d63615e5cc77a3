//! What a client says about itself in a registration [RFC 7591 section 2] or in a metadata document.

mod bounds;
mod digest;
mod document;
mod document_error;
mod document_url;
pub(crate) mod encoding;
mod error;
mod json;
mod judge;
mod key_members;

pub(crate) use bounds::Admitted;
pub use bounds::RegistrationBounds;
pub(crate) use document::DocumentRules;
pub use document_error::DocumentError;
pub(crate) use document_url::DocumentUrl;
pub use document_url::DocumentUrlError;
pub use error::MetadataError;
pub(crate) use judge::{MetadataRules, Replacement};

use crate::jose::SigningAlgorithm;
use crate::model::client::{ApplicationType, AuthenticationMethod, ClientKeys, GrantTypes, KeyTerms};
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::scope::ScopeSet;

/// The checked metadata of a client that registers itself or has a metadata document [RFC 7591 section 2]. None of it
/// is verified.
///
/// Values that this server does not offer are already left out: grant types, scopes, and redirect URIs of a kind that
/// [`Config::redirect_uris`](crate::Config::redirect_uris) does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientMetadata {
    pub(crate) redirect_uris: Vec<RegisteredRedirectUri>,
    pub(crate) authentication_method: AuthenticationMethod,
    pub(crate) grant_types: GrantTypes,
    pub(crate) claims_native: bool,
    pub(crate) name: Option<Box<str>>,
    pub(crate) client_uri: Option<Box<str>>,
    pub(crate) scopes: Option<ScopeSet>,
    pub(crate) key_terms: KeyTerms,
    pub(crate) more: MoreMetadata,
}

impl ClientMetadata {
    /// Returns `redirect_uris`, at least one.
    #[must_use]
    pub fn redirect_uris(&self) -> &[RegisteredRedirectUri] {
        &self.redirect_uris
    }

    /// Returns `token_endpoint_auth_method`.
    #[must_use]
    pub const fn authentication_method(&self) -> AuthenticationMethod {
        self.authentication_method
    }

    /// Returns `grant_types`: the authorization code, and perhaps refresh.
    #[must_use]
    pub const fn grant_types(&self) -> GrantTypes {
        self.grant_types
    }

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

    /// Returns `client_name`; plain text, to be escaped by a page.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns `client_uri`; plain text, to be escaped by a page.
    #[must_use]
    pub fn client_uri(&self) -> Option<&str> {
        self.client_uri.as_deref()
    }

    /// Returns the scopes of `scope` that the catalog has; `None` if it was not sent.
    #[must_use]
    pub const fn scopes(&self) -> Option<&ScopeSet> {
        self.scopes.as_ref()
    }

    /// Returns `jwks` or `jwks_uri` of a client that authenticates with `private_key_jwt`; `None` for any other.
    #[must_use]
    pub const fn keys(&self) -> Option<&ClientKeys> {
        self.key_terms.keys.as_ref()
    }

    /// Returns `token_endpoint_auth_signing_alg` of a client that authenticates with `private_key_jwt`.
    #[must_use]
    pub const fn signing_algorithm(&self) -> Option<SigningAlgorithm> {
        self.key_terms.signing_algorithm
    }

    /// Returns `require_pushed_authorization_requests` [RFC 9126 section 6].
    #[must_use]
    pub const fn requires_pushed_requests(&self) -> bool {
        self.key_terms.requires_pushed_requests
    }

    /// Returns `dpop_bound_access_tokens` [RFC 9449 section 5.2].
    #[must_use]
    pub const fn requires_dpop_bound_tokens(&self) -> bool {
        self.key_terms.requires_dpop_bound_tokens
    }

    /// Returns the members that no request needs.
    #[must_use]
    pub const fn more(&self) -> &MoreMetadata {
        &self.more
    }
}

/// Metadata of a client that no request needs: for a reviewer and for pages [RFC 7591 section 2].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MoreMetadata {
    pub(crate) logo_uri: Option<Box<str>>,
    pub(crate) tos_uri: Option<Box<str>>,
    pub(crate) policy_uri: Option<Box<str>>,
    pub(crate) contacts: Vec<Box<str>>,
    pub(crate) software_id: Option<Box<str>>,
    pub(crate) software_version: Option<Box<str>>,
}

impl MoreMetadata {
    /// Returns `logo_uri`. It is never fetched. A page that loads it reveals its visitors to a third party's server.
    #[must_use]
    pub fn logo_uri(&self) -> Option<&str> {
        self.logo_uri.as_deref()
    }

    /// Returns `tos_uri`, the terms of service; plain text, to be escaped by a page.
    #[must_use]
    pub fn tos_uri(&self) -> Option<&str> {
        self.tos_uri.as_deref()
    }

    /// Returns `policy_uri`, the privacy policy; plain text, to be escaped by a page.
    #[must_use]
    pub fn policy_uri(&self) -> Option<&str> {
        self.policy_uri.as_deref()
    }

    /// Returns `contacts`; plain text, to be escaped by a page.
    pub fn contacts(&self) -> impl Iterator<Item = &str> {
        self.contacts.iter().map(AsRef::as_ref)
    }

    /// Returns `software_id`; plain text, to be escaped by a page.
    #[must_use]
    pub fn software_id(&self) -> Option<&str> {
        self.software_id.as_deref()
    }

    /// Returns `software_version`; plain text, to be escaped by a page.
    #[must_use]
    pub fn software_version(&self) -> Option<&str> {
        self.software_version.as_deref()
    }

    /// The links that a page may show.
    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        [self.tos_uri(), self.policy_uri()].into_iter().flatten()
    }
}
