//! The public keys that access tokens are signed with: fetched, cached, and fetched again for an unknown `kid`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::config::clients::KEY_SET;
use crate::error::failure::KeySetError;
use crate::fetch::cache::{Bounds, lifetime};
use crate::fetch::flight::Flights;
use crate::fetch::key_sets::CachedSets;
use crate::fetch::key_sets::cached::{Fetched, Need};
use crate::hooks::Event;
use crate::jose::access_jwt::KEY_SET_MAX_AGE;
use crate::jose::{FetchedKeys, Jwk, JwkSet, SigningAlgorithm};
use crate::resource::jwt::settings::Setup;
use crate::secret::Digest;
use crate::wire::fetch::{TIMEOUT, TransportRequest};

/// How long a key set is used without another fetch: as its headers say, within these bounds. A key that the
/// authorization server drops is refused after that.
const FRESH: Bounds = Bounds { shortest: Duration::from_secs(60), longest: LONGEST, usual: LONGEST };

/// As long as the authorization servers of this library allow. It relies on this when it switches to another key.
const LONGEST: Duration = Duration::from_secs(1).saturating_mul(KEY_SET_MAX_AGE);

/// How much longer it is used if it cannot be fetched again, so that the API outlasts a short outage. A dropped key may
/// have leaked. An attacker who has it could block the fetches, so this time is short.
const LONGER: Duration = Duration::from_secs(300);

/// The time between two fetches. Anyone can make up a `kid`, and must not cause a request with each. Six requests a
/// minute are no load for the authorization server, and after an outage its tokens are accepted again within the pause.
const PAUSE: Duration = Duration::from_secs(10);

/// How many checks may wait for one fetch: those of a busy API in the 2 s that it may take.
const MAX_CHECKS: usize = 65_536;

/// How long a request takes at most by the clock, which counts whole seconds.
const MAX_TIME: Duration = TIMEOUT.saturating_add(Duration::from_secs(1));

/// How often it is sent again if it took longer.
const MAX_REQUESTS: usize = 4;

/// The name of the only key set in its cache.
const NAME: &str = "";

const ACCEPTED: (&str, &str) = ("Accept", "application/jwk-set+json, application/json");

/// The keys of one authorization server.
pub(super) struct Keys {
    setup: Arc<Setup>,
    sets: Arc<CachedSets<TokenKeys>>,
}

/// The keys of a fetched set that may sign access tokens. Each has another `kid`.
#[derive(Debug)]
pub(super) struct TokenKeys(Box<[TokenKey]>);

/// A key that may sign access tokens.
#[derive(Debug)]
pub(super) struct TokenKey {
    pub(super) key: Jwk,
    /// The digest of `kid`, algorithm and key. Only the same key under the same `kid` has the same one.
    pub(super) digest: Digest,
}

impl TokenKeys {
    /// Returns the keys of these algorithms. Of several keys with the same `kid`, it keeps the first, so that a forged
    /// token costs one verification.
    fn of(fetched: &FetchedKeys, algorithms: &[SigningAlgorithm]) -> Self {
        let mut key_ids = HashSet::new();
        let usable = fetched.set.keys().iter().filter_map(|key| TokenKey::of(key, algorithms));
        Self(usable.filter(|own| key_ids.insert(own.key.key_id().map(str::to_owned))).collect())
    }

    /// Returns the key of that `kid`.
    pub(super) fn named(&self, key_id: &str) -> Option<&TokenKey> {
        self.0.iter().find(|own| own.key.key_id() == Some(key_id))
    }

    pub(super) fn has(&self, digest: &Digest) -> bool {
        self.0.iter().any(|own| own.digest == *digest)
    }
}

impl TokenKey {
    /// Returns `None` for a key that may not sign access tokens, and for one whose signatures are slow to verify:
    /// anyone can make the API verify one.
    fn of(key: &Jwk, algorithms: &[SigningAlgorithm]) -> Option<Self> {
        let algorithm = key.algorithm();
        if !algorithms.contains(&algorithm) || !key.is_cheap() {
            return None;
        }
        let text = format!("{} {algorithm} {}", key.thumbprint(), key.key_id()?);
        Some(Self { key: key.clone(), digest: Digest::of(text.as_bytes()) })
    }
}

impl Keys {
    pub(super) fn new(setup: Arc<Setup>) -> Self {
        let clock = setup.environment.shared_clock();
        Self { setup, sets: CachedSets::new(clock, PAUSE, 1, Flights::outlasting(MAX_CHECKS)) }
    }

    /// Returns the key set: the cached one while it is fresh, otherwise a fetched one. If the fetch fails, it returns
    /// the cached one for a while.
    pub(super) async fn usable(&self) -> Result<Arc<TokenKeys>, Arc<KeySetError>> {
        self.sets.get(NAME, Need::Usable, || Arc::clone(&self.setup).fetch_keys()).await
    }

    /// Returns a newer key set than the given one, which does not have a `kid`. `None` if the given one was just
    /// fetched.
    ///
    /// # Errors
    ///
    /// Why it could not be fetched. The `kid` may be that of a new key.
    pub(super) async fn newer(&self, than: &Arc<TokenKeys>) -> Result<Option<Arc<TokenKeys>>, Arc<KeySetError>> {
        self.sets.newer(NAME, than, || Arc::clone(&self.setup).fetch_keys()).await
    }

    /// Makes sure that the key set is fetched again as soon as the pause allows: its age is not known after the clock
    /// was set back.
    pub(super) fn forget_age(&self) {
        self.sets.forget_age(NAME);
    }
}

impl Setup {
    /// Fetches the key set.
    ///
    /// If all checks that wait for it are dropped, it goes on with the next check, which may come much later. Then its
    /// result says nothing about now, and the request is sent again.
    async fn fetch_keys(self: Arc<Self>) -> Result<Fetched<TokenKeys>, KeySetError> {
        let mut fetched = Err(KeySetError::Interrupted);
        for _ in 0..MAX_REQUESTS {
            let sent = self.environment.now();
            fetched = self.request_keys(sent).await;
            if self.environment.now() <= sent.plus(MAX_TIME) {
                break;
            }
        }
        if let Err(error) = &fetched {
            self.environment.raise(&Event::KeySetFailed { error });
        }
        fetched
    }

    async fn request_keys(&self, sent: Timestamp) -> Result<Fetched<TokenKeys>, KeySetError> {
        let request = TransportRequest {
            headers: &[ACCEPTED],
            max_bytes: KEY_SET.bytes,
            ..TransportRequest::new("GET", &self.settings.jwks_uri)
        };
        let response = self.transport.send(&request).await?;
        if response.status != 200 {
            return Err(KeySetError::Status(response.status));
        }
        if !response.is_json() {
            return Err(KeySetError::MediaType);
        }
        let set = TokenKeys::of(&JwkSet::parse_fetched(&response.body, KEY_SET)?, &self.settings.algorithms);
        let now = self.environment.now();
        // A key may have been dropped as soon as the request was sent. The clock may have been set back since then.
        let fresh_until = sent.min(now).plus(lifetime(&response, now, &FRESH));
        Ok(Fetched { set, fresh_until, usable_until: fresh_until.plus(LONGER) })
    }
}
