//! Gets metadata documents: concurrent requests share one fetch, and checked documents are cached.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::clock::Clock;
use crate::config::Config;
use crate::fetch::cache::{Bounds, Cache, MAX_CACHED, lifetime};
use crate::fetch::flight::{Driven, Flights, NoOutput};
use crate::fetch::in_vain;
use crate::hooks::Fetcher;
use crate::model::client::AuthenticationMethod;
use crate::model::client_metadata::{ClientMetadata, DocumentError, DocumentRules, DocumentUrl};
use crate::wire::fetch::FetchRequest;

/// How long a document is cached: 5 minutes to a day, and one hour without caching headers. Even a document that must
/// not be cached is kept for the shortest time, so that this server cannot be used to flood another one
/// [draft-ietf-oauth-client-id-metadata-document section 4.3].
const LIFETIME: Bounds = Bounds {
    shortest: Duration::from_secs(300),
    longest: Duration::from_secs(86_400),
    usual: Duration::from_secs(3600),
};

/// The metadata of one document, or why it was refused. All requests that waited for the fetch share it.
pub(crate) type Judged = Result<Arc<ClientMetadata>, Arc<DocumentError>>;

/// The metadata documents of clients.
#[derive(Debug)]
pub(crate) struct Documents {
    source: Arc<Source>,
    flights: Flights<Judged>,
}

/// Where documents come from, and the cache of valid ones.
#[derive(Debug)]
struct Source {
    fetcher: Arc<dyn Fetcher>,
    rules: DocumentRules,
    clock: Arc<dyn Clock>,
    cache: Mutex<Cache<Arc<ClientMetadata>>>,
}

impl Documents {
    pub(crate) fn new(config: &Config, fetcher: Arc<dyn Fetcher>, clock: Arc<dyn Clock>) -> Self {
        let rules = DocumentRules {
            metadata: config.metadata_rules(config.document_methods(), AuthenticationMethod::None, true),
            none_beside_private_key_jwt: config.registration.none_beside_private_key_jwt,
        };
        let cache = Mutex::new(Cache::new(MAX_CACHED));
        let source = Source { fetcher, rules, clock, cache };
        Self { source: Arc::new(source), flights: Flights::default() }
    }

    pub(crate) fn reach_loopback(&self) -> bool {
        self.source.fetcher.reaches_loopback()
    }

    /// Returns a cached document, or waits for a fetch in progress. Returns `None` if [`fetch`](Self::fetch) would send
    /// a request.
    pub(crate) async fn without_fetch(&self, url: DocumentUrl<'_>) -> Option<Judged> {
        if let Some(found) = self.source.cached(url) {
            return Some(Ok(found));
        }
        let waiter = self.flights.find(url.as_str())?;
        Some(waiter.await.unwrap_or_else(no_output))
    }

    /// Fetches a document, or joins a fetch in progress.
    pub(crate) async fn fetch(&self, url: DocumentUrl<'_>) -> Judged {
        let (source, text) = (Arc::clone(&self.source), Box::<str>::from(url.as_str()));
        let get = async move { source.get(&text).await.map_err(Arc::new) };
        let Ok(waiter) = self.flights.join(url.as_str(), || Ok::<Driven<Judged>, Infallible>(Box::pin(get)));
        waiter.await.unwrap_or_else(no_output)
    }
}

impl Source {
    fn cached(&self, url: DocumentUrl<'_>) -> Option<Arc<ClientMetadata>> {
        self.cache().find(url.as_str(), self.clock.now())
    }

    fn cache(&self) -> MutexGuard<'_, Cache<Arc<ClientMetadata>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// > The authorization server MUST NOT cache error responses. [...] MUST NOT cache documents which are invalid or
    /// > malformed.
    ///
    /// [draft-ietf-oauth-client-id-metadata-document section 4.3]
    async fn get(&self, url: &str) -> Result<Arc<ClientMetadata>, DocumentError> {
        let url = DocumentUrl::parse(url)?;
        let response = self.fetcher.fetch(&FetchRequest::new(url.as_str())).await?;
        let metadata = Arc::new(self.rules.judge(url, &response)?);
        let now = self.clock.now();
        let until = now.plus(lifetime(&response, now, &LIFETIME));
        self.cache().keep(url.as_str(), Arc::clone(&metadata), now, until);
        Ok(metadata)
    }
}

fn no_output(why: NoOutput) -> Judged {
    Err(in_vain(why, DocumentError::Panicked))
}
