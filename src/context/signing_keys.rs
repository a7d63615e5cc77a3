//! The keys that sign access tokens: which one signs now, and which are published.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::base::base64url;
use crate::base::clock::Timestamp;
use crate::config::rule::ConfigError;
use crate::config::{Config, Profile};
use crate::error::failure::SignerError;
use crate::hooks::SigningKey;
use crate::jose::access_jwt::{MAX_BYTES, TYPE};
use crate::jose::{Jwk, SigningAlgorithm};

/// Keys that a server may have: the one that signs, its predecessor and its successor in a rotation, and a spare one.
const MAX_KEYS: usize = 4;

/// How long a key stays published after the last of its tokens has expired: the clocks of APIs may be behind.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// The keys of a server.
#[derive(Debug)]
pub(crate) struct SigningKeys {
    keys: Box<[ServerKey]>,
    /// The lifetime of what they sign.
    lifetime: Duration,
}

#[derive(Debug)]
struct ServerKey {
    key: SigningKey,
    is_dropped: AtomicBool,
}

impl SigningKeys {
    /// Checks the keys against each other.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if there are more than four, if two have the same `kid`, if the profile does not accept the
    /// algorithm, if a key is needed and none may sign at `now`, or if a key is not published until the tokens that it
    /// signs have expired.
    pub(crate) fn new(keys: Vec<SigningKey>, config: &Config, now: Timestamp) -> Result<Self, ConfigError> {
        let lifetime = config.tokens.jwt_lifetime;
        let refuse = |value: String, remedy: &'static str| Err(ConfigError::new("signing_keys", value, remedy));
        if keys.len() > MAX_KEYS {
            return refuse(format!("a list of {} keys", keys.len()), "at most 4 keys are accepted");
        }
        let mut names = BTreeSet::new();
        if let Some(repeated) = keys.iter().find(|key| !names.insert(key.key_id())) {
            return refuse(format!("a list with the key {} twice", repeated.key_id()), "each key may occur once");
        }
        for key in &keys {
            if config.profile() == Profile::Fapi && key.public().algorithm() == SigningAlgorithm::Rs256 {
                let remedy = "keys for ES256 and EdDSA are accepted in the FAPI profile (FAPI 2.0 Security Profile \
                              section 5.4.1)";
                return refuse(format!("a list with the key {} for RS256", key.key_id()), remedy);
            }
            let successor = keys
                .iter()
                .filter(|other| other.may_sign_from() > key.may_sign_from())
                .map(SigningKey::may_sign_from)
                .min();
            let (Some(end), Some(successor)) = (key.last_published(), successor) else { continue };
            if end < successor.plus(lifetime).plus(CLOCK_TOLERANCE) {
                let value = format!("a list with the key {}, published until {}", key.key_id(), end.seconds());
                let remedy = "published_until must be later: when the next key begins to sign, plus \
                              tokens.jwt_lifetime and 60 s (RFC 7517 section 5)";
                return refuse(value, remedy);
            }
        }
        let keys = keys.into_iter().map(|key| ServerKey { key, is_dropped: AtomicBool::new(false) }).collect();
        let own = Self { keys, lifetime };
        if config.issues_jwts() && own.signing(now).is_none() {
            let remedy = "a protected resource with AccessTokenFormat::Jwt needs a key that signs now: see \
                          Builder::signing_keys (RFC 9068 section 2.1)";
            return refuse(format!("a list of {} keys, none of which signs now", own.keys.len()), remedy);
        }
        Ok(own)
    }

    /// Returns whether a key may sign now.
    pub(crate) fn may_sign(&self, now: Timestamp) -> bool {
        self.signing(now).is_some()
    }

    /// Returns the public keys that are published now.
    pub(crate) fn published(&self, now: Timestamp) -> impl Iterator<Item = &Jwk> {
        let is_published =
            move |own: &&ServerKey| !own.is_dropped() && own.key.last_published().is_none_or(|end| now < end);
        self.keys.iter().filter(is_published).map(|own| own.key.public())
    }

    /// Returns all public keys, even those that were dropped or are no longer published.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Jwk> {
        self.keys.iter().map(|own| own.key.public())
    }

    /// Stops using a key. Returns whether there was one with that `kid`.
    pub(crate) fn drop_key(&self, key_id: &str) -> bool {
        let own = self.keys.iter().find(|own| own.key.key_id() == key_id);
        own.is_some_and(|own| !own.is_dropped.swap(true, Ordering::Relaxed))
    }

    /// Signs these claims, JSON, as an access token. Returns `None` if the token would have more than 4096 bytes.
    ///
    /// # Errors
    ///
    /// [`SignerError`] if no key signs now, or if the signer failed.
    pub(crate) async fn sign(&self, claims: &[u8], now: Timestamp) -> Result<Option<String>, SignerError> {
        let own = self.signing(now).ok_or_else(|| SignerError::new("no signing key may sign now"))?;
        let key = &own.key;
        let header = json!({ "alg": key.public().algorithm().as_str(), "kid": key.key_id(), "typ": TYPE });
        let mut token = base64url::encode(header.to_string().as_bytes());
        token.push('.');
        token.push_str(&base64url::encode(claims));
        // Three bytes are four characters.
        let signature_characters = (key.public().signature_bytes() * 4).div_ceil(3);
        if token.len() + 1 + signature_characters > MAX_BYTES {
            return Ok(None);
        }
        let signature = key.sign(token.as_bytes()).await?;
        if own.is_dropped() {
            return Err(SignerError::new("the key was dropped"));
        }
        token.push('.');
        token.push_str(&base64url::encode(&signature));
        Ok(Some(token))
    }

    /// Returns the `kid` of the key that signs now.
    pub(crate) fn key_id(&self, now: Timestamp) -> Option<&str> {
        self.signing(now).map(|own| own.key.key_id())
    }

    /// Returns the key that signs: of those that may sign now, the one that began last. It must stay published for one
    /// lifetime of a token and 60 s more.
    fn signing(&self, now: Timestamp) -> Option<&ServerKey> {
        let needed = now.plus(self.lifetime).plus(CLOCK_TOLERANCE);
        let signs = |own: &&ServerKey| {
            let has_begun = own.key.may_sign_from() <= now;
            has_begun && !own.is_dropped() && own.key.last_published().is_none_or(|end| needed <= end)
        };
        self.keys.iter().filter(signs).max_by_key(|own| own.key.may_sign_from())
    }
}

impl ServerKey {
    fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed)
    }
}
