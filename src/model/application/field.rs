//! Which field of a registration is refused, and why.

use std::fmt;

use crate::base::{ValueError, debug_as_text};
use crate::jose::{JwkSetError, SigningAlgorithm};
use crate::model::client::{AuthenticationMethod, AuthenticationMethods, ClientSecretError, GrantType, GrantTypes};
use crate::model::redirect_uri::RedirectUriError;
use crate::scope::ScopeError;
use crate::text::TextError;

/// A field of a registration that is refused. Its text contains nothing that was submitted, except code points, hosts
/// and an unknown scope of fewer than 32 bytes.
#[derive(Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldError {
    field: Field,
    problem: Problem,
}

debug_as_text!(FieldError);

impl FieldError {
    pub(crate) const fn new(field: Field, problem: Problem) -> Self {
        Self { field, problem }
    }

    /// Returns the field.
    #[must_use]
    pub const fn field(&self) -> Field {
        self.field
    }

    /// Returns what is wrong with it.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }
}

/// A field of a registration or of its review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The name shown to the user.
    Name,
    /// The logo shown to the user.
    Logo,
    /// What the application does.
    Description,
    /// The address of the official website.
    Website,
    /// Where authorization responses are sent [RFC 6749 section 3.1.2].
    RedirectUris,
    /// The scopes asked for [RFC 6749 section 3.3].
    Scopes,
    /// The resource scope asked for.
    ResourceScope,
    /// The scopes asked for without a user [RFC 6749 section 4.4].
    ClientScopes,
    /// The resources asked for without a user.
    ClientResources,
    /// Whether the client can keep a secret [RFC 6749 section 2.1].
    ClientType,
    /// Where the application runs [RFC 8252 section 8.4].
    ApplicationType,
    /// The grant types asked for [RFC 6749 section 1.3].
    GrantTypes,
    /// The methods of client authentication [RFC 7591 section 2].
    AuthenticationMethods,
    /// The client's public keys themselves [RFC 7591 section 2].
    Jwks,
    /// The address of the client's public keys [RFC 7591 section 2].
    JwksUri,
    /// The algorithm of the client's assertions: `token_endpoint_auth_signing_alg` [RFC 7591 section 2].
    SigningAlgorithm,
    /// Whether the client must push its authorization requests [RFC 9126 section 6].
    RequirePushedAuthorizationRequests,
    /// Whether the client gets only tokens that are bound to a key [RFC 9449 section 5.2].
    DpopBoundAccessTokens,
    /// The reviewer's reason for a refusal.
    Reason,
    /// The id of a client that your service describes [RFC 6749 section 2.2].
    ClientId,
    /// The secret of a client that your service describes [RFC 6749 section 2.3.1].
    ClientSecret,
}

impl Field {
    /// Returns the field's name in lower case: `name`, `redirect_uris`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Logo => "logo",
            Self::Description => "description",
            Self::Website => "website",
            Self::RedirectUris => "redirect_uris",
            Self::Scopes => "scopes",
            Self::ResourceScope => "resource_scope",
            Self::ClientScopes => "client_scopes",
            Self::ClientResources => "client_resources",
            Self::ClientType => "client_type",
            Self::ApplicationType => "application_type",
            Self::GrantTypes => "grant_types",
            Self::AuthenticationMethods => "authentication_methods",
            Self::Jwks => "jwks",
            Self::JwksUri => "jwks_uri",
            Self::SigningAlgorithm => "signing_algorithm",
            Self::RequirePushedAuthorizationRequests => "require_pushed_authorization_requests",
            Self::DpopBoundAccessTokens => "dpop_bound_access_tokens",
            Self::Reason => "reason",
            Self::ClientId => "client_id",
            Self::ClientSecret => "client_secret",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The image has several frames.
    #[error("is animated")]
    Animated,
    /// Tokens are not bound to keys on this server: see [`Config::dpop.tokens`](crate::Config::dpop).
    #[error("is on, and the server's setting dpop.tokens is Off; leave it off")]
    DpopBoundTokensOff,
    /// The text has no visible character.
    #[error("has no visible character")]
    Blank,
    /// The text cannot be an id.
    #[error("{0}")]
    ClientId(ValueError),
    /// The secret cannot be that of a client.
    #[error("{0}")]
    ClientSecret(ClientSecretError),
    /// The image is empty or too large.
    #[error("has a side that is not 1 to {limit} pixels long")]
    Dimensions {
        /// The most pixels that a side may have.
        limit: u32,
    },
    /// The id is an `https` address, as the ids of clients with a metadata document are.
    #[error("begins with https://, like the URL of a metadata document; use a name such as \"wiki\"")]
    DocumentId,
    /// The value cannot change once the application is approved.
    #[error("cannot change once the application is approved")]
    Fixed,
    /// The host of the address has letters beyond ASCII, which may look like other letters.
    #[error("has a host with letters beyond ASCII; {a_label:?} is accepted")]
    HostNotAscii {
        /// The host in ASCII [RFC 5890 section 2.3.2.1].
        a_label: Box<str>,
    },
    /// The keys are those of the client's metadata document.
    #[error("come from the client's metadata document; change the document instead")]
    KeysOfDocument,
    /// The form has keys or an algorithm, but the client does not authenticate with a key.
    #[error(
        "is used by private_key_jwt alone; leave it out, or choose private_key_jwt as the method of authentication"
    )]
    KeysNotUsed,
    /// The key set is refused.
    #[error("{0}")]
    KeySet(JwkSetError),
    /// A client that cannot keep a secret, public or native, has a grant type for those that can, such as that for
    /// tokens without a user [RFC 6749 section 4.4].
    #[error("has {grant_type}, which is for confidential web applications")]
    ConfidentialOnly {
        /// The grant type.
        grant_type: GrantType,
    },
    /// The server offers none of the methods of client authentication.
    #[error("has no method that is offered; the server offers {}", names(*.offered))]
    MethodsNotOffered {
        /// The methods that are offered to confidential clients.
        offered: AuthenticationMethods,
    },
    /// There is no value, or an empty one.
    #[error("is missing")]
    Missing,
    /// A client that your service describes lacks this field: see [`ClientBuilder`](crate::client::ClientBuilder) and
    /// [`OwnClient`](crate::registration::OwnClient).
    #[error("is missing ({method}(…) sets it)")]
    #[non_exhaustive]
    NotDescribed {
        /// The method that sets it.
        method: &'static str,
    },
    /// No key of the set is for an algorithm that the server accepts.
    #[error("has no key for an algorithm that is accepted; {} are accepted", listed(.accepted))]
    NoAcceptedKey {
        /// The algorithms that are accepted.
        accepted: Vec<SigningAlgorithm>,
    },
    /// The keys are at a URL, and the server has no [`Fetcher`](crate::fetch::Fetcher).
    #[error("cannot be fetched, since the server has no fetcher; the keys themselves are accepted in jwks")]
    NoFetcher,
    /// No key of the set is for the algorithm.
    #[error("is {algorithm}, and jwks has no key for it; leave it out, or add such a key")]
    NoKeyForAlgorithm {
        /// The algorithm.
        algorithm: SigningAlgorithm,
    },
    /// The client authenticates with a key, but the form has neither `jwks` nor `jwks_uri`.
    #[error("is missing; private_key_jwt needs a JWK Set here, or its https address in jwks_uri")]
    NoKeys,
    /// The bytes are not a PNG, JPEG, GIF or WebP image.
    #[error("is not a PNG, JPEG, GIF or WebP image")]
    NotAnImage,
    /// The text is not an absolute `https` or `http` URL in its plain form.
    #[error("is not a plain https or http address")]
    NotAWebAddress,
    /// The text is not an `https` URL in lower case and ASCII, without user name and fragment.
    #[error("is not a plain https address; one such as https://app.example/jwks.json is accepted")]
    NotAnHttpsAddress,
    /// The server does not offer this value.
    #[error("has a value that is not offered")]
    NotOffered,
    /// The application is public, and the server accepts no public ones: see
    /// [`Config::public_clients`](crate::Config::public_clients).
    #[error("is public, and this server accepts only confidential clients: Config::public_clients is off")]
    PublicClientsOff,
    /// Authorization requests cannot be pushed on this server: see
    /// [`Config::pushed_requests`](crate::Config::pushed_requests).
    #[error("is on, and the server setting pushed_requests is off; leave it off")]
    PushedRequestsOff,
    /// A grant type is off on this server.
    #[error("has {grant_type}, and the server setting {setting} is off")]
    #[non_exhaustive]
    GrantTypeOff {
        /// The grant type.
        grant_type: GrantType,
        /// The setting that switches it on, such as `devices.on` for [`Config::devices.on`](crate::Config::devices).
        setting: &'static str,
    },
    /// A redirect URI cannot be registered.
    #[error("value {number}: {error}")]
    RedirectUri {
        /// Which one, counted from 1.
        number: usize,
        /// Why it cannot be registered.
        error: RedirectUriError,
    },
    /// The form has refresh without a grant type that issues refresh tokens, such as the authorization code.
    #[error("has refresh_token without {}", GrantTypes::that_refresh())]
    RefreshAlone,
    /// A value occurs twice.
    #[error("value {number} is a duplicate")]
    Repeated {
        /// Which one is the duplicate, counted from 1.
        number: usize,
    },
    /// The scopes cannot be granted.
    #[error("{0}")]
    Scope(ScopeError),
    /// The form has `private_key_jwt` together with another method.
    #[error("has private_key_jwt together with a secret; use only one of the two")]
    SecretBesideKeys,
    /// The id has the form of those that the server makes: 22 letters and digits.
    #[error("has 22 letters and digits, like ids that the server makes; use a name such as \"wiki\"")]
    ServerMadeId,
    /// The text has a character that could mislead its readers.
    #[error("{0}")]
    Text(TextError),
    /// The server does not accept the algorithm.
    #[error("is {algorithm}; {} are accepted", listed(.accepted))]
    SigningAlgorithm {
        /// The algorithm.
        algorithm: SigningAlgorithm,
        /// The algorithms that are accepted.
        accepted: Vec<SigningAlgorithm>,
    },
    /// The text is too long.
    #[error("has more than {limit} characters")]
    TooManyCharacters {
        /// The limit.
        limit: usize,
    },
    /// The logo is too large.
    #[error("has more than {limit} bytes")]
    TooManyBytes {
        /// The limit.
        limit: usize,
    },
    /// There are too many values.
    #[error("has more than {limit} values")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
    /// The form has both `jwks` and `jwks_uri` [RFC 7591 section 2].
    #[error("is given together with jwks; use only one of the two")]
    TwoKeySets,
    /// The address contains a user name or password, which hides where it leads.
    #[error("contains a user name")]
    UserInfo,
}

fn names(methods: AuthenticationMethods) -> String {
    methods.iter().map(AuthenticationMethod::as_str).collect::<Vec<_>>().join(", ")
}

fn listed(algorithms: &[SigningAlgorithm]) -> String {
    algorithms.iter().map(|algorithm| algorithm.as_str()).collect::<Vec<_>>().join(", ")
}
