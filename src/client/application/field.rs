//! Which field of a registration is refused, and why.

use std::fmt;

use crate::client::redirect_uri::RedirectUriError;
use crate::scope::ScopeError;
use crate::text::TextError;

/// A field of a registration that is refused. Its text carries nothing that was submitted, except code points, hosts and
/// an unknown scope of fewer than 32 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldError {
    field: Field,
    problem: Problem,
}

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
    /// Where answers are sent [RFC 6749 section 3.1.2].
    RedirectUris,
    /// The scopes asked for [RFC 6749 section 3.3].
    Scopes,
    /// The resource scope asked for.
    ResourceScope,
    /// The scopes asked for without a user [RFC 6749 section 4.4].
    MachineScopes,
    /// The resources asked for without a user.
    MachineResources,
    /// Whether the client can keep a secret [RFC 6749 section 2.1].
    ClientType,
    /// Where the application runs [RFC 8252 section 8.4].
    ApplicationType,
    /// The grant types asked for [RFC 6749 section 1.3].
    GrantTypes,
    /// The methods of client authentication [RFC 7591 section 2].
    AuthenticationMethods,
    /// The reviewer's reason for a refusal.
    Reason,
    /// The id of a client that the embedder describes [RFC 6749 section 2.2].
    ClientId,
    /// The secret of a client that the embedder describes [RFC 6749 section 2.3.1].
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
            Self::MachineScopes => "machine_scopes",
            Self::MachineResources => "machine_resources",
            Self::ClientType => "client_type",
            Self::ApplicationType => "application_type",
            Self::GrantTypes => "grant_types",
            Self::AuthenticationMethods => "authentication_methods",
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
    /// The text has only blanks.
    #[error("has no visible character")]
    Blank,
    /// The image is empty or too large.
    #[error("has a side that is not of 1 to {limit} pixels")]
    Dimensions {
        /// How many pixels a side may have.
        limit: u32,
    },
    /// The id is an `https` address, as clients have whose description is a document.
    #[error("begins with https://, as the addresses of documents do; take a name such as \"wiki\"")]
    DocumentId,
    /// The value cannot change once the application is approved.
    #[error("cannot change once the application is approved")]
    Fixed,
    /// The host of the address has letters beyond ASCII, some of which look like others.
    #[error("has a host with letters beyond ASCII; {a_label:?} is accepted")]
    HostNotAscii {
        /// The host in ASCII [RFC 5890 section 2.3.2.1].
        a_label: Box<str>,
    },
    /// A token without a user is asked for by a client whose secret is no secret: a public client, or a native
    /// application [RFC 6749 section 4.4].
    #[error("has client_credentials, which is for confidential web applications")]
    MachineNotConfidential,
    /// There is no value, or an empty one.
    #[error("is missing")]
    Missing,
    /// The octets are no PNG, JPEG, GIF or WebP image.
    #[error("is no PNG, JPEG, GIF or WebP image")]
    NotAnImage,
    /// The text is no absolute `https` or `http` URL in its plain form.
    #[error("is no plain https or http address")]
    NotAWebAddress,
    /// The server does not offer this value.
    #[error("has a value that is not offered")]
    NotOffered,
    /// The application is public, and the server has no public ones: see
    /// [`Config::public_clients`](crate::Config::public_clients).
    #[error("is public, and the server setting public_clients is off; a confidential one is accepted")]
    PublicClientsOff,
    /// The grant type is off on this server: see [`Config::client_credentials`](crate::Config::client_credentials).
    #[error("has client_credentials, and the server setting of that name is off")]
    ClientCredentialsOff,
    /// A redirect URI cannot be registered.
    #[error("value {number}: {error}")]
    RedirectUri {
        /// Which one, counted from 1.
        number: usize,
        /// Why it cannot be registered.
        error: RedirectUriError,
    },
    /// Refresh is asked for without the authorization code that has to come first.
    #[error("has refresh without the authorization code")]
    RefreshAlone,
    /// A value stands there twice.
    #[error("value {number}: stands there before")]
    Repeated {
        /// Which one is the second, counted from 1.
        number: usize,
    },
    /// The scopes cannot be granted.
    #[error("{0}")]
    Scope(ScopeError),
    /// The id has the form of those that the server makes: 22 letters and digits.
    #[error("has 22 letters and digits, as the ids that the server makes; take a name such as \"wiki\"")]
    ServerMadeId,
    /// The text has a character that could mislead its readers.
    #[error("{0}")]
    Text(TextError),
    /// The text is too long.
    #[error("has more than {limit} characters")]
    TooManyCharacters {
        /// How many there may be.
        limit: usize,
    },
    /// The logo is too large.
    #[error("has more than {limit} octets")]
    TooManyOctets {
        /// How many there may be.
        limit: usize,
    },
    /// There are too many values.
    #[error("has more than {limit} values")]
    TooManyValues {
        /// How many there may be.
        limit: usize,
    },
    /// The address has a user name or password in it, which hides where it leads.
    #[error("has a user name in it")]
    UserInfo,
}
