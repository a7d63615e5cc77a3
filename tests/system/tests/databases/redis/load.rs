//! Writers that never stop, and the answers that they got.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grantor::id::GrantId;
use grantor::store::{Grant, Insertion, Page, Record, RecordStore, Replacement, StoreError};
use grantor::testing::records;
use grantor::{RedisStore, Subject, Timestamp};
use tokio::task::JoinHandle;

pub(crate) const FAR: Timestamp = Timestamp::from_seconds(3_000_000_000);
/// Rows that several writers compete for, and the writers at each.
const CONTESTED: usize = 4;
const RIVALS: usize = 4;
/// Writers that have a row each, and those that make new ones.
const ALONE: usize = 16;
const INSERTING: usize = 4;

/// What was acknowledged to all writers.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    acknowledged: Mutex<Vec<Arc<Grant>>>,
    errors: AtomicUsize,
    last_error: Mutex<String>,
}

/// Writers at work.
pub(crate) struct Load {
    ledger: Arc<Ledger>,
    stop: Arc<AtomicBool>,
    writers: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts writers: four at each contested row, one at each of other rows, and some that insert new rows.
    pub(crate) async fn start(store: &RedisStore) -> Self {
        let ledger = Arc::new(Ledger::default());
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for rivals in std::iter::repeat_n(RIVALS, CONTESTED).chain(std::iter::repeat_n(1, ALONE)) {
            let row = Arc::new(records::grant(&records::subject(), FAR));
            // One whose answer came too late may be there already.
            let _: Insertion = in_the_end(async || store.insert(row.clone()).await).await;
            for _ in 0..rivals {
                let writer = Writer { store: store.clone(), ledger: ledger.clone(), stop: stop.clone() };
                writers.push(tokio::spawn(writer.replace_again_and_again(row.clone())));
            }
        }
        for _ in 0..INSERTING {
            let writer = Writer { store: store.clone(), ledger: ledger.clone(), stop: stop.clone() };
            writers.push(tokio::spawn(writer.insert_again_and_again(records::subject())));
        }
        Self { ledger, stop, writers }
    }

    /// Waits until so many more writes were acknowledged.
    pub(crate) async fn until_acknowledged(&self, more: usize) {
        let wanted = self.ledger.count() + more;
        for _ in 0..1200 {
            if self.ledger.count() >= wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (count, last) = (self.ledger.count(), self.ledger.last_error.lock().unwrap().clone());
        panic!("the writers make no progress: {count} of {wanted} writes, last error {last}");
    }

    /// Ends the work and returns what was acknowledged.
    pub(crate) async fn stop(self) -> Arc<Ledger> {
        self.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.expect("no writer has failed");
        }
        self.ledger
    }
}

impl Ledger {
    pub(crate) fn count(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    pub(crate) fn errors(&self) -> usize {
        self.errors.load(Ordering::Relaxed)
    }

    /// No version of a row had two winners.
    pub(crate) fn assert_no_version_was_won_twice(&self) {
        let mut won: HashSet<(GrantId, u32)> = HashSet::new();
        for grant in self.acknowledged.lock().unwrap().iter() {
            assert!(won.insert((grant.id(), grant.version())), "won twice: {grant:?}");
        }
    }

    /// Counts acknowledged writes that are neither found nor followed by another, or not listed.
    pub(crate) async fn lost(&self, store: &RedisStore) -> usize {
        let acknowledged = self.acknowledged.lock().unwrap().clone();
        let mut lost = 0;
        for grant in &acknowledged {
            let found = in_the_end(async || RecordStore::<Grant>::find(store, &grant.id()).await).await;
            let is_there = match &found {
                Some(found) if found.version() == grant.version() => found == grant,
                Some(found) => found.version() > grant.version(),
                None => false,
            };
            let page = grant_before(grant).map_or_else(|| Page::first(1), |id| Page::after(id, 1));
            let subject = grant.subject().expect("each has a user");
            let listed =
                in_the_end(async || RecordStore::<Grant>::list(store, subject.as_str(), page.clone()).await).await;
            let is_listed = listed.first().map(|grant| grant.id()) == Some(grant.id());
            lost += usize::from(!is_there || !is_listed);
        }
        lost
    }
}

/// Asks until there is an answer: a disk that is busy with others takes longer than these stores wait.
pub(crate) async fn in_the_end<T>(ask: impl AsyncFn() -> Result<T, StoreError>) -> T {
    for _ in 0..100 {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
    }
    panic!("the store does not answer");
}

/// An id right before that of the grant, behind which its page begins.
fn grant_before(grant: &Grant) -> Option<GrantId> {
    let number = u128::from_be_bytes(*grant.id().as_bytes());
    number.checked_sub(1).map(|before| GrantId::from_bytes(before.to_be_bytes()))
}

struct Writer {
    store: RedisStore,
    ledger: Arc<Ledger>,
    stop: Arc<AtomicBool>,
}

impl Writer {
    async fn replace_again_and_again(self, mut row: Arc<Grant>) {
        while !self.stop.load(Ordering::Relaxed) {
            let next = Arc::new(records::refreshed(&row, FAR));
            match self.store.replace(row.version(), next.clone()).await {
                Ok(Replacement::Replaced) => {
                    self.acknowledge(&next);
                    row = next;
                    continue;
                }
                Ok(Replacement::Lost) => {}
                Err(error) => self.note(&error).await,
            }
            row = self.look_again(&row).await;
        }
    }

    async fn insert_again_and_again(self, subject: Subject) {
        while !self.stop.load(Ordering::Relaxed) {
            let row = Arc::new(records::grant(&subject, FAR));
            match self.store.insert(row.clone()).await {
                Ok(Insertion::Inserted) => self.acknowledge(&row),
                Ok(Insertion::Exists) => panic!("no other writer has this id"),
                Err(error) => self.note(&error).await,
            }
            // Each of these is looked up afterwards; some are enough.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Returns the row as it is now. A row that is gone is returned as it was: the ledger finds the loss.
    async fn look_again(&self, row: &Arc<Grant>) -> Arc<Grant> {
        loop {
            match self.store.find(&row.id()).await {
                Ok(found) => return found.unwrap_or_else(|| row.clone()),
                Err(error) => self.note(&error).await,
            }
            if self.stop.load(Ordering::Relaxed) {
                return row.clone();
            }
        }
    }

    fn acknowledge(&self, grant: &Arc<Grant>) {
        self.ledger.acknowledged.lock().unwrap().push(grant.clone());
    }

    async fn note(&self, error: &StoreError) {
        assert!(error.is_transient(), "{error:?}");
        self.ledger.errors.fetch_add(1, Ordering::Relaxed);
        *self.ledger.last_error.lock().unwrap() = format!("{error:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
