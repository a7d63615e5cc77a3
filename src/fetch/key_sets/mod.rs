//! Fetches and caches the key sets of clients with a `jwks_uri` [RFC 7591 section 2]. Concurrent requests share one
//! fetch. There is a pause between two fetches, even if the first one failed.

mod entry;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::config::client_authentication::KEY_SET;
use crate::fetch::cache::{Cache, MAX_CACHED};
use crate::fetch::flight::{Driven, Flights};
pub(crate) use crate::fetch::key_sets::entry::FetchedSet;
use crate::fetch::key_sets::entry::{Entry, Need, Outcome};
use crate::fetch::{FetchError, FetchErrorKind, FetchPurpose, FetchRequest, Fetcher, in_vain};
use crate::hooks::{Attempt, AttemptKind, Throttle, ThrottleDecision};
use crate::jose::{FetchedKeys, JwkSet};
use crate::model::client::{Client, KeyFetchError};
use crate::model::client_metadata::DocumentUrl;
use crate::model::id::ClientId;
use crate::model::redirect_uri::{WebScheme, WebUri};
use crate::wire::Endpoint;

/// The key sets of clients, by client id and `jwks_uri`.
#[derive(Debug)]
pub(crate) struct KeySets {
    reviewed: Arc<Source>,
    /// The key sets of unreviewed clients that registered themselves. They replace no set of another client.
    unreviewed: Arc<Source>,
    flights: Flights<Outcome>,
}

/// Fetches key sets and caches them.
#[derive(Debug)]
struct Source {
    fetcher: Arc<dyn Fetcher>,
    clock: Arc<dyn Clock>,
    purpose: FetchPurpose,
    /// Checked before each fetch for an unreviewed client.
    throttle: Option<Arc<dyn Throttle>>,
    cache: Mutex<Cache<Entry>>,
}

impl KeySets {
    pub(crate) fn new(fetcher: Arc<dyn Fetcher>, clock: Arc<dyn Clock>, throttle: Option<Arc<dyn Throttle>>) -> Self {
        let source = |purpose, throttle| {
            let (fetcher, clock) = (Arc::clone(&fetcher), Arc::clone(&clock));
            Arc::new(Source { fetcher, clock, purpose, throttle, cache: Mutex::new(Cache::new(MAX_CACHED)) })
        };
        let (reviewed, unreviewed) = (FetchPurpose::ReviewedKeySet, FetchPurpose::UnreviewedKeySet);
        Self { reviewed: source(reviewed, None), unreviewed: source(unreviewed, throttle), flights: Flights::default() }
    }

    pub(crate) fn reach_loopback(&self) -> bool {
        self.reviewed.fetcher.reaches_loopback()
    }

    /// Returns the key set of a client: the cached one while it is fresh, otherwise a fetched one. If the fetch fails,
    /// it returns the cached one until that is stale. The throttle counts by the address of the caller.
    pub(crate) async fn get(&self, client: &Client, url: &str, peer: Option<IpAddr>) -> Outcome {
        self.get_for(client, url, peer, Need::Usable).await
    }

    /// Returns a newer key set than the given one, in which a key was not found. `None` if there is none, or if the
    /// pause since the last fetch has not ended.
    pub(crate) async fn newer(
        &self,
        client: &Client,
        url: &str,
        than: &Arc<FetchedSet>,
        peer: Option<IpAddr>,
    ) -> Option<Arc<FetchedSet>> {
        let found = self.get_for(client, url, peer, Need::Newer).await.ok()?;
        (!Arc::ptr_eq(&found, than)).then_some(found)
    }

    async fn get_for(&self, client: &Client, url: &str, peer: Option<IpAddr>, need: Need) -> Outcome {
        let source = if client.is_unreviewed() { &self.unreviewed } else { &self.reviewed };
        // Each client has its own fetches, even if clients share a URL, so that no client uses up the fetches of
        // another. After a change of the client, which may have withdrawn keys, earlier fetches do not count.
        let key = format!("{}\n{}\n{url}", client.id, client.version);
        if let Some(known) = source.fresh(&key, need) {
            return Ok(known);
        }
        match self.flights.join(&key, || source.start(&key, client, url, peer, need)) {
            Ok(waiter) => waiter.await.unwrap_or_else(|why| Err(in_vain(why, KeyFetchError::Panicked))),
            Err(known) => known,
        }
    }
}

impl Source {
    /// Returns a cached key set that can be used without a fetch.
    fn fresh(&self, key: &str, need: Need) -> Option<Arc<FetchedSet>> {
        let now = self.clock.now();
        let entry = self.cache().find(key, now)?;
        entry.fresh(need, now)
    }

    /// Starts a fetch if one is needed and allowed. Otherwise returns what is known.
    fn start(
        self: &Arc<Self>,
        key: &str,
        client: &Client,
        url: &str,
        peer: Option<IpAddr>,
        need: Need,
    ) -> Result<Driven<Outcome>, Outcome> {
        let now = self.clock.now();
        let mut cache = self.cache();
        let begun = match cache.find(key, now) {
            None => Entry::first(now),
            Some(entry) => {
                // It may have been fetched since this request read it.
                if let Some(fresh) = entry.fresh(need, now) {
                    return Err(Ok(fresh));
                }
                if !entry.may_be_fetched(now) {
                    return Err(entry.answer(now));
                }
                entry.begun(now)
            }
        };
        // The fetch counts from its start, even if every request that waits for it is dropped.
        cache.keep(key, begun.clone(), now, begun.end());
        let (source, key, url) = (Arc::clone(self), Box::<str>::from(key), Box::<str>::from(url));
        let client = client.id.clone();
        Ok(Box::pin(async move { source.get(&key, &client, &url, peer).await }))
    }

    /// Fetches the key set and caches the result. A failure keeps the previous key set.
    async fn get(&self, key: &str, client: &ClientId, url: &str, peer: Option<IpAddr>) -> Outcome {
        let fetched = self.fetch(client, url, peer).await;
        let now = self.clock.now();
        let mut cache = self.cache();
        let entry = match fetched {
            Ok(keys) => Entry::fetched(Arc::new(FetchedSet::new(keys)), now),
            Err(error) => Entry::failed(cache.find(key, now), Arc::new(error), now),
        };
        cache.keep(key, entry.clone(), now, entry.end());
        entry.answer(now)
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

    fn cache(&self) -> MutexGuard<'_, Cache<Entry>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
