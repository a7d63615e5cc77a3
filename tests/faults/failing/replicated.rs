//! A store with a replica that each write waits for, and a connection to it that can be cut.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use grantor::store::{ClientStore, Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError};
use grantor::{Client, ClientId, MemoryStore, Timestamp};

/// Writes go to the primary, which serves all reads, and in the same order to the replica. A write that did not reach
/// the replica is answered with an error. It reaches the replica together with the next one that gets through. Clones
/// share their contents.
#[derive(Clone, Debug)]
pub(crate) struct Replicated {
    primary: MemoryStore,
    replica: MemoryStore,
    link: Arc<Link>,
}

/// The writes that the replica has not received, and whether it is reachable.
#[derive(Debug, Default)]
struct Link {
    backlog: Mutex<Vec<Write>>,
    cut: Mutex<Cut>,
    /// Calls until the replica takes over, if it does.
    until_fail_over: Mutex<Option<usize>>,
    late: Mutex<Late>,
}

/// When the connection is cut, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cut {
    #[default]
    Never,
    /// During the write after that many others.
    After { writes: usize, stays: bool },
    /// It was cut during one write.
    Was,
    /// It was cut, and stays so.
    Is,
}

/// One write is answered with an error and arrives later.
#[derive(Debug, Default)]
enum Late {
    #[default]
    Never,
    /// The write after that many others, which arrives before the call after that many more.
    After {
        writes: usize,
        calls: usize,
    },
    UnderWay {
        write: Write,
        calls: usize,
    },
    Landed,
}

impl Cut {
    /// Returns the state of the connection after another write.
    const fn after_a_write(self) -> Self {
        match self {
            Self::After { writes: 0, stays: true } => Self::Is,
            Self::After { writes: 0, stays: false } => Self::Was,
            Self::After { writes, stays } => Self::After { writes: writes - 1, stays },
            Self::Never | Self::Was | Self::Is => self,
        }
    }
}

/// A write that can be made at each store.
#[derive(Clone)]
struct Write(Arc<Effect>);

type Effect = dyn Fn(&MemoryStore) -> Result<(), StoreError> + Send + Sync;

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Write")
    }
}

impl Write {
    fn insert<R: Record>(record: Arc<R>) -> Self
    where
        MemoryStore: RecordStore<R>,
    {
        Self(Arc::new(move |store| at_once(RecordStore::insert(store, record.clone())).map(drop)))
    }

    fn replace<R: Record>(version: u32, record: Arc<R>) -> Self
    where
        MemoryStore: RecordStore<R>,
    {
        Self(Arc::new(move |store| at_once(RecordStore::replace(store, version, record.clone())).map(drop)))
    }

    /// A row was written again as it is: nothing changes, but it arrives after everything before it.
    fn confirm() -> Self {
        Self(Arc::new(|_| Ok(())))
    }

    fn take_effect(&self, store: &MemoryStore) -> Result<(), StoreError> {
        (self.0)(store)
    }
}

fn at_once<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("it is in memory")
}

impl Replicated {
    pub(crate) fn new() -> Self {
        Self { primary: MemoryStore::new(), replica: MemoryStore::new(), link: Arc::default() }
    }

    /// Cuts the connection during the write after that many others, and for good if it stays so.
    pub(crate) fn cut_after(&self, writes: usize, stays: bool) {
        *self.link.cut.lock().unwrap() = Cut::After { writes, stays };
    }

    /// Lets the write after that many others fail, and arrive before the call after that many more.
    pub(crate) fn delay(&self, writes: usize, calls: usize) {
        *self.link.late.lock().unwrap() = Late::After { writes, calls };
    }

    /// Lets a write under way arrive; returns whether there was one.
    pub(crate) fn land(&self) -> bool {
        let mut late = self.link.late.lock().unwrap();
        match std::mem::replace(&mut *late, Late::Landed) {
            Late::UnderWay { write, .. } => {
                for store in [&self.primary, &self.replica] {
                    write.take_effect(store).unwrap();
                }
                true
            }
            Late::Landed => true,
            Late::Never | Late::After { .. } => false,
        }
    }

    /// Fails if this write is the one that arrives later.
    fn is_late(&self, write: Write) -> Result<(), StoreError> {
        let mut late = self.link.late.lock().unwrap();
        match &mut *late {
            Late::After { writes: 0, calls } => {
                *late = Late::UnderWay { write, calls: *calls };
                Err(StoreError::transient("no answer came in time"))
            }
            Late::After { writes, .. } => {
                *writes -= 1;
                Ok(())
            }
            Late::Never | Late::UnderWay { .. } | Late::Landed => Ok(()),
        }
    }

    /// Counts a call, and lets the late write arrive when its time has come.
    fn pass(&self) {
        let mut late = self.link.late.lock().unwrap();
        if let Late::UnderWay { calls, .. } = &mut *late {
            if *calls > 0 {
                *calls -= 1;
                return;
            }
            drop(late);
            self.land();
        }
    }

    /// Whether the write that was to be cut off was made.
    pub(crate) fn was_cut(&self) -> bool {
        matches!(*self.link.cut.lock().unwrap(), Cut::Was | Cut::Is)
    }

    /// Lets the replica take over after so many calls.
    pub(crate) fn fail_over_after(&self, calls: usize) {
        *self.link.until_fail_over.lock().unwrap() = Some(calls);
    }

    /// Returns the store that answers this call, and whether it is the replica.
    fn serving(&self) -> (&MemoryStore, bool) {
        self.pass();
        let mut until = self.link.until_fail_over.lock().unwrap();
        match until.as_mut() {
            Some(0) => (&self.replica, true),
            Some(calls) => {
                *calls -= 1;
                (&self.primary, false)
            }
            None => (&self.primary, false),
        }
    }

    /// The replica, once it has taken the place of the primary.
    pub(crate) fn promoted(&self) -> MemoryStore {
        self.replica.clone()
    }

    /// Whether this write is cut off.
    fn meets_the_cut(&self) -> bool {
        let mut cut = self.link.cut.lock().unwrap();
        let before = *cut;
        *cut = before.after_a_write();
        *cut == Cut::Is || *cut == Cut::Was && before != Cut::Was
    }

    /// Passes on to the replica what took effect at the primary.
    async fn replicate(&self, write: Write) -> Result<(), StoreError> {
        self.link.backlog.lock().unwrap().push(write);
        if self.meets_the_cut() {
            return Err(StoreError::transient("the replica did not answer"));
        }
        let backlog = std::mem::take(&mut *self.link.backlog.lock().unwrap());
        for write in backlog {
            write.take_effect(&self.replica)?;
        }
        Ok(())
    }

    async fn inserted(&self, insertion: Insertion, write: Write) -> Result<Insertion, StoreError> {
        if insertion == Insertion::Inserted {
            self.replicate(write).await?;
        }
        Ok(insertion)
    }

    async fn replaced(&self, replacement: Replacement, write: Write) -> Result<Replacement, StoreError> {
        if replacement == Replacement::Replaced {
            self.replicate(write).await?;
        }
        Ok(replacement)
    }
}

#[async_trait]
impl ClientStore for Replicated {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        ClientStore::client(self.serving().0, id).await
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.serving().0.current_client(id).await
    }
}

impl Store for Replicated {}

#[async_trait]
impl<R: Record> RecordStore<R> for Replicated
where
    MemoryStore: RecordStore<R>,
{
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        RecordStore::<R>::find(self.serving().0, key).await
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        let (store, is_replica) = self.serving();
        let write = Write::insert(record.clone());
        self.is_late(write.clone())?;
        let insertion = RecordStore::insert(store, record).await?;
        if is_replica { Ok(insertion) } else { self.inserted(insertion, write).await }
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        let write = Write::replace(version, record.clone());
        self.is_late(write.clone())?;
        let replacement = RecordStore::replace(store, version, record).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, write).await }
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::confirm())?;
        let replacement = RecordStore::confirm(store, record).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, Write::confirm()).await }
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        RecordStore::<R>::list(self.serving().0, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        RecordStore::<R>::purge(self.serving().0, now, limit).await
    }
}
