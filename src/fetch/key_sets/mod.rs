//! Fetches and caches the key sets of clients with a `jwks_uri` [RFC 7591 section 2]. [`CachedSets`] also caches the
//! key set of an authorization server whose JWTs an API verifies.

mod cached;
mod entry;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::base::clock::Clock;
use crate::base::id::ClientId;
use crate::config::client_authentication::KEY_SET;
use crate::fetch::cache::MAX_CACHED;
use crate::fetch::flight::Flights;
pub(crate) use crate::fetch::key_sets::cached::CachedSets;
pub(crate) use crate::fetch::key_sets::entry::{Failure, Fetched, Need, Outcome};
use crate::hooks::fetcher::Fetcher;
use crate::hooks::{Attempt, AttemptKind, Throttle, ThrottleDecision};
use crate::jose::{FetchedKeys, Jwk, JwkSet};
use crate::model::client::{Client, KeyFetchError};
use crate::model::client_metadata::DocumentUrl;
use crate::model::redirect_uri::{WebScheme, WebUri};
use crate::wire::Endpoint;
use crate::wire::fetch::{FetchError, FetchErrorKind, FetchPurpose, FetchRequest};

/// How long a fetched key set is used without another fetch. A key that its client removed there is valid until then.
const FRESH: Duration = Duration::from_secs(3600);
/// How long a fetched key set is used if it cannot be fetched again, counted from its fetch.
const USABLE: Duration = Duration::from_secs(86_400);
/// How long the server waits between two fetches of one client's keys.
const PAUSE: Duration = Duration::from_secs(60);

/// The key sets of clients, by client id and `jwks_uri`.
#[derive(Debug)]
pub(crate) struct KeySets {
    reviewed: Arc<Source>,
    /// The key sets of unreviewed clients that registered themselves. They replace no set of another client.
    unreviewed: Arc<Source>,
}

/// Fetches key sets and caches them.
#[derive(Debug)]
struct Source {
    fetcher: Arc<dyn Fetcher>,
    clock: Arc<dyn Clock>,
    purpose: FetchPurpose,
    /// Checked before each fetch for an unreviewed client.
    throttle: Option<Arc<dyn Throttle>>,
    sets: Arc<CachedSets<FetchedSet, KeyFetchError>>,
}

/// The key set of a client.
#[derive(Debug)]
pub(crate) struct FetchedSet {
    keys: FetchedKeys,
    is_reported: AtomicBool,
}

impl FetchedSet {
    /// Returns the usable keys.
    pub(crate) fn keys(&self) -> &[Jwk] {
        self.keys.set.keys()
    }

    /// Returns how many keys of the set are not used. Later calls return 0, so that each fetch is reported once.
    pub(crate) fn newly_left_out(&self) -> usize {
        if self.keys.left_out == 0 || self.is_reported.swap(true, Ordering::Relaxed) { 0 } else { self.keys.left_out }
    }
}

impl Failure for KeyFetchError {
    const INTERRUPTED: Self = Self::Interrupted;
    const PANICKED: Self = Self::Panicked;
}

impl KeySets {
    pub(crate) fn new(fetcher: Arc<dyn Fetcher>, clock: Arc<dyn Clock>, throttle: Option<Arc<dyn Throttle>>) -> Self {
        let source = |purpose, throttle| {
            let (fetcher, clock) = (Arc::clone(&fetcher), Arc::clone(&clock));
            let sets = CachedSets::new(Arc::clone(&clock), PAUSE, MAX_CACHED, Flights::default());
            Arc::new(Source { fetcher, clock, purpose, throttle, sets })
        };
        let (reviewed, unreviewed) = (FetchPurpose::ReviewedKeySet, FetchPurpose::UnreviewedKeySet);
        Self { reviewed: source(reviewed, None), unreviewed: source(unreviewed, throttle) }
    }

    pub(crate) fn reach_loopback(&self) -> bool {
        self.reviewed.fetcher.reaches_loopback()
    }

    /// Returns the key set of a client: the cached one while it is fresh, otherwise a fetched one. If the fetch fails,
    /// it returns the cached one until that is stale. The throttle counts by the address of the caller.
    pub(crate) async fn get(
        &self,
        client: &Client,
        url: &str,
        peer: Option<IpAddr>,
    ) -> Outcome<FetchedSet, KeyFetchError> {
        let source = self.source(client);
        source.sets.get(&name(client, url), Need::Usable, || source.fetched(client, url, peer)).await
    }

    /// Returns a newer key set than the given one, in which a key was not found. `None` if there is none, if it cannot
    /// be fetched, or if the pause since the last fetch has not ended.
    pub(crate) async fn newer(
        &self,
        client: &Client,
        url: &str,
        than: &Arc<FetchedSet>,
        peer: Option<IpAddr>,
    ) -> Option<Arc<FetchedSet>> {
        let source = self.source(client);
        source.sets.newer(&name(client, url), than, || source.fetched(client, url, peer)).await.ok().flatten()
    }

    fn source(&self, client: &Client) -> &Arc<Source> {
        if client.is_unreviewed() { &self.unreviewed } else { &self.reviewed }
    }
}

/// Each client has its own fetches, even if clients share a URL, so that no client uses up the fetches of another.
/// After a change of the client, which may have withdrawn keys, earlier fetches do not count.
fn name(client: &Client, url: &str) -> String {
    format!("{}\n{}\n{url}", client.id, client.version)
}

impl Source {
    /// Returns the fetch of a key set. It borrows nothing of the request that starts it.
    fn fetched(
        self: &Arc<Self>,
        client: &Client,
        url: &str,
        peer: Option<IpAddr>,
    ) -> impl Future<Output = Result<Fetched<FetchedSet>, KeyFetchError>> + Send + use<> {
        let (source, client, url) = (Arc::clone(self), client.id.clone(), Box::<str>::from(url));
        async move {
            let keys = source.fetch(&client, &url, peer).await?;
            let now = source.clock.now();
            let set = FetchedSet { keys, is_reported: AtomicBool::new(false) };
            Ok(Fetched { set, fresh_until: now.plus(FRESH), usable_until: now.plus(USABLE) })
        }
    }

    async fn fetch(&self, client: &ClientId, url: &str, peer: Option<IpAddr>) -> Result<FetchedKeys, KeyFetchError> {
        let Some(uri) = WebUri::split(url).ok().filter(|uri| uri.scheme == WebScheme::Https) else {
            return Err(FetchError::new(FetchErrorKind::Url).into());
        };
        self.check_throttle(client, &uri.host.to_ascii_lowercase(), peer).await?;
        let request = FetchRequest { max_bytes: KEY_SET.bytes, purpose: self.purpose, ..FetchRequest::new(url) };
        let response = self.fetcher.fetch(&request).await?;
        if response.status != 200 {
            return Err(KeyFetchError::Status(response.status));
        }
        Ok(JwkSet::parse_fetched(&response.body, KEY_SET)?)
    }

    /// Checks the throttle by host, since many clients may name the host of a third party, and by the address of the
    /// request that begins the fetch, since one caller may have many clients with a host each. The host of a client's own
    /// metadata document is not counted, so other clients do not use up its fetches there.
    async fn check_throttle(&self, client: &ClientId, host: &str, peer: Option<IpAddr>) -> Result<(), KeyFetchError> {
        let is_own = DocumentUrl::parse(client.as_str()).is_ok_and(|own| own.host().eq_ignore_ascii_case(host));
        let Some(throttle) = &self.throttle else { return Ok(()) };
        let host = Some(host).filter(|_| !is_own);
        let begun = Attempt::new(AttemptKind::KeySet, Endpoint::Token);
        match throttle.check(&Attempt { client: Some(client.as_str()), host, peer, ..begun }).await {
            ThrottleDecision::Allow => Ok(()),
            ThrottleDecision::Refuse { .. } => Err(KeyFetchError::Throttled),
        }
    }
}
