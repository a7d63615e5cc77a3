//! The part of clients that registered themselves or have a metadata document.

use std::collections::BTreeSet;

use crate::base::clock::Timestamp;
use crate::scope::ScopeSet;
use crate::secret::Digest;

/// The origin of a client that no developer submitted and no administrator described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientOrigin {
    /// It sent its metadata to the registration endpoint [RFC 7591].
    DynamicRegistration,
    /// The client id is the URL of the client's metadata document [draft-ietf-oauth-client-id-metadata-document].
    MetadataDocument,
}

/// The part of a [`Client`](crate::Client) that registered itself, or has a metadata document.
///
/// The client has the scopes, the resource scope, the redirect URIs and the methods to which its registration was
/// bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelfRegistration {
    /// The origin of the client.
    pub origin: ClientOrigin,
    /// When the client was registered, or first stored from its metadata document.
    pub registered: Timestamp,
    /// Whether a person approved the client with [`Registrar::approve`](crate::Registrar::approve).
    pub is_reviewed: bool,
    /// The scopes of a request without `scope` [RFC 7591 section 2], as far as
    /// [`CheckedForm::scopes`](crate::client::CheckedForm::scopes) still has them; if it has none of them, all of its
    /// scopes.
    pub default_scopes: ScopeSet,
    /// The identifiers of the protected resources that the client may reach, as its registration was bounded
    /// ([`RegistrationBounds::resources`](crate::client_metadata::RegistrationBounds::resources)); `None` if it may
    /// reach all of them.
    pub resources: Option<BTreeSet<Box<str>>>,
    /// When the registration ends, as the policy said.
    pub(crate) end: Option<Timestamp>,
    /// Until when the last refresh token may live, plus a day; `None` if no user ever approved the client.
    pub(crate) used_until: Option<Timestamp>,
    /// When the registration ends; `None` if it never does. From then on, requests with its id are refused as those of
    /// an unknown client; a use before then postpones it, up to the end that the policy set.
    pub gone_at: Option<Timestamp>,
    /// Whether a link of the client leads to a host that none of its redirect URIs has [RFC 7591 section 5].
    pub has_foreign_links: bool,
    /// Whether its name, when registered or last updated, looked like that of an approved or suspended application, or
    /// too many share the look to tell.
    pub looks_like_another: bool,
    /// The digest of the metadata document in force.
    pub(crate) document: Option<Digest>,
}
