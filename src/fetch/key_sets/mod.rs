//! Fetches and caches the key sets at a `jwks_uri` [RFC 7591 section 2], such as those of clients. [`CachedSets`] also
//! caches the key set of an authorization server whose JWTs an API verifies.

pub(crate) mod cached;

pub(crate) use crate::fetch::key_sets::cached::CachedSets;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::base::clock::Clock;
use crate::config::clients::KEY_SET;
use crate::error::failure::KeySetError;
use crate::fetch::cache::MAX_CACHED;
use crate::fetch::flight::Flights;
use crate::fetch::key_sets::cached::{Fetched, Need, Outcome};
use crate::hooks::{Attempt, AttemptKind, Fetcher, Throttle, ThrottleDecision};
use crate::jose::{FetchedKeys, Jwk, JwkSet};
use crate::model::client::Client;
use crate::model::client_metadata::DocumentUrl;
use crate::model::redirect_uri::{WebScheme, WebUri};
use crate::wire::Endpoint;
use crate::wire::fetch::{FetchError, FetchErrorKind, FetchPurpose, FetchRequest};

/// How long a fetched key set is used without another fetch. A key that its owner removed there is valid until then.
const FRESH: Duration = Duration::from_secs(3600);
/// How long a fetched key set is used if it cannot be fetched again, counted from its fetch.
const USABLE: Duration = Duration::from_secs(86_400);
/// How long the server waits between two fetches of one owner's keys.
const PAUSE: Duration = Duration::from_secs(60);

/// The key sets, by owner and `jwks_uri`.
#[derive(Debug)]
pub(crate) struct KeySets {
    reviewed: Arc<Source>,
    /// The key sets of unreviewed owners. They replace no set of another owner.
    unreviewed: Arc<Source>,
}

/// Fetches key sets and caches them.
#[derive(Debug)]
struct Source {
    fetcher: Arc<dyn Fetcher>,
    clock: Arc<dyn Clock>,
    purpose: FetchPurpose,
    /// Checked before each fetch for an unreviewed owner.
    throttle: Option<Arc<dyn Throttle>>,
    sets: Arc<CachedSets<FetchedSet>>,
}

/// Who publishes a key set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyOwner<'a> {
    id: &'a str,
    /// Changes whenever the owner may have withdrawn keys. Earlier fetches do not count then.
    version: u32,
    /// Whether no person has reviewed it, such as a client that registered itself.
    is_unreviewed: bool,
}

impl<'a> From<&'a Client> for KeyOwner<'a> {
    fn from(client: &'a Client) -> Self {
        Self { id: client.id.as_str(), version: client.version, is_unreviewed: client.is_unreviewed() }
    }
}

impl KeyOwner<'_> {
    /// Each owner has its own fetches, even if several share a URL, so that no owner uses up the fetches of another.
    fn name(&self, url: &str) -> String {
        format!("{}\n{}\n{url}", self.id, self.version)
    }
}

/// The key set of an owner.
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

    /// Returns the key set of an owner: the cached one while it is fresh, otherwise a fetched one. If the fetch fails,
    /// it returns the cached one until that is stale. The throttle counts by the address of the caller.
    pub(crate) async fn get(&self, owner: KeyOwner<'_>, url: &str, peer: Option<IpAddr>) -> Outcome<FetchedSet> {
        let source = self.source(owner);
        source.sets.get(&owner.name(url), Need::Usable, || source.fetched(owner.id, url, peer)).await
    }

    /// Returns a newer key set than the given one, in which a key was not found. `None` if there is none, if it cannot
    /// be fetched, or if the pause since the last fetch has not ended.
    pub(crate) async fn newer(
        &self,
        owner: KeyOwner<'_>,
        url: &str,
        than: &Arc<FetchedSet>,
        peer: Option<IpAddr>,
    ) -> Option<Arc<FetchedSet>> {
        let source = self.source(owner);
        source.sets.newer(&owner.name(url), than, || source.fetched(owner.id, url, peer)).await.ok().flatten()
    }

    fn source(&self, owner: KeyOwner<'_>) -> &Arc<Source> {
        if owner.is_unreviewed { &self.unreviewed } else { &self.reviewed }
    }
}

impl Source {
    /// Returns the fetch of a key set. It borrows nothing of the request that starts it.
    fn fetched(
        self: &Arc<Self>,
        owner: &str,
        url: &str,
        peer: Option<IpAddr>,
    ) -> impl Future<Output = Result<Fetched<FetchedSet>, KeySetError>> + Send + use<> {
        let (source, owner, url) = (Arc::clone(self), Box::<str>::from(owner), Box::<str>::from(url));
        async move {
            let keys = source.fetch(&owner, &url, peer).await?;
            let now = source.clock.now();
            let set = FetchedSet { keys, is_reported: AtomicBool::new(false) };
            Ok(Fetched { set, fresh_until: now.plus(FRESH), usable_until: now.plus(USABLE) })
        }
    }

    async fn fetch(&self, owner: &str, url: &str, peer: Option<IpAddr>) -> Result<FetchedKeys, KeySetError> {
        let Some(uri) = WebUri::split(url).ok().filter(|uri| uri.scheme == WebScheme::Https) else {
            return Err(FetchError::new(FetchErrorKind::Url).into());
        };
        self.check_throttle(owner, &uri.host.to_ascii_lowercase(), peer).await?;
        let request = FetchRequest { max_bytes: KEY_SET.bytes, purpose: self.purpose, ..FetchRequest::new(url) };
        let response = self.fetcher.fetch(&request).await?;
        if response.status != 200 {
            return Err(KeySetError::Status(response.status));
        }
        Ok(JwkSet::parse_fetched(&response.body, KEY_SET)?)
    }

    /// Checks the throttle by host, since many owners may name the host of a third party, and by the address of the
    /// request that begins the fetch, since one caller may have many clients with a host each. The host of an owner's
    /// own metadata document is not counted, so others do not use up its fetches there.
    async fn check_throttle(&self, owner: &str, host: &str, peer: Option<IpAddr>) -> Result<(), KeySetError> {
        let is_own = DocumentUrl::parse(owner).is_ok_and(|own| own.host().eq_ignore_ascii_case(host));
        let Some(throttle) = &self.throttle else { return Ok(()) };
        let host = Some(host).filter(|_| !is_own);
        let begun = Attempt::new(AttemptKind::KeySet, Endpoint::Token);
        match throttle.check(&Attempt { client: Some(owner), host, peer, ..begun }).await {
            ThrottleDecision::Allow => Ok(()),
            ThrottleDecision::Refuse { .. } => Err(KeySetError::Throttled),
        }
    }
}
