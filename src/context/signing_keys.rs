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
/// For ID tokens, there are as many for each algorithm.
const MAX_KEYS: usize = 4;

/// How long a key stays published after the last of its tokens has expired: the clocks of APIs may be behind.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// The keys of a server.
#[derive(Debug)]
pub(crate) struct SigningKeys {
    keys: Box<[ServerKey]>,
    /// The lifetimes of what they sign.
    access_token_lifetime: Duration,
    id_token_lifetime: Duration,
    /// The algorithms of ID tokens for which there are keys. The first one is that of clients that registered none.
    id_tokens: Box<[SigningAlgorithm]>,
}

/// What is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signing {
    /// By any key [RFC 9068].
    AccessToken,
    /// By a key of that algorithm [OpenID Connect Core section 2].
    IdToken(SigningAlgorithm),
}

impl Signing {
    fn admits(self, key: &SigningKey) -> bool {
        match self {
            Self::AccessToken => true,
            Self::IdToken(algorithm) => key.public().algorithm() == algorithm,
        }
    }

    /// Returns the `typ` of the header, and the longest text in bytes.
    const fn form(self) -> (&'static str, usize) {
        match self {
            Self::AccessToken => (TYPE, MAX_BYTES),
            Self::IdToken(_) => ("JWT", usize::MAX),
        }
    }
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
    /// [`ConfigError`] if there are more than four, or with ID tokens more than four for an algorithm; if two have the
    /// same `kid`, if the profile does not accept the algorithm, if a key is needed and none may sign at `now`, or if a
    /// key is not published until the tokens that it signs have expired.
    pub(crate) fn new(keys: Vec<SigningKey>, config: &Config, now: Timestamp) -> Result<Self, ConfigError> {
        let refuse = |value: String, remedy: &'static str| Err(ConfigError::new("signing_keys", value, remedy));
        let algorithm_of = |key: &SigningKey| key.public().algorithm();
        let count = |algorithm| keys.iter().filter(|key| algorithm_of(key) == algorithm).count();
        let most = SigningAlgorithm::ALL.iter().map(|algorithm| count(*algorithm)).max().unwrap_or_default();
        if !config.has_identity() && keys.len() > MAX_KEYS {
            return refuse(format!("a list of {} keys", keys.len()), "at most 4 keys are accepted");
        }
        if most > MAX_KEYS {
            return refuse(format!("a list of {most} keys for one algorithm"), "at most 4 of them are accepted");
        }
        let mut names = BTreeSet::new();
        if let Some(repeated) = keys.iter().find(|key| !names.insert(key.key_id())) {
            return refuse(format!("a list with the key {} twice", repeated.key_id()), "each key may occur once");
        }
        let rs256 = keys.iter().find(|key| algorithm_of(key) == SigningAlgorithm::Rs256);
        if let Some(key) = rs256.filter(|_| config.profile() == Profile::Fapi) {
            let remedy = "keys for ES256 and EdDSA are accepted in the FAPI profile (FAPI 2.0 Security Profile section \
                          5.4.1)";
            return refuse(format!("a list with the key {} for RS256", key.key_id()), remedy);
        }
        let id_tokens = config.id_token_algorithms().iter().copied().filter(|algorithm| count(*algorithm) > 0);
        let own = Self {
            id_tokens: if config.has_identity() { id_tokens.collect() } else { Box::default() },
            keys: keys.into_iter().map(|key| ServerKey { key, is_dropped: AtomicBool::new(false) }).collect(),
            access_token_lifetime: config.tokens.jwt_lifetime,
            id_token_lifetime: config.identity.as_ref().map_or(Duration::ZERO, |identity| identity.id_token_lifetime),
        };
        let none = || format!("a list of {} keys, none of which signs now", own.keys.len());
        if config.issues_jwts() && own.signing(Signing::AccessToken, now).is_none() {
            let remedy = "a protected resource with AccessTokenFormat::Jwt needs a key that signs now: see \
                          Builder::signing_keys (RFC 9068 section 2.1)";
            return refuse(none(), remedy);
        }
        if let Some(identity) = &config.identity {
            if own.id_token_algorithm(None).is_none_or(|first| own.signing(Signing::IdToken(first), now).is_none()) {
                return refuse(none(), "identity needs a key that signs now: see Builder::signing_keys");
            }
            let needs_rs256 = !identity.without_rs256 && config.profile() != Profile::Fapi;
            if needs_rs256 && !own.id_tokens.contains(&SigningAlgorithm::Rs256) {
                let remedy = "identity needs one, unless identity.without_rs256 is set (OpenID Connect Core section \
                              15.1)";
                return refuse("a list without a key for RS256".to_owned(), remedy);
            }
        }
        own.check_ends(config)?;
        Ok(own)
    }

    /// Checks that each key is published until what it signed before its successor began has expired.
    fn check_ends(&self, config: &Config) -> Result<(), ConfigError> {
        let (of_access, of_id) = (config.issues_jwts() || !config.has_identity(), config.has_identity());
        for key in self.keys.iter().map(|own| &own.key) {
            let id_token = Signing::IdToken(key.public().algorithm());
            let signed = [(of_access, Signing::AccessToken), (of_id, id_token)];
            for what in signed.into_iter().filter_map(|(is_signed, what)| is_signed.then_some(what)) {
                let others = self.keys.iter().map(|own| &own.key).filter(|other| what.admits(other));
                let later = others.map(SigningKey::may_sign_from).filter(|from| *from > key.may_sign_from());
                let (Some(end), Some(successor)) = (key.last_published(), later.min()) else { continue };
                if end < successor.plus(self.lifetime(what)).plus(CLOCK_TOLERANCE) {
                    let value = format!("a list with the key {}, published until {}", key.key_id(), end.seconds());
                    let remedy = match what {
                        Signing::AccessToken => "tokens.jwt_lifetime",
                        Signing::IdToken(_) => "identity.id_token_lifetime",
                    };
                    let remedy = format!(
                        "published_until must be later: when the next key begins to sign, plus {remedy} and 60 s (RFC \
                         7517 section 5)"
                    );
                    return Err(ConfigError::new("signing_keys", value, remedy));
                }
            }
        }
        Ok(())
    }

    const fn lifetime(&self, what: Signing) -> Duration {
        match what {
            Signing::AccessToken => self.access_token_lifetime,
            Signing::IdToken(_) => self.id_token_lifetime,
        }
    }

    /// Returns the algorithm of the ID tokens of a client that registered this one, or none.
    pub(crate) fn id_token_algorithm(&self, registered: Option<SigningAlgorithm>) -> Option<SigningAlgorithm> {
        registered.or_else(|| self.id_tokens.first().copied())
    }

    /// Returns the algorithms that ID tokens are signed with now.
    pub(crate) fn id_token_algorithms(&self, now: Timestamp) -> impl Iterator<Item = SigningAlgorithm> {
        let all = self.id_tokens.iter().copied();
        all.filter(move |algorithm| self.signing(Signing::IdToken(*algorithm), now).is_some())
    }

    /// Returns whether a key may sign all that is signed by default.
    pub(crate) fn may_sign(&self, config: &Config, now: Timestamp) -> bool {
        let has = |what| self.signing(what, now).is_some();
        let signs_id_tokens = || self.id_token_algorithm(None).is_some_and(|first| has(Signing::IdToken(first)));
        (!config.issues_jwts() || has(Signing::AccessToken)) && (!config.has_identity() || signs_id_tokens())
    }

    /// Returns the public keys that are published now.
    pub(crate) fn published(&self, now: Timestamp) -> impl Iterator<Item = &Jwk> {
        let is_published =
            move |own: &&ServerKey| !own.is_dropped() && own.key.last_published().is_none_or(|end| now < end);
        self.keys.iter().filter(is_published).map(|own| own.key.public())
    }

    /// Returns the public keys that were not dropped, even those that are no longer published.
    pub(crate) fn trusted(&self) -> impl Iterator<Item = &Jwk> {
        self.keys.iter().filter(|own| !own.is_dropped()).map(|own| own.key.public())
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

    /// Signs these claims, JSON. Returns `None` if it would be an access token of more than 4096 bytes.
    ///
    /// # Errors
    ///
    /// [`SignerError`] if no key signs now, or if the signer failed.
    pub(crate) async fn sign(
        &self,
        what: Signing,
        claims: &[u8],
        now: Timestamp,
    ) -> Result<Option<String>, SignerError> {
        let own = self.signing(what, now).ok_or_else(|| SignerError::new("no signing key may sign now"))?;
        let (key, (typ, max)) = (&own.key, what.form());
        let header = json!({ "alg": key.public().algorithm().as_str(), "kid": key.key_id(), "typ": typ });
        let mut token = base64url::encode(header.to_string().as_bytes());
        token.push('.');
        token.push_str(&base64url::encode(claims));
        // Three bytes are four characters.
        let signature_characters = (key.public().signature_bytes() * 4).div_ceil(3);
        if token.len() + 1 + signature_characters > max {
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
    pub(crate) fn key_id(&self, what: Signing, now: Timestamp) -> Option<&str> {
        self.signing(what, now).map(|own| own.key.key_id())
    }

    /// Returns the key that signs: of those that may sign now, the one that began last. It must stay published for one
    /// lifetime of a token and 60 s more.
    fn signing(&self, what: Signing, now: Timestamp) -> Option<&ServerKey> {
        let needed = now.plus(self.lifetime(what)).plus(CLOCK_TOLERANCE);
        let signs = |own: &&ServerKey| {
            let has_begun = own.key.may_sign_from() <= now;
            let is_published = own.key.last_published().is_none_or(|end| needed <= end);
            what.admits(&own.key) && has_begun && !own.is_dropped() && is_published
        };
        self.keys.iter().filter(signs).max_by_key(|own| own.key.may_sign_from())
    }
}

impl ServerKey {
    fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed)
    }
}
