//! The keys that sign access tokens [RFC 9068], and who holds them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::base::clock::Timestamp;
use crate::base::debug_as_text;
use crate::base::json::Json;
pub use crate::error::failure::SignerError;
use crate::jose::access_jwt::ALGORITHMS;
use crate::jose::{DEPTH, IS_AVAILABLE, Jwk, JwkError, KeyPair, SigningAlgorithm};

/// Signs with a private key that the server does not have, such as one of a hardware security module or a key
/// management service.
///
/// The server calls it for each JWT access token, before anything is written. If it fails, the request is answered with
/// 503, and the client may send it again. The same happens if it takes more than 10 s. The library has no timer: limit
/// the time of the call yourself.
#[async_trait]
pub trait Signer: fmt::Debug + Send + Sync + 'static {
    /// Signs a message and returns the signature in the form of a JWS [RFC 7518 section 3, RFC 8037 section 3.1].
    ///
    /// The message is not hashed. For ES256 and RS256, a service may want its SHA-256 instead. The signature of ES256
    /// is `r` and `s` in 64 bytes, and not the DER form that many services return. RS256 is RSASSA-PKCS1-v1_5. EdDSA is
    /// Ed25519, which signs the message itself.
    ///
    /// A signature that the public key does not verify counts as an error. [`SigningKey::check`] finds that when the
    /// service starts.
    ///
    /// # Errors
    ///
    /// [`SignerError`] if there is no signature.
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignerError>;
}

/// A key that signs access tokens in the form of JWTs [RFC 9068].
///
/// [`Builder::signing_keys`](crate::server::Builder::signing_keys) takes up to four. The key that signs is the one with
/// the latest [`signs_from`](Self::signs_from) that is not in the future; of several with the same time, the last one.
/// Each key is published at `/oauth2/jwks` until its [`published_until`](Self::published_until).
///
/// # Rotation
///
/// Add the next key to all servers. Let it sign from a time at least 600 s after the last server has it: APIs keep the
/// key set for 300 s, and for 300 s longer if they cannot fetch it. All servers switch at that time, without a restart.
/// Give the old key a [`published_until`](Self::published_until) that is later than the switch by the lifetime of its
/// tokens plus 60 s, and remove it after that. A key that has leaked is dropped at once: see
/// [`AuthorizationServer::drop_key`](crate::AuthorizationServer::drop_key).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use grantor::Timestamp;
/// use grantor::hooks::{SigningKey, SigningKeyError};
/// use grantor::jose::SigningAlgorithm;
///
/// /// `old` and `new` are private keys. The guide to operating has the commands that make them.
/// fn keys(old: &[u8], new: &[u8], switch: Timestamp) -> Result<Vec<SigningKey>, SigningKeyError> {
///     let old = SigningKey::from_pkcs8(SigningAlgorithm::Es256, old)?;
///     let new = SigningKey::from_pkcs8(SigningAlgorithm::Es256, new)?;
///     // The lifetime of a token, and 60 s.
///     let end = switch.plus(Duration::from_secs(300 + 60));
///     Ok(vec![old.published_until(end), new.signs_from(switch)])
/// }
/// ```
#[derive(Clone)]
pub struct SigningKey {
    public: Arc<Jwk>,
    private: Private,
    signs_from: Timestamp,
    published_until: Option<Timestamp>,
}

#[derive(Clone)]
enum Private {
    Here(Arc<KeyPair>),
    Elsewhere(Arc<dyn Signer>),
}

impl SigningKey {
    /// Reads a private key in the form of PKCS#8, as DER and not as PEM [RFC 5958], for ES256, RS256 or EdDSA. An RSA
    /// key has 2048, 3072 or 4096 bits, and the exponent 65537.
    ///
    /// # Errors
    ///
    /// [`SigningKeyError`] if it is not such a key.
    pub fn from_pkcs8(algorithm: SigningAlgorithm, pkcs8: &[u8]) -> Result<Self, SigningKeyError> {
        check_algorithm(algorithm)?;
        let pair = KeyPair::from_pkcs8(algorithm, pkcs8).ok_or(SigningKeyError::PrivateKey(algorithm))?;
        let public = pair.public().map_err(SigningKeyError::PublicKey)?;
        Self::new(public, Private::Here(Arc::new(pair)))
    }

    /// Takes a key whose private part is elsewhere. `public_key` is the public part as a JWK with its `alg`: `ES256`,
    /// `RS256` or `EdDSA` [RFC 7517 section 4]. Its `kid` is ignored.
    ///
    /// # Errors
    ///
    /// [`SigningKeyError`] if it is not such a key.
    pub fn with_signer(public_key: &str, signer: impl Signer) -> Result<Self, SigningKeyError> {
        if !IS_AVAILABLE {
            return Err(SigningKeyError::NotAvailable);
        }
        let members = Json::read_object(public_key.as_bytes(), DEPTH).ok_or(SigningKeyError::NotJson)?;
        let public = Jwk::read_own(&members).map_err(SigningKeyError::PublicKey)?;
        check_algorithm(public.algorithm())?;
        Self::new(public, Private::Elsewhere(Arc::new(signer)))
    }

    fn new(public: Jwk, private: Private) -> Result<Self, SigningKeyError> {
        if !public.is_cheap() {
            return Err(SigningKeyError::TooLarge);
        }
        let signs_from = Timestamp::from_seconds(0);
        Ok(Self { public: Arc::new(public), private, signs_from, published_until: None })
    }

    /// Sets when the key begins to sign. By default it may sign at once.
    #[must_use]
    pub const fn signs_from(mut self, from: Timestamp) -> Self {
        self.signs_from = from;
        self
    }

    /// Sets until when the key is published. Its tokens are refused from then on. It stops signing one lifetime of a
    /// token and 60 s earlier, so that its tokens have expired by then. By default it is published as long as the
    /// server has it.
    ///
    /// Set it only for a key with a successor: without one, requests for JWTs are answered with 503 as soon as it stops
    /// signing.
    #[must_use]
    pub const fn published_until(mut self, until: Timestamp) -> Self {
        self.published_until = Some(until);
        self
    }

    /// Signs a text and verifies the signature. Call it when the service starts, for a key with a [`Signer`]: a wrong
    /// public key would otherwise be noticed by the first client.
    ///
    /// # Errors
    ///
    /// [`SignerError`] if the signer failed, or if its signature is wrong.
    pub async fn check(&self) -> Result<(), SignerError> {
        self.sign(b"check").await.map(drop)
    }

    /// Returns the `kid` of the key: the SHA-256 thumbprint of its public part [RFC 7638].
    #[must_use]
    pub fn key_id(&self) -> &str {
        self.public.key_id().unwrap_or_default()
    }

    pub(crate) fn public(&self) -> &Jwk {
        &self.public
    }

    pub(crate) const fn may_sign_from(&self) -> Timestamp {
        self.signs_from
    }

    pub(crate) const fn last_published(&self) -> Option<Timestamp> {
        self.published_until
    }

    /// Signs a message.
    ///
    /// # Errors
    ///
    /// [`SignerError`] if the signer failed, or if its signature is wrong.
    pub(crate) async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignerError> {
        match &self.private {
            Private::Here(pair) => pair.sign(message).ok_or_else(|| SignerError::new("no random numbers")),
            Private::Elsewhere(signer) => {
                let signature = signer.sign(message).await?;
                if self.public.has_signed(message, &signature) {
                    return Ok(signature);
                }
                Err(SignerError::new(format!("the public key {} does not verify the signature", self.key_id())))
            }
        }
    }
}

/// Without the private part.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("key_id", &self.key_id())
            .field("algorithm", &self.public.algorithm())
            .field("signs_from", &self.signs_from)
            .field("published_until", &self.published_until)
            .finish_non_exhaustive()
    }
}

fn check_algorithm(algorithm: SigningAlgorithm) -> Result<(), SigningKeyError> {
    if !IS_AVAILABLE {
        return Err(SigningKeyError::NotAvailable);
    }
    if ALGORITHMS.contains(&algorithm) { Ok(()) } else { Err(SigningKeyError::Algorithm(algorithm)) }
}

/// Why a signing key is refused. It contains no part of a private key.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SigningKeyError {
    /// Access tokens are not signed with that algorithm.
    #[error("the signing key is for {0}; ES256, RS256 and EdDSA are accepted")]
    Algorithm(SigningAlgorithm),
    /// The private key cannot be read.
    #[error(
        "the signing key is not a private key for {0} in the form of PKCS#8, as DER and not as PEM; RSA keys of 2048, \
         3072 and 4096 bits and the curve P-256 are accepted"
    )]
    PrivateKey(SigningAlgorithm),
    /// The public key is not one JSON object without repeated members.
    #[error("the public part of the signing key is not a JWK: one JSON object without repeated members")]
    NotJson,
    /// The public key is refused.
    #[error("the public part of the signing key is refused: {0}")]
    PublicKey(#[source] JwkError),
    /// It is an RSA key of more than 4096 bits, or with an exponent above 65537. Its signatures are slow to verify, and
    /// anyone can make the server verify some.
    #[error("the signing key has more than 4096 bits, or an exponent above 65537")]
    TooLarge,
    /// The feature `jose` is off.
    #[error("signing keys need the feature jose")]
    NotAvailable,
}

debug_as_text!(SigningKeyError);
