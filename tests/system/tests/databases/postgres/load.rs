//! Callers that write without pause, and a record of the answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use grantor::Timestamp;
use grantor::id::GrantId;
use grantor::store::{Grant, Insertion, Record, RecordStore, Replacement, StoreError};
use grantor::testing::records;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);
/// Grants that the callers compete for.
const CONTESTED: usize = 4;
/// Callers that redeem the same codes.
const RIVALS: usize = 2;

type Version = (GrantId, u32);

/// What was acknowledged, by id and version: the record that won.
#[derive(Debug, Default)]
struct Book {
    won: Mutex<HashMap<Version, Arc<Grant>>>,
    newest: Mutex<HashMap<GrantId, u32>>,
    /// Writes with an unknown outcome.
    open: Mutex<HashMap<Version, Vec<Arc<Grant>>>>,
    /// Writes acknowledged, by store.
    acknowledged: Vec<AtomicUsize>,
    refused: AtomicUsize,
}

impl Book {
    fn acknowledge(&self, store: usize, grant: &Arc<Grant>) {
        let key = (grant.id(), grant.version());
        let before = self.won.lock().unwrap().insert(key, grant.clone());
        assert!(before.is_none(), "version {} of {} was won twice", grant.version(), grant.id());
        let mut newest = self.newest.lock().unwrap();
        let version = newest.entry(grant.id()).or_default();
        *version = grant.version().max(*version);
        self.acknowledged[store].fetch_add(1, Ordering::SeqCst);
    }

    fn leave_open(&self, grant: &Arc<Grant>, error: &StoreError) {
        assert!(error.is_transient(), "{error:?}");
        self.refused.fetch_add(1, Ordering::SeqCst);
        self.open.lock().unwrap().entry((grant.id(), grant.version())).or_default().push(grant.clone());
    }

    /// Whether a record that was found may be there.
    fn explains(&self, found: &Arc<Grant>) -> bool {
        let key = (found.id(), found.version());
        match self.won.lock().unwrap().get(&key) {
            Some(won) => won == found,
            None => self.open.lock().unwrap().get(&key).is_some_and(|open| open.contains(found)),
        }
    }
}

/// The code that some callers redeem next: whose grant it becomes is decided by the first insert.
#[derive(Debug)]
struct Code(Mutex<Arc<Grant>>);

impl Code {
    fn new() -> Self {
        Self(Mutex::new(Arc::new(records::grant(&records::subject(), END))))
    }

    /// Moves on to the next code, unless another caller did.
    fn is_spent(&self, spent: &Grant) {
        let mut next = self.0.lock().unwrap();
        if next.id() == spent.id() {
            *next = Arc::new(records::grant(&records::subject(), END));
        }
    }
}

/// Callers at work.
#[derive(Debug)]
pub(crate) struct Load {
    book: Arc<Book>,
    stop: Arc<AtomicBool>,
    callers: Vec<JoinHandle<()>>,
}

impl Load {
    /// So many callers on each store.
    pub(crate) async fn on(stores: &[impl RecordStore<Grant> + Clone], each: usize) -> Self {
        let acknowledged = stores.iter().map(|_| AtomicUsize::new(0)).collect();
        let (book, stop) = (Arc::new(Book { acknowledged, ..Book::default() }), Arc::<AtomicBool>::default());
        let mut contested = Vec::new();
        for _ in 0..CONTESTED {
            let grant = Arc::new(records::grant(&records::subject(), END));
            assert_eq!(stores[0].insert(grant.clone()).await.unwrap(), Insertion::Inserted);
            book.acknowledge(0, &grant);
            contested.push(grant);
        }
        let codes: Vec<_> = (0..(each * stores.len()).div_ceil(RIVALS)).map(|_| Arc::new(Code::new())).collect();
        let caller = |number: usize| {
            let (place, book, stop) = (number % stores.len(), book.clone(), stop.clone());
            let store = stores[place].clone();
            let (contested, code) = (contested[number % CONTESTED].clone(), codes[number / RIVALS].clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::SeqCst) {
                    let grant = Arc::new(records::grant(&records::subject(), END));
                    match RecordStore::<Grant>::insert(&store, grant.clone()).await {
                        Ok(Insertion::Inserted) => book.acknowledge(place, &grant),
                        Ok(Insertion::Exists) => panic!("{} is new", grant.id()),
                        Err(error) => pause(&book, &grant, &error).await,
                    }
                    change(&store, &book, place, grant.id()).await;
                    change(&store, &book, place, contested.id()).await;
                    redeem(&store, &book, place, &code).await;
                }
            })
        };
        let callers = (0..each * stores.len()).map(caller).collect();
        Self { book, stop, callers }
    }

    /// The number of callers; each makes one call at a time.
    pub(crate) fn callers(&self) -> usize {
        self.callers.len()
    }

    pub(crate) fn acknowledged(&self) -> Vec<usize> {
        self.book.acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// Writes that failed.
    pub(crate) fn refused(&self) -> usize {
        self.book.refused.load(Ordering::SeqCst)
    }

    /// Waits until so many more writes of each store were acknowledged.
    pub(crate) async fn until_acknowledged(&self, writes: usize) {
        let before = self.acknowledged();
        let waiting = async {
            while self.acknowledged().iter().zip(&before).any(|(now, before)| *now < before + writes) {
                assert!(!self.callers.iter().any(JoinHandle::is_finished), "a caller has ended");
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(60), waiting).await.expect("the stores recover by themselves");
    }

    /// Asserts that everything acknowledged is there, that a caller wrote everything that is there, and that no code
    /// works again.
    pub(crate) async fn nothing_is_lost(&self, store: &impl RecordStore<Grant>) {
        let newest: Vec<_> = self.book.newest.lock().unwrap().iter().map(|(id, version)| (*id, *version)).collect();
        for part in newest.chunks(64) {
            let found = join_all(part.iter().map(|(id, _)| RecordStore::<Grant>::find(store, id))).await;
            let found: Vec<_> = found.into_iter().map(|found| found.unwrap()).collect();
            for ((id, version), found) in part.iter().zip(&found) {
                let found = found.as_ref().unwrap_or_else(|| panic!("{id} is gone"));
                assert!(found.version() >= *version, "{id} went back from {version} to {}", found.version());
                assert!(self.book.explains(found), "no caller wrote {id} as it is");
            }
            let again = found
                .iter()
                .flatten()
                .map(|found| RecordStore::<Grant>::insert(store, Arc::new(records::refreshed(found, END))));
            assert!(join_all(again).await.into_iter().all(|again| again.unwrap() == Insertion::Exists));
        }
    }

    pub(crate) async fn end(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for caller in self.callers.drain(..) {
            caller.await.unwrap();
        }
    }
}

/// Replaces what is there by the next version.
async fn change(store: &impl RecordStore<Grant>, book: &Book, place: usize, id: GrantId) {
    let found = match RecordStore::<Grant>::find(store, &id).await {
        Ok(Some(found)) => found,
        // Its insert may have failed.
        Ok(None) => return,
        Err(error) => {
            assert!(error.is_transient(), "{error:?}");
            return sleep(Duration::from_millis(1)).await;
        }
    };
    let next = Arc::new(records::refreshed(&found, END));
    match RecordStore::<Grant>::replace(store, found.version(), next.clone()).await {
        Ok(Replacement::Replaced) => book.acknowledge(place, &next),
        Ok(Replacement::Lost) => {}
        Err(error) => pause(book, &next, &error).await,
    }
}

/// Inserts its own grant under the code's id; after a failure the same code is tried again.
async fn redeem(store: &impl RecordStore<Grant>, book: &Book, place: usize, code: &Code) {
    let next = code.0.lock().unwrap().clone();
    let grant = Arc::new(records::refreshed(&next, END));
    match RecordStore::<Grant>::insert(store, grant.clone()).await {
        Ok(Insertion::Inserted) => book.acknowledge(place, &grant),
        Ok(Insertion::Exists) => {}
        Err(error) => return pause(book, &grant, &error).await,
    }
    code.is_spent(&next);
}

async fn pause(book: &Book, grant: &Arc<Grant>, error: &StoreError) {
    book.leave_open(grant, error);
    sleep(Duration::from_millis(1)).await;
}
