//! The check of JWT access tokens without asking the authorization server [RFC 9068 section 4].
//!
//! Form and claims are judged before the signature: a token with wrong claims must not cause a request for the key set.
//! Verified tokens are kept, and judged again at each use. The authorization server keeps none, since it reads the
//! record in any case, so a cache would save the check of the signature alone.

mod judge;
mod keys;
mod settings;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crate::error::failure::KeySetError;
pub use crate::resource::jwt::settings::JwtSettings;

use crate::base::base64url;
use crate::base::clock::{Clock, Timestamp};
use crate::base::generations::{Generations, OnHeap};
use crate::base::id::ClientId;
use crate::config::SecurityReport;
use crate::config::rule::ConfigError;
use crate::error::Reason;
use crate::hooks::{EventSink, TokenRefusal, Transport};
use crate::jose::access_jwt::MAX_BYTES;
use crate::jose::{IS_AVAILABLE, Jws, SigningAlgorithm, access_jwt};
use crate::resource::environment::Environment;
use crate::resource::facts::{BYTES_PER_ENTRY, Members, TokenDigest, TokenFacts};
use crate::resource::jwt::judge::{judge, refused_as_jwt_at};
use crate::resource::jwt::keys::Keys;
use crate::resource::jwt::settings::Setup;
use crate::scope::{ScopeCatalog, ScopeSet};
use crate::secret::Digest;

/// Verifies JWT access tokens with the keys that the authorization server publishes [RFC 9068].
///
/// [`ResourceServer::jwt`](crate::ResourceServer::jwt) checks requests with it. It opens no connection and starts no
/// task: a [`Transport`] fetches the key set, while the checks that need it wait. [`JwtSettings::jwks_uri`] says how
/// long a key set is used. Create a verifier once, when the service starts: clones share everything, and two verifiers
/// share nothing.
///
/// If the keys are not known, or if a token has an unknown `kid` and the key set cannot be fetched, the check fails
/// with 503, because nothing is known about the token.
///
/// # Security
///
/// A revoked token is accepted until it expires: see
/// [`tokens.jwt_lifetime`](crate::config::TokenSettings::jwt_lifetime). A verified token is found by its SHA-256. Its
/// times, and whether the key set still has its key, are judged at each use.
///
/// # Examples
///
/// ```
/// use grantor::fetch::Transport;
/// use grantor::resource::{JwtSettings, JwtVerifier};
/// use grantor::{Config, ConfigError, ResourceServer};
///
/// /// `config` are the settings of the authorization server.
/// fn orders_api(config: Config, transport: impl Transport) -> Result<ResourceServer, ConfigError> {
///     let settings = JwtSettings::of_server(&config, "https://orders.example");
///     ResourceServer::jwt(config, JwtVerifier::new(settings, transport)?)
/// }
/// ```
#[derive(Clone)]
pub struct JwtVerifier(Arc<Inner>);

struct Inner {
    setup: Arc<Setup>,
    keys: Keys,
    state: Mutex<State>,
}

/// What the checks share, besides the keys.
struct State {
    /// The time when the clock was last read.
    last_seen: Timestamp,
    verified: Generations<TokenDigest, Verified>,
}

/// A token whose signature was verified.
#[derive(Clone)]
struct Verified {
    facts: Arc<TokenFacts>,
    /// The digest of the key that has signed it.
    key: Digest,
}

impl OnHeap for Verified {
    fn bytes_on_heap(&self) -> usize {
        self.facts.bytes()
    }
}

/// Why a token is not accepted.
enum Rejection {
    /// It is not valid. The client is known once the signature is verified.
    Refused(TokenRefusal, Option<ClientId>),
    /// The keys are not known.
    Keys(Arc<KeySetError>),
    /// It was issued in the future, by this many seconds.
    ClockDiffers(u32),
}

impl JwtVerifier {
    /// Creates a verifier, with the clock of the operating system.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a setting is refused, or if the library was built without the feature `jose`.
    pub fn new(settings: JwtSettings, transport: impl Transport) -> Result<Self, ConfigError> {
        settings.check()?;
        if !IS_AVAILABLE {
            let remedy = "the feature jose is needed to verify signatures; the library was built without it";
            return Err(ConfigError::new("jwks_uri", settings.jwks_uri, remedy));
        }
        let (settings, transport) = (Arc::new(settings), Arc::new(transport));
        Ok(Self::of(Setup { settings, transport, environment: Environment::default() }))
    }

    /// Returns the verifier with another clock, and without what was fetched and kept.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        let setup = Setup::clone(&self.0.setup);
        Self::of(Setup { environment: setup.environment.with_clock(clock), ..setup })
    }

    /// Returns the verifier with a sink for its events, and without what was fetched and kept.
    #[must_use]
    pub fn with_events(self, events: impl EventSink) -> Self {
        let setup = Setup::clone(&self.0.setup);
        Self::of(Setup { environment: setup.environment.with_events(events), ..setup })
    }

    /// Lists the settings that are weaker than the current best practice.
    #[must_use]
    pub fn security_report(&self) -> SecurityReport {
        self.0.setup.settings.security_report()
    }

    fn of(setup: Setup) -> Self {
        let state = State {
            last_seen: Timestamp::default(),
            verified: Generations::new(setup.settings.max_entries, BYTES_PER_ENTRY),
        };
        let setup = Arc::new(setup);
        Self(Arc::new(Inner { keys: Keys::new(Arc::clone(&setup)), setup, state: Mutex::new(state) }))
    }

    /// Checks a token that a request presented, and parses its scopes. Returns `None` if it is not valid here now.
    ///
    /// # Errors
    ///
    /// [`Reason::AccessTokenKeys`] if the keys are not known, or [`Reason::ClockDiffers`]. The token may be valid.
    pub(crate) async fn look_up(
        &self,
        token: &[u8],
        catalog: &ScopeCatalog,
    ) -> Result<Option<(Arc<TokenFacts>, ScopeSet)>, Reason> {
        match self.0.check(token, catalog).await {
            Ok(found) => Ok(Some(found)),
            Err(Rejection::Keys(error)) => Err(error.into()),
            Err(Rejection::ClockDiffers(ahead)) => Err(Reason::ClockDiffers(ahead)),
            Err(Rejection::Refused(refusal, client)) => {
                self.environment().refuse(client.as_ref(), refusal);
                Ok(None)
            }
        }
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.0.setup.environment
    }

    pub(super) fn algorithms(&self) -> &[SigningAlgorithm] {
        &self.0.setup.settings.algorithms
    }

    pub(crate) fn audience(&self) -> &str {
        &self.0.setup.settings.audience
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.0.setup.settings.issuer
    }
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier").field("settings", &self.0.setup.settings).finish_non_exhaustive()
    }
}

impl Inner {
    /// Nothing is fetched, and no signature is verified, for a token that cannot pass.
    async fn check(&self, token: &[u8], catalog: &ScopeCatalog) -> Result<(Arc<TokenFacts>, ScopeSet), Rejection> {
        if token.len() > MAX_BYTES {
            return Err(TokenRefusal::TooLong.into());
        }
        self.note_clock();
        let token_digest = *Digest::of(token).bytes();
        if let Some(Verified { facts, key }) = self.verified(&token_digest) {
            self.in_time(&facts)?;
            let scopes = scopes(&facts, catalog)?;
            if self.keys.usable().await?.has(&key) {
                self.in_time(&facts)?;
                return Ok((facts, scopes));
            }
        }
        let jws = access_jwt::parse(token).ok_or(TokenRefusal::NotJwt)?;
        let mut facts = judge(jws.claims().members(), &self.setup.settings)?;
        let scopes = scopes(&facts, catalog)?;
        if let Some(refusal) = refused_as_jwt_at(&facts, self.setup.environment.now()) {
            return Err(refusal.into());
        }
        let key = self.verify(&jws).await?;
        let payload = token.split(|byte| *byte == b'.').nth(1).and_then(base64url::decode);
        facts.claims = payload.and_then(|payload| Members(jws.claims().members()).claims(&payload));
        let facts = Arc::new(facts);
        self.state().verified.keep(token_digest, Verified { facts: Arc::clone(&facts), key });
        // The check may have waited for the keys.
        self.in_time(&facts)?;
        Ok((facts, scopes))
    }

    /// Verifies the signature, and returns the digest of the key that made it.
    async fn verify(&self, jws: &Jws<'_>) -> Result<Digest, Rejection> {
        let key_id = jws.key_id().ok_or(TokenRefusal::NotJwt)?;
        let mut keys = self.keys.usable().await?;
        if keys.named(key_id).is_none() {
            keys = self.keys.newer(&keys).await?.ok_or(TokenRefusal::UnknownKey)?;
        }
        let signer = keys.named(key_id).ok_or(TokenRefusal::UnknownKey)?;
        if access_jwt::is_signed(jws, &signer.key) { Ok(signer.digest) } else { Err(TokenRefusal::Signature.into()) }
    }

    /// Judges the times of a token whose signature was verified.
    fn in_time(&self, facts: &TokenFacts) -> Result<(), Rejection> {
        let now = self.setup.environment.now();
        if let Some(refusal) = refused_as_jwt_at(facts, now) {
            return Err(Rejection::Refused(refusal, Some(facts.client_id.clone())));
        }
        let ahead = facts.issued.and_then(|issued| issued.ahead_of(now));
        ahead.map_or(Ok(()), |ahead| Err(Rejection::ClockDiffers(ahead)))
    }

    /// Reads the clock. If it was set back since the last check, the age of the key set is not known.
    ///
    /// A step back between two checks is not noticed if the clock passes the time of the first one before the second.
    /// The key set may then be used for longer, by as much as the clock was set back.
    fn note_clock(&self) {
        let mut state = self.state();
        let now = self.setup.environment.now();
        if now < state.last_seen {
            self.keys.forget_age();
        }
        state.last_seen = now;
    }

    /// Returns what is known of a token whose signature was verified before.
    fn verified(&self, token_digest: &TokenDigest) -> Option<Verified> {
        self.state().verified.find(token_digest).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses the scopes of a token. A token with a malformed text is malformed.
fn scopes(facts: &TokenFacts, catalog: &ScopeCatalog) -> Result<ScopeSet, TokenRefusal> {
    facts.scopes(catalog).map_err(|_| TokenRefusal::MalformedClaim("scope"))
}

impl From<TokenRefusal> for Rejection {
    fn from(refusal: TokenRefusal) -> Self {
        Self::Refused(refusal, None)
    }
}

impl From<Arc<KeySetError>> for Rejection {
    fn from(error: Arc<KeySetError>) -> Self {
        Self::Keys(error)
    }
}
