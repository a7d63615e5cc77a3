//! The one link that all calls of a server to its stores go through: it notices when a store stops to answer, and when
//! it answers again.
//!
//! One call that fails is no outage: a row may be locked. A store counts as unavailable once its calls have failed for
//! a second without one that succeeded in between. A caller that gives up after a second or more is such a failure too:
//! nothing else shows a store that hangs. Reads and writes are counted apart, since a full disk or a replica still
//! answers reads.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::base::clock::{Clock, Timestamp};
use crate::base::id::ClientId;
use crate::base::measure;
use crate::base::measure::Stopwatch;
use crate::hooks::observed::in_store_span;
use crate::hooks::{Event, Events};

use crate::model::client::Client;
use crate::store::{
    ClientStore, Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError, Stores, kinds,
};

/// Seconds for which calls fail before the store counts as unavailable, and after which a caller that gives up counts.
const PATIENCE: u32 = 1;

/// Returns the stores with a link before each. Without a sink there is nobody to report to, and no link.
pub(crate) fn watched(stores: Stores, clock: &Arc<dyn Clock>, events: &Events) -> Stores {
    if !measure::is_on() && !events.are_received() {
        return stores;
    }
    let mut links: Vec<(*const (), Arc<Link>)> = Vec::new();
    // One store may keep several kinds, and has one link.
    let mut link_of = |address: *const ()| match links.iter().find(|(known, _)| *known == address) {
        Some((_, link)) => Arc::clone(link),
        None => {
            let link = Arc::new(Link::new(Arc::clone(clock), events.clone()));
            links.push((address, Arc::clone(&link)));
            link
        }
    };
    macro_rules! watch_all {
        ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ident;)*) => {
            Stores {
                clients: {
                    let link = link_of(Arc::as_ptr(&stores.clients).cast());
                    Arc::new(Watched { store: stores.clients, link })
                },
                has_registry: stores.has_registry,
                $($field: {
                    let link = link_of(Arc::as_ptr(&stores.$field).cast());
                    Arc::new(Watched { store: stores.$field, link })
                },)*
            }
        };
    }
    kinds!(watch_all)
}

/// The same for one store of one kind of record.
pub(crate) fn watched_alone<R: Record>(
    store: Arc<dyn RecordStore<R>>,
    clock: &Arc<dyn Clock>,
    events: &Events,
) -> Arc<dyn RecordStore<R>> {
    if !measure::is_on() && !events.are_received() {
        return store;
    }
    let link = Arc::new(Link::new(Arc::clone(clock), events.clone()));
    Arc::new(Watched { store, link })
}

/// A store behind its link.
#[derive(Debug)]
struct Watched<S: ?Sized> {
    store: Arc<S>,
    link: Arc<Link>,
}

impl<S: Store + ?Sized> Store for Watched<S> {
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }
}

#[async_trait]
impl<R: Record, S: RecordStore<R> + ?Sized> RecordStore<R> for Watched<S> {
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        self.link.reads.watch((R::TABLE.as_str(), "find"), self.store.find(key)).await
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        self.link.writes.watch((R::TABLE.as_str(), "insert"), self.store.insert(record)).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        self.link.writes.watch((R::TABLE.as_str(), "replace"), self.store.replace(version, record)).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        self.link.writes.watch((R::TABLE.as_str(), "confirm"), self.store.confirm(record)).await
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        self.link.reads.watch((R::TABLE.as_str(), "list"), self.store.list(list, page)).await
    }

    /// Not watched: a purge may take long, and its failure has an event of its own.
    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.store.purge(now, limit).await
    }
}

#[async_trait]
impl<S: ClientStore + ?Sized> ClientStore for Watched<S> {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.link.reads.watch(("clients", "find"), self.store.client(id)).await
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.link.reads.watch(("clients", "find_current"), self.store.current_client(id)).await
    }
}

/// What is known of one store.
#[derive(Debug)]
struct Link {
    reads: Health,
    writes: Health,
}

impl Link {
    fn new(clock: Arc<dyn Clock>, events: Events) -> Self {
        Self {
            reads: Health::new("read", Arc::clone(&clock), events.clone()),
            writes: Health::new("write", clock, events),
        }
    }
}

/// Whether the reads of a store succeed, or its writes.
struct Health {
    operation: &'static str,
    clock: Arc<dyn Clock>,
    events: Events,
    /// Whether [`failure`](Self::failure) has one: a call that succeeds reads nothing else.
    is_failing: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

/// A call failed, and none has succeeded since.
#[derive(Clone, Copy, Debug)]
struct Failure {
    since: Timestamp,
    is_reported: bool,
}

impl Health {
    fn new(operation: &'static str, clock: Arc<dyn Clock>, events: Events) -> Self {
        Self { operation, clock, events, is_failing: AtomicBool::new(false), failure: Mutex::new(None) }
    }

    /// Awaits a call, and notes how it ended: with an answer, with an error, or because its caller gave up.
    async fn watch<T: Send>(
        &self,
        name: (&'static str, &'static str),
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let begun = Stopwatch::start();
        let mut waiting = Waiting { health: self, name, since: Some(self.clock.now()) };
        let answer = in_store_span(name.0, name.1, call).await;
        waiting.since = None;
        measure::call(begun, name.0, name.1);
        match &answer {
            // One record that cannot be read was answered.
            Err(error) if error.unreadable_key().is_none() => {
                measure::failed_call(name.0, name.1, if error.is_transient() { "transient" } else { "permanent" });
                self.note_failure(error);
            }
            Ok(_) | Err(_) => self.note_answer(),
        }
        answer
    }

    fn note_failure(&self, error: &StoreError) {
        let now = self.clock.now();
        let is_due = {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            let failure = failure.get_or_insert(Failure { since: now, is_reported: false });
            self.is_failing.store(true, Ordering::Relaxed);
            // The clock may have been set back.
            failure.since = failure.since.min(now);
            let is_due = !failure.is_reported && now.seconds_since(failure.since) >= PATIENCE;
            failure.is_reported |= is_due;
            is_due
        };
        if is_due {
            self.events.raise(&Event::StoreUnavailable { operation: self.operation, error });
        }
    }

    fn note_answer(&self) {
        if !self.is_failing.load(Ordering::Relaxed) {
            return;
        }
        let ended = {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            self.is_failing.store(false, Ordering::Relaxed);
            failure.take()
        };
        if let Some(Failure { since, is_reported: true }) = ended {
            let seconds = self.clock.now().seconds_since(since);
            self.events.raise(&Event::StoreBack { operation: self.operation, seconds });
        }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("operation", &self.operation).field("failure", &self.failure).finish()
    }
}

/// A call in progress, and when it began. Dropped with the future of its caller, it notes that the caller gave up.
struct Waiting<'a> {
    health: &'a Health,
    /// The table and the call.
    name: (&'static str, &'static str),
    since: Option<Timestamp>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(since) = self.since else { return };
        let waited = self.health.clock.now().seconds_since(since);
        if waited >= PATIENCE {
            measure::failed_call(self.name.0, self.name.1, "abandoned");
            let gave_up = format!("no answer within {waited} s, and the caller gave up");
            self.health.note_failure(&StoreError::transient(gave_up));
        }
    }
}
