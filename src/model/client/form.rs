//! The form of a client: what it registered, checked, and the limits of its fields.

use crate::model::client::authentication_method::AuthenticationMethods;
use crate::model::client::client_type::{ApplicationType, ClientType};
use crate::model::client::grant_type::GrantTypes;
use crate::model::client::keys::ClientKeys;
use crate::model::members::ClientOptions;
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::scope::{ResourceScope, ScopeSet};

/// The form of a client. What it says about the client is not verified.
///
/// The registrar stores only forms that passed its checks; a form from [`ClientBuilder`](crate::client::ClientBuilder)
/// is unchecked. [`Client::form`](crate::Client::form) is the one in force: the client gets no scope and no resource
/// beyond this form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedForm {
    /// The name shown to the user; plain text, to be escaped by the page.
    pub name: String,
    /// What the application does; plain text, to be escaped by the page.
    pub description: Option<String>,
    /// The address of the official website; plain text, to be escaped by the page.
    pub website: String,
    /// The redirect URIs [RFC 6749 section 3.1.2].
    pub redirect_uris: Vec<RegisteredRedirectUri>,
    /// The scopes that users may be asked for [RFC 6749 section 3.3].
    pub scopes: ScopeSet,
    /// The resources that users may be asked for.
    pub resource_scope: ResourceScope,
    /// The scopes of tokens without a user [RFC 6749 section 4.4]; empty if it gets none.
    pub client_scopes: ScopeSet,
    /// The resources of tokens without a user: those listed, or with [`ResourceScope::All`] every resource that has a
    /// name. An account is never among them.
    pub client_resources: ResourceScope,
    /// Whether the client can keep a secret [RFC 6749 section 2.1].
    pub client_type: ClientType,
    /// Whether the application runs on a server or on its user's device [RFC 8252 section 8.4].
    pub application_type: ApplicationType,
    /// The grant types [RFC 6749 section 1.3].
    pub grant_types: GrantTypes,
    /// The methods that the client may authenticate with [RFC 7591 section 2].
    pub authentication_methods: AuthenticationMethods,
    /// The client's public keys, or where they are, if it has any [RFC 7591 section 2].
    pub keys: Option<ClientKeys>,
    /// What the client registered about its own requests and tokens.
    pub options: ClientOptions,
}

impl CheckedForm {
    /// Returns a form without a name, a scope and a resource.
    pub(crate) fn blank() -> Self {
        Self {
            name: String::new(),
            description: None,
            website: String::new(),
            redirect_uris: Vec::new(),
            scopes: ScopeSet::empty(),
            resource_scope: ResourceScope::none(),
            client_scopes: ScopeSet::empty(),
            client_resources: ResourceScope::none(),
            client_type: ClientType::Confidential,
            application_type: ApplicationType::Web,
            grant_types: GrantTypes::default(),
            authentication_methods: AuthenticationMethods::default(),
            keys: None,
            options: ClientOptions::default(),
        }
    }
}

/// The limits of the fields of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrationLimits {
    /// Characters of the name; 50 by default.
    pub name: usize,
    /// Bytes of the logo; 1 048 576 by default.
    pub logo: usize,
    /// Pixels of each side of the logo; 2048 by default. A browser takes 4 bytes for each pixel.
    pub logo_pixels: u32,
    /// Characters of the description; 350 by default.
    pub description: usize,
    /// Characters of the website's address; 128 by default.
    pub website: usize,
    /// Redirect URIs; 10 by default.
    pub redirect_uris: usize,
}

impl Default for RegistrationLimits {
    fn default() -> Self {
        Self { name: 50, logo: 1_048_576, logo_pixels: 2048, description: 350, website: 128, redirect_uris: 10 }
    }
}
