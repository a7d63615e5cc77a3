//! What a client authenticates with: its secrets, and its public keys, by value or by URL, of which a server takes
//! some.

use std::fmt;

use crate::base::debug_as_text;
use crate::jose::{JwkSet, JwkSetBounds, JwkSetError, SigningAlgorithm};
use crate::model::redirect_uri::https_address;
use crate::secret::{CLIENT_SECRET_CHARACTERS, Digest};

/// The public keys of a client, by value or by URL [RFC 7591 section 2]. The client's assertions are verified with
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientKeys {
    /// `jwks`: the keys themselves.
    Set(JwkSet),
    /// `jwks_uri`: an https URL. The server fetches it with the [`Fetcher`](crate::fetch::Fetcher) when the client
    /// authenticates.
    Url(Box<str>),
}

impl ClientKeys {
    /// A key set by value, for records of tests. Its key verifies nothing.
    #[cfg(test)]
    pub(crate) fn of_records() -> Option<Self> {
        JwkSet::from_record(SAMPLE).map(Self::Set)
    }

    /// The keys at that URL, if it is an https URL in lower case and ASCII, without user name and fragment.
    pub(crate) fn at(address: &str) -> Option<Self> {
        https_address(address, ADDRESS).map(Self::Url)
    }

    /// Whether both have a known key in common, or are at the same URL.
    pub(crate) fn overlap(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Set(one), Self::Set(other)) => {
                one.keys().iter().any(|one| other.keys().iter().any(|other| one.thumbprint() == other.thumbprint()))
            }
            (Self::Url(one), Self::Url(other)) => one == other,
            (Self::Set(_), Self::Url(_)) | (Self::Url(_), Self::Set(_)) => false,
        }
    }

    /// Whether one of the keys may verify a signature of that algorithm, as far as the keys are known.
    pub(crate) fn may_fit(&self, algorithm: SigningAlgorithm) -> bool {
        match self {
            Self::Set(set) => set.keys().iter().any(|key| key.fits(algorithm)),
            Self::Url(_) => true,
        }
    }
}

#[cfg(test)]
const SAMPLE: &str =
    r#"{"keys":[{"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIuFKbuGiU","kid":"one"}]}"#;

/// The maximum length of a `jwks_uri` in bytes: that of the other links in a registration.
const ADDRESS: usize = 1024;

/// Which keys a client may register, according to the settings and the parts of the server.
#[derive(Clone, Debug)]
pub(crate) struct KeyRules {
    /// The methods of confidential clients that the server offers.
    pub(crate) methods: AuthenticationMethods,
    /// The algorithms that assertions may have.
    pub(crate) algorithms: Vec<SigningAlgorithm>,
    /// The maximum size of a key set by value.
    pub(crate) key_set: JwkSetBounds,
    /// Whether there is a fetcher for key sets at an address.
    pub(crate) has_fetcher: bool,
    /// Whether clients may push their requests, so that a client may require it of itself.
    pub(crate) pushed_requests: bool,
    /// Whether the server reads DPoP proofs, so that a client may require bound tokens.
    pub(crate) dpop_bound_tokens: bool,
}

/// Why the server does not accept the keys of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    /// The key set is too large.
    KeySet(JwkSetError),
    /// No key is for an algorithm that the server accepts.
    NoAcceptedKey,
    /// The keys are at a URL, and the server has no fetcher.
    NoFetcher,
    /// The registered algorithm is not accepted.
    Algorithm(SigningAlgorithm),
}

impl KeyRules {
    pub(crate) fn offers_keys(&self) -> bool {
        self.methods.contains(AuthenticationMethod::PrivateKeyJwt)
    }

    pub(crate) fn accepts(&self, algorithm: SigningAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    /// Checks valid keys against the settings.
    pub(crate) fn judge(&self, keys: Option<&ClientKeys>, algorithm: Option<SigningAlgorithm>) -> Result<(), KeyFault> {
        let JwkSetBounds { bytes, keys: max } = self.key_set;
        match keys {
            Some(ClientKeys::Set(set)) if set.as_str().len() > bytes => {
                return Err(KeyFault::KeySet(JwkSetError::TooLarge(bytes)));
            }
            Some(ClientKeys::Set(set)) if set.keys().len() > max => {
                return Err(KeyFault::KeySet(JwkSetError::TooManyKeys(max)));
            }
            Some(keys @ ClientKeys::Set(_)) if !self.algorithms.iter().any(|accepted| keys.may_fit(*accepted)) => {
                return Err(KeyFault::NoAcceptedKey);
            }
            Some(ClientKeys::Url(_)) if !self.has_fetcher => return Err(KeyFault::NoFetcher),
            Some(ClientKeys::Set(_) | ClientKeys::Url(_)) | None => {}
        }
        match algorithm.filter(|algorithm| !self.accepts(*algorithm)) {
            Some(algorithm) => Err(KeyFault::Algorithm(algorithm)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
impl KeyRules {
    /// Everything is offered but RS256.
    pub(crate) fn of_tests() -> Self {
        let algorithms = SigningAlgorithm::ALL.iter().copied().filter(|own| *own != SigningAlgorithm::Rs256).collect();
        Self {
            methods: AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt),
            algorithms,
            key_set: JwkSetBounds { bytes: 65_536, keys: 32 },
            has_fetcher: true,
            pushed_requests: true,
            dpop_bound_tokens: true,
        }
    }
}

/// At most two valid secrets, so that one can be replaced without downtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientSecrets {
    pub(crate) current: Option<Digest>,
    pub(crate) previous: Option<Digest>,
    pub(crate) current_is_of_previous_owner: bool,
    pub(crate) previous_is_of_previous_owner: bool,
}

impl ClientSecrets {
    pub(crate) const fn rotated(self, newest: Digest) -> Self {
        Self {
            current: Some(newest),
            previous: self.current,
            current_is_of_previous_owner: false,
            previous_is_of_previous_owner: self.current_is_of_previous_owner,
        }
    }

    pub(crate) const fn without_previous(self) -> Self {
        Self { previous: None, previous_is_of_previous_owner: false, ..self }
    }

    /// The same secrets under another owner of the application.
    pub(crate) const fn under_another_owner(self) -> Self {
        Self {
            current_is_of_previous_owner: self.current.is_some(),
            previous_is_of_previous_owner: self.previous.is_some(),
            ..self
        }
    }

    /// Compares with both secrets, even if they are missing, so that the time reveals nothing.
    pub(crate) fn prove(&self, presented: &Digest) -> bool {
        let missing = Digest::from_bytes([0; 32]);
        let current = self.current.as_ref().unwrap_or(&missing) == presented && self.current.is_some();
        let previous = self.previous.as_ref().unwrap_or(&missing) == presented && self.previous.is_some();
        current | previous
    }
}

/// Checks the characters of a secret that your service chose [RFC 6749 appendix A.2].
pub(super) fn check_secret(text: &[u8]) -> Result<(), ClientSecretError> {
    if let Some(position) = text.iter().position(|byte| !(0x20..=0x7e).contains(byte)) {
        return Err(ClientSecretError::Character { position });
    }
    if CLIENT_SECRET_CHARACTERS.contains(&text.len()) {
        Ok(())
    } else {
        Err(ClientSecretError::Length { characters: text.len() })
    }
}

/// A secret that a client cannot have. The text never shows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ClientSecretError {
    /// A public client has no secret [RFC 6749 section 2.1].
    #[error("a public client has no secret; set ClientType::Confidential, or leave the secret out")]
    PublicClient,
    /// A client that authenticates with its key has no secret [RFC 7523 section 2.2].
    #[error("a client with keys has no secret; leave out the secret or the keys")]
    HasKeys,
    /// The secret is shorter than 32 characters, or longer than 255.
    #[error("the client secret has {characters} characters; 32 to 255 random ones are accepted")]
    Length {
        /// The number of its characters.
        characters: usize,
    },
    /// The secret has a character outside 20 to 7E hex [RFC 6749 appendix A.2].
    #[error("byte {} of the client secret is neither visible ASCII nor a space", .position + 1)]
    Character {
        /// The number of bytes before it.
        position: usize,
    },
}

debug_as_text!(ClientSecretError);

/// A value of `token_endpoint_auth_method` [RFC 7591 section 2].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AuthenticationMethod {
    /// `client_secret_basic`: HTTP Basic [RFC 6749 section 2.3.1].
    ClientSecretBasic,
    /// `client_secret_post`: the secret as a parameter of the form [RFC 6749 section 2.3.1].
    ClientSecretPost,
    /// `private_key_jwt`: an assertion that the client signed with its key [RFC 7523 section 2.2].
    PrivateKeyJwt,
    /// `none`: a public client sends its id and does not authenticate [RFC 6749 section 2.1].
    None,
}

impl AuthenticationMethod {
    /// All of them, in the order of the enum.
    pub(crate) const ALL: &'static [Self] =
        &[Self::ClientSecretBasic, Self::ClientSecretPost, Self::PrivateKeyJwt, Self::None];

    /// Returns the registered name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::None => "none",
        }
    }

    /// Returns the method with that name; names are compared byte for byte.
    #[must_use]
    pub fn parse(name: impl AsRef<[u8]>) -> Option<Self> {
        let name = name.as_ref();
        Self::ALL.iter().copied().find(|method| method.as_str().as_bytes() == name)
    }

    #[expect(clippy::as_conversions, reason = "the place of a variant, which is less than 16")]
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for AuthenticationMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The methods that a client may authenticate with; [`SECRET`](Self::SECRET) by default.
///
/// # Examples
///
/// ```
/// use grantor::client::{AuthenticationMethod, AuthenticationMethods};
///
/// let either = AuthenticationMethods::SECRET;
/// let basic = either.without(AuthenticationMethod::ClientSecretPost);
/// assert_eq!(basic, AuthenticationMethods::only(AuthenticationMethod::ClientSecretBasic));
/// assert_eq!(basic.iter().map(AuthenticationMethod::as_str).collect::<Vec<_>>(), ["client_secret_basic"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AuthenticationMethods(u16);

impl AuthenticationMethods {
    /// The client secret, either as `client_secret_basic` or as `client_secret_post`.
    pub const SECRET: Self =
        Self::only(AuthenticationMethod::ClientSecretBasic).with(AuthenticationMethod::ClientSecretPost);
    /// A signed assertion: `private_key_jwt`.
    pub const KEY: Self = Self::only(AuthenticationMethod::PrivateKeyJwt);
    /// The method of every public client: `none`.
    pub const PUBLIC: Self = Self::only(AuthenticationMethod::None);

    /// Returns the set of that method alone.
    #[must_use]
    pub const fn only(method: AuthenticationMethod) -> Self {
        Self(method.bit())
    }

    /// Returns whether the set has that method.
    #[must_use]
    pub const fn contains(self, method: AuthenticationMethod) -> bool {
        self.0 & method.bit() != 0
    }

    /// Returns the set with that method.
    #[must_use]
    pub const fn with(self, method: AuthenticationMethod) -> Self {
        Self(self.0 | method.bit())
    }

    /// Returns the set without that method.
    #[must_use]
    pub const fn without(self, method: AuthenticationMethod) -> Self {
        Self(self.0 & !method.bit())
    }

    /// Returns whether the set has no method.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether one of the methods is in the other set too.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether one of the methods needs a secret.
    pub(crate) const fn use_secret(self) -> bool {
        self.meets(Self::SECRET)
    }

    /// Returns the methods, in the order of [`AuthenticationMethod`].
    pub fn iter(self) -> impl Iterator<Item = AuthenticationMethod> + Clone {
        AuthenticationMethod::ALL.iter().copied().filter(move |method| self.contains(*method))
    }
}

impl Default for AuthenticationMethods {
    fn default() -> Self {
        Self::SECRET
    }
}

impl FromIterator<AuthenticationMethod> for AuthenticationMethods {
    fn from_iter<I: IntoIterator<Item = AuthenticationMethod>>(methods: I) -> Self {
        methods.into_iter().fold(Self(0), Self::with)
    }
}

impl fmt::Debug for AuthenticationMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rfc_7591_and_come_back() {
        for (method, name) in [
            (AuthenticationMethod::ClientSecretBasic, "client_secret_basic"),
            (AuthenticationMethod::ClientSecretPost, "client_secret_post"),
            (AuthenticationMethod::PrivateKeyJwt, "private_key_jwt"),
            (AuthenticationMethod::None, "none"),
        ] {
            assert_eq!((method.as_str(), method.to_string().as_str()), (name, name));
            assert_eq!(AuthenticationMethod::parse(name), Some(method));
        }
        for name in ["", "None", "client_secret_basic ", "client_secret_jwt"] {
            assert_eq!(AuthenticationMethod::parse(name), None, "{name}");
        }
        assert!(AuthenticationMethod::ALL.is_sorted());
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        for method in AuthenticationMethod::ALL.iter().copied() {
            let only = AuthenticationMethods::only(method);
            assert!(only.contains(method) && !only.is_empty());
            assert_eq!(only.iter().collect::<Vec<_>>(), [method]);
            assert_eq!(only.with(method), only);
            assert!(only.without(method).is_empty());
        }
        let backwards: AuthenticationMethods = AuthenticationMethod::ALL.iter().rev().copied().collect();
        assert_eq!(backwards.iter().collect::<Vec<_>>(), AuthenticationMethod::ALL);
        let secret = backwards.without(AuthenticationMethod::None).without(AuthenticationMethod::PrivateKeyJwt);
        assert_eq!(secret, AuthenticationMethods::default());
        assert_eq!(format!("{:?}", AuthenticationMethods::PUBLIC), "{None}");
    }
}
