//! The settings of client authentication [RFC 6749 section 2.3].

use std::time::Duration;

use crate::jose::JwkSetBounds;
use crate::model::client::{AuthenticationMethod, AuthenticationMethods};

/// The settings of client authentication [RFC 6749 section 2.3].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientAuthenticationSettings {
    /// How Basic credentials are read [RFC 6749 section 2.3.1]: form-decoded or as they are; in the strict profile,
    /// form-decoded only.
    pub basic: BasicDecoding,
    /// The methods with which confidential clients may authenticate [RFC 7591 section 2]: `client_secret_basic` and
    /// `client_secret_post`; in the FAPI profile only `private_key_jwt`.
    /// [`public_clients`](crate::Config::public_clients) sets whether `none` is accepted.
    ///
    /// [`AuthenticationMethod::PrivateKeyJwt`] needs the feature `jose`.
    pub methods: AuthenticationMethods,
    /// What `aud` of a client's assertion must be [RFC 10070]: the issuer, as a JSON string or in an array of one; in
    /// the FAPI profile only as a JSON string.
    pub assertion_audience: AssertionAudience,
    /// Whether clients may sign assertions with RS256; off, in the MCP profile on, because some large clients support
    /// no other algorithm.
    pub rs256: bool,
    /// How far the clocks of clients may be ahead of or behind this server's; 30 s. 0 to 60 s are accepted, in the FAPI
    /// profile 10 to 60 s.
    pub clock_skew: Duration,
}

impl Default for ClientAuthenticationSettings {
    fn default() -> Self {
        Self {
            basic: BasicDecoding::Either,
            methods: AuthenticationMethods::SECRET,
            assertion_audience: AssertionAudience::Issuer,
            rs256: false,
            clock_skew: Duration::from_secs(30),
        }
    }
}

/// How Basic credentials are read [RFC 6749 section 2.3.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BasicDecoding {
    /// Form-decoded; if that does not authenticate the client, as they are.
    Either,
    /// Form-decoded only.
    FormDecoded,
}

/// What `aud` of a client's assertion must name [RFC 10070, which updates RFC 7523 section 3].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AssertionAudience {
    /// The issuer, as a JSON string and nothing else [FAPI 2.0 Security Profile section 5.3.2.1].
    IssuerString,
    /// The issuer, as a JSON string or as the only member of an array.
    Issuer,
    /// The same as [`Issuer`](Self::Issuer), or the URL of the token endpoint, or, in a pushed request, the URL of that
    /// endpoint. It is for old clients.
    ///
    /// # Security
    ///
    /// An assertion that was made for another server may be accepted here [CVE-2025-27370].
    Legacy,
}

impl ClientAuthenticationSettings {
    /// Returns the authentication method of a client that registers without naming one.
    ///
    /// > If unspecified or omitted, the default is "client_secret_basic"
    ///
    /// [RFC 7591 section 2] If that method is not offered, it is the first of those that are.
    pub(crate) fn omitted_method(&self) -> AuthenticationMethod {
        let methods = self.methods;
        let preferred = [
            AuthenticationMethod::ClientSecretBasic,
            AuthenticationMethod::ClientSecretPost,
            AuthenticationMethod::PrivateKeyJwt,
        ];
        preferred.into_iter().find(|method| methods.contains(*method)).unwrap_or(AuthenticationMethod::None)
    }

    /// How far `exp` of an assertion may be in the future, and `iat` in the past: 600 s where only the issuer as a JSON
    /// string is accepted, as in the FAPI profile, and else 3600 s.
    pub(crate) fn assertion_lifetime(&self) -> Duration {
        match self.assertion_audience {
            AssertionAudience::IssuerString => Duration::from_secs(600),
            AssertionAudience::Issuer | AssertionAudience::Legacy => Duration::from_secs(3600),
        }
    }

    /// Returns whether clients may authenticate with their keys.
    pub(crate) fn accepts_assertions(&self) -> bool {
        self.methods.contains(AuthenticationMethod::PrivateKeyJwt)
    }
}

/// How large a key set may be: 65 536 bytes and 32 keys. A client needs two keys while it replaces one; large providers
/// publish about ten.
pub(crate) const KEY_SET: JwkSetBounds = JwkSetBounds { bytes: 65_536, keys: 32 };
/// The maximum size of an assertion in bytes.
pub(crate) const ASSERTION_BYTES: usize = 8192;
