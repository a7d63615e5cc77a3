//! A store with a replica that each write waits for, and a connection to it that can be cut.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use grantor::application::{ApplicationFilter, Logo, LogoSlot};
use grantor::id::{AuthorizationId, GrantId, PushedRequestId};
use grantor::store::{
    Authorization, ClientRegistry, ClientStore, CodeStore, Grant, Insertion, LastPurge, Page, Purge, PurgeStore,
    PushedRequest, PushedRequestStore, Registration, Replacement, Replay, ReplayStore, StoreError, TokenStore,
};
use grantor::{Application, Client, ClientId, MemoryStore, Subject, Timestamp};

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
        write: Box<Write>,
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

#[derive(Clone, Debug)]
enum Write {
    InsertClient(Registration),
    ReplaceClient(u32, Registration),
    InsertCode(Arc<Authorization>),
    ReplaceCode(u32, Arc<Authorization>),
    InsertGrant(Arc<Grant>),
    ReplaceGrant(u32, Arc<Grant>),
    InsertPushedRequest(Arc<PushedRequest>),
    ReplacePushedRequest(u32, Arc<PushedRequest>),
    InsertReplay(Replay),
    InsertLastPurge(LastPurge),
    ReplaceLastPurge(u32, LastPurge),
    /// A row was written again as it is: nothing changes, but it arrives after everything before it.
    Confirm,
}

impl Write {
    async fn take_effect(self, store: &MemoryStore) -> Result<(), StoreError> {
        match self {
            Self::InsertClient(registration) => ClientRegistry::insert(store, registration).await.map(drop),
            Self::ReplaceClient(version, registration) => {
                ClientRegistry::replace(store, version, registration).await.map(drop)
            }
            Self::InsertCode(record) => CodeStore::insert(store, record).await.map(drop),
            Self::ReplaceCode(version, record) => CodeStore::replace(store, version, record).await.map(drop),
            Self::InsertGrant(record) => TokenStore::insert(store, record).await.map(drop),
            Self::ReplaceGrant(version, record) => TokenStore::replace(store, version, record).await.map(drop),
            Self::InsertPushedRequest(record) => PushedRequestStore::insert(store, record).await.map(drop),
            Self::ReplacePushedRequest(version, record) => {
                PushedRequestStore::replace(store, version, record).await.map(drop)
            }
            Self::InsertReplay(record) => ReplayStore::insert(store, record).await.map(drop),
            Self::InsertLastPurge(record) => PurgeStore::insert(store, record).await.map(drop),
            Self::ReplaceLastPurge(version, record) => PurgeStore::replace(store, version, record).await.map(drop),
            Self::Confirm => Ok(()),
        }
    }
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
                    Write::clone(&write).take_effect(store).now_or_never().expect("it is in memory").unwrap();
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
                *late = Late::UnderWay { write: Box::new(write), calls: *calls };
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
            write.take_effect(&self.replica).await?;
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
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        ClientStore::find(self.serving().0, id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.serving().0.current(id).await
    }
}

#[async_trait]
impl ClientRegistry for Replicated {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::InsertClient(registration.clone()))?;
        let insertion = ClientRegistry::insert(store, registration.clone()).await?;
        if is_replica { Ok(insertion) } else { self.inserted(insertion, Write::InsertClient(registration)).await }
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::ReplaceClient(version, registration.clone()))?;
        let replacement = ClientRegistry::replace(store, version, registration.clone()).await?;
        if is_replica {
            Ok(replacement)
        } else {
            self.replaced(replacement, Write::ReplaceClient(version, registration)).await
        }
    }

    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::Confirm)?;
        let replacement = ClientRegistry::confirm(store, registration).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, Write::Confirm).await }
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        self.serving().0.application(id).await
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        self.serving().0.logo(id, slot).await
    }

    async fn purge_deleted(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.serving().0.purge_deleted(now, limit).await
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        self.serving().0.list(filter, page).await
    }
}

#[async_trait]
impl CodeStore for Replicated {
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        CodeStore::find(self.serving().0, id).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::InsertCode(record.clone()))?;
        let insertion = CodeStore::insert(store, record.clone()).await?;
        if is_replica { Ok(insertion) } else { self.inserted(insertion, Write::InsertCode(record)).await }
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::ReplaceCode(version, record.clone()))?;
        let replacement = CodeStore::replace(store, version, record.clone()).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, Write::ReplaceCode(version, record)).await }
    }

    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::Confirm)?;
        let replacement = CodeStore::confirm(store, record).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, Write::Confirm).await }
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        self.serving().0.authorizations_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        CodeStore::purge_expired(self.serving().0, now, limit).await
    }
}

#[async_trait]
impl TokenStore for Replicated {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        TokenStore::find(self.serving().0, id).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::InsertGrant(record.clone()))?;
        let insertion = TokenStore::insert(store, record.clone()).await?;
        if is_replica { Ok(insertion) } else { self.inserted(insertion, Write::InsertGrant(record)).await }
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::ReplaceGrant(version, record.clone()))?;
        let replacement = TokenStore::replace(store, version, record.clone()).await?;
        if is_replica {
            Ok(replacement)
        } else {
            self.replaced(replacement, Write::ReplaceGrant(version, record)).await
        }
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::Confirm)?;
        let replacement = TokenStore::confirm(store, record).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, Write::Confirm).await }
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.serving().0.grants_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        TokenStore::purge_expired(self.serving().0, now, limit).await
    }
}

#[async_trait]
impl PushedRequestStore for Replicated {
    async fn find(&self, id: &PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError> {
        PushedRequestStore::find(self.serving().0, id).await
    }

    async fn insert(&self, record: Arc<PushedRequest>) -> Result<Insertion, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::InsertPushedRequest(record.clone()))?;
        let insertion = PushedRequestStore::insert(store, record.clone()).await?;
        if is_replica { Ok(insertion) } else { self.inserted(insertion, Write::InsertPushedRequest(record)).await }
    }

    async fn replace(&self, version: u32, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::ReplacePushedRequest(version, record.clone()))?;
        let replacement = PushedRequestStore::replace(store, version, record.clone()).await?;
        if is_replica {
            Ok(replacement)
        } else {
            self.replaced(replacement, Write::ReplacePushedRequest(version, record)).await
        }
    }

    async fn confirm(&self, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::Confirm)?;
        let replacement = PushedRequestStore::confirm(store, record).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, Write::Confirm).await }
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        PushedRequestStore::purge_expired(self.serving().0, now, limit).await
    }
}

#[async_trait]
impl ReplayStore for Replicated {
    async fn insert(&self, record: Replay) -> Result<Insertion, StoreError> {
        let (store, is_replica) = self.serving();
        let insertion = ReplayStore::insert(store, record).await?;
        if is_replica { Ok(insertion) } else { self.inserted(insertion, Write::InsertReplay(record)).await }
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        ReplayStore::purge_expired(self.serving().0, now, limit).await
    }
}

#[async_trait]
impl PurgeStore for Replicated {
    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError> {
        PurgeStore::find(self.serving().0).await
    }

    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::InsertLastPurge(record))?;
        let insertion = PurgeStore::insert(store, record).await?;
        if is_replica { Ok(insertion) } else { self.inserted(insertion, Write::InsertLastPurge(record)).await }
    }

    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::ReplaceLastPurge(version, record))?;
        let replacement = PurgeStore::replace(store, version, record).await?;
        if is_replica {
            Ok(replacement)
        } else {
            self.replaced(replacement, Write::ReplaceLastPurge(version, record)).await
        }
    }

    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError> {
        let (store, is_replica) = self.serving();
        self.is_late(Write::Confirm)?;
        let replacement = PurgeStore::confirm(store, record).await?;
        if is_replica { Ok(replacement) } else { self.replaced(replacement, Write::Confirm).await }
    }
}
