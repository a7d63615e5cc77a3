//! What a client authenticates with: its secrets, and its public keys, by value or by URL, of which a server takes some.

use crate::base::debug_as_text;
use crate::jose::{JwkSet, JwkSetBounds, JwkSetError, SigningAlgorithm};
use crate::model::client::authentication_method::{AuthenticationMethod, AuthenticationMethods};
use crate::model::redirect_uri::https_address;
use crate::secret::{CLIENT_SECRET_CHARACTERS, Digest};
use crate::wire::fetch::FetchError;

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

/// Why the key set at the `jwks_uri` of a client is not available. It is not in the response to the client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFetchError {
    /// The server has no [`Fetcher`](crate::fetch::Fetcher).
    #[error("there is no fetcher; Builder::fetcher sets one")]
    NoFetcher,
    /// The fetcher failed.
    #[error("the key set could not be fetched")]
    Fetch(#[from] FetchError),
    /// The status of the response is not 200.
    #[error("the response has the status {0} instead of 200")]
    Status(u16),
    /// The response is not a key set, or has more than 65 536 bytes or 32 keys.
    #[error("the response is not a key set")]
    Set(#[from] JwkSetError),
    /// The request that fetched it was dropped, and the pause after that has not ended.
    #[error("the last fetch was interrupted")]
    Interrupted,
    /// The [`Throttle`](crate::hooks::Throttle) refused the fetch.
    #[error("the throttle refused the fetch from that host")]
    Throttled,
    /// The fetcher panicked.
    #[error("the fetcher panicked")]
    Panicked,
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
