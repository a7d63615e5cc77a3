//! The form of a client: what it registered, the limits of its fields, its type, and when its users are asked.

use std::collections::BTreeSet;

use crate::base::clock::Timestamp;
use crate::model::client::credentials::{AuthenticationMethods, ClientKeys};
use crate::model::client::grant_type::GrantTypes;
use crate::model::members::ClientOptions;
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::Digest;

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

/// Whether a client can keep a secret [RFC 6749 section 2.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ClientType {
    /// It can, and authenticates with it.
    Confidential,
    /// It cannot: PKCE and rotation protect it instead.
    Public,
}

/// Where an application runs [RFC 8252 section 8.4].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ApplicationType {
    /// On a server.
    Web,
    /// On its user's device.
    Native,
}

impl ApplicationType {
    /// Returns the value of `application_type`: `web` or `native`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Native => "native",
        }
    }
}

/// The rule of [`Client::counts_as_public`](crate::Client::counts_as_public), for forms too.
///
/// A native application with a key counts as public. If each installation registers a key of its own, it is a
/// confidential client [RFC 8252 section 8.4]. If every copy has the same one, the key proves no more than a shared
/// secret. The server cannot distinguish the two.
pub(crate) fn counts_as_public(
    client_type: ClientType,
    application_type: ApplicationType,
    grant_types: GrantTypes,
) -> bool {
    client_type == ClientType::Public || application_type == ApplicationType::Native || grant_types.count_as_public()
}

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
    /// Whether its name, when registered or last updated, looked like that of an approved or suspended application or
    /// of [the service](crate::config::RegistrationSettings::service_name), or too many share the look to tell.
    pub looks_like_another: bool,
    /// The digest of the metadata document in force.
    pub(crate) document: Option<Digest>,
}

/// When the users of a client are asked for consent.
///
/// [`Once`](Self::Once) and [`Never`](Self::Never) are for clients that a person approved or your service describes:
/// web applications, public ones too, whose redirect URIs are all `https` addresses with a domain name. PKCE and the
/// exact comparison of redirect URIs, which they need too, come with every profile but the platform's: that one asks
/// each time. [`MustAsk`] lists what a client lacks.
///
/// Even then, the page is shown if the request has a `prompt` other than `none`, if no user navigates to it, and beyond
/// the bounds on consent requests and grants.
///
/// # Security
///
/// Leave it at [`Always`](Self::Always) for a client that lets others register with *it*, such as a proxy or a gateway:
/// a program that registered there would get access without a click.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AskConsent {
    /// Each time.
    #[default]
    Always,
    /// Until the user has agreed. Later requests get a code without a page if a live grant of the user covers them: its
    /// scopes, resources and redirect URI, while the registration is unchanged. 180 days after the last page, the user
    /// is asked again. Other [data](crate::interaction::SignedIn::data), such as another tenant, shows no page.
    Once,
    /// Never: for your service's own applications.
    Never,
}

/// Why the users of a client must be asked for consent each time [RFC 8252 section 8.6].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MustAsk {
    /// The server has the platform profile, in which each code needs the user's consent.
    #[error("the platform profile asks users for consent each time: choose AskConsent::Always, or another profile")]
    PlatformProfile,
    /// The client registered itself or has a metadata document.
    #[error("users must be asked each time about a client that registered itself or has a metadata document")]
    SelfRegistered,
    /// The application runs on its user's device, where other programs can claim to be it, or on devices without a
    /// browser.
    #[error(
        "users must be asked each time about a native application or one of devices: only a web application may do \
         without"
    )]
    Native,
    /// This redirect URI does not prove who gets the code.
    #[error("users must be asked each time because of the redirect URI {0}: https and a domain name would be accepted")]
    RedirectUri(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::ClientId;
    use crate::model::client::{ApplicationType, Client, ClientType};
    use crate::model::redirect_uri::RegisteredRedirectUri;

    #[test]
    fn every_redirect_uri_must_prove_who_gets_the_code() {
        let client = |uris: &[&str]| {
            let uris = uris.iter().map(|uri| RegisteredRedirectUri::from_record(uri));
            uris.fold(Client::builder(ClientId::new("id").unwrap()), |builder, uri| builder.redirect_uri(uri))
        };
        for good in
            ["https://app.example/cb", "HTTPS://app.example:8443", "https://xn--bcher-kva.example/", "https://a"]
        {
            assert_eq!(client(&[good]).build().check_identity(), Ok(()), "{good}");
            assert_eq!(client(&[good]).client_type(ClientType::Public).build().check_identity(), Ok(()), "{good}");
            let native = client(&[good]).application_type(ApplicationType::Native).build();
            assert_eq!(native.check_identity(), Err(MustAsk::Native));
        }
        for weak in [
            "http://127.0.0.1/cb",
            "http://localhost:3000/cb",
            "http://app.example/cb",
            "https://127.0.0.1/cb",
            "https://192.0.2.7:8443/cb",
            "https://[2001:db8::1]/cb",
            "https://localhost/cb",
            "https://LocalHost./cb",
            "https://app.localhost/cb",
            "com.example.app:/cb",
            "cursor://app.example/cb",
            "",
        ] {
            let refused = client(&["https://app.example/cb", weak]).build().check_identity();
            assert_eq!(refused, Err(MustAsk::RedirectUri(weak.to_owned())));
        }
    }
}
