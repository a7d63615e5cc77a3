//! Everything in a Redis server or cluster.

mod check;
mod connect;
mod due;
mod error;
mod exchange;
mod keys;
mod layout;
mod link;
mod listed;
mod node;
mod options;
mod registry;
mod router;
mod rows;
mod script;
mod slots;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;

use crate::client::Client;
use crate::client::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::clock::Timestamp;
use crate::id::{AuthorizationId, ClientId, GrantId};
use crate::store::record::{Authorization, Grant};
use crate::store::redis::due::PurgeStep;
use crate::store::redis::keys::key;
use crate::store::redis::link::Link;
use crate::store::redis::rows::Keyed;
use crate::store::{
    ClientRegistry, ClientStore, CodeStore, Insertion, Page, Purge, Registration, Replacement, StoreError, TokenStore,
};
use crate::subject::Subject;

pub use crate::store::redis::error::{RedisError, RedisProblem};
pub use crate::store::redis::options::RedisOptions;

/// A store in a Redis server, or in a cluster of them.
///
/// Every change is one script on one key, so that any slot of a cluster will do. A command goes to the
/// primary that has the key, never to a replica: a server that stands alone says behind each answer to a
/// reader whether it is a primary still. A command is sent again within its time-out when a connection
/// breaks or another primary takes over; a write that arrives twice is known by its number and is
/// answered as it was the first time. Clones share everything. The connections are driven by the tokio
/// runtime in which the store was connected, which has to outlive it; the calls may be polled by any
/// executor.
///
/// What it is fit for depends on the server:
///
/// | server | registrations and grants | authorizations and their codes |
/// |---|---|---|
/// | one, `appendonly yes`, `appendfsync always` | yes: durable as the disk is | yes |
/// | with replicas, [`wait`](RedisOptions::wait) for as many as a primary has, each with `appendonly yes`, `appendfsync always` | if what [Security](#security) says is acceptable | yes |
/// | with replicas, without `wait` | no: an acknowledged revocation may be undone | if a code may work a second time |
/// | one that keeps nothing on the disk, or syncs every second | no | if a code may work a second time after a crash |
///
/// Rows end by themselves: each is written with the time of its `purge_after` by the server's own clock,
/// unless that is past already. So the clocks of the server and of the authorization servers have to be
/// right to the minute, and a test that sets another time sees rows go by
/// [`purge_expired`](crate::AuthorizationServer::purge_expired) alone. That call is needed in any case: it
/// removes what the lists still know of rows that are gone.
///
/// # Errors
///
/// Every [`StoreError`] of this store has a [`RedisError`] as its source, or a
/// [`DecodeError`](crate::DecodeError).
///
/// # Security
///
/// Redis sends its writes to replicas after it has acknowledged them. When a primary is lost, what had not
/// arrived is lost as well: a code that was spent may work again, and so may a token that was rotated or
/// revoked. [`wait`](RedisOptions::wait) acknowledges a write only when replicas have it; with as many as
/// the primary has, the one that takes over has every acknowledged write. A primary that starts again with
/// nothing on its disk makes its replicas as empty as itself, whatever they had: so `wait` asks for an
/// append-only file, and `appendfsync always` lets a server that comes back have what it acknowledged. The
/// server's own `min-replicas-to-write` refuses writes while replicas are away. A primary that is cut off
/// from the others answers reads for up to the cluster's node time-out, and may then tell of a token that
/// was revoked at its successor.
///
/// In a cluster a row and the list that it is on are at different primaries. One that is lost without
/// `wait` for all its replicas may take an entry of a list and leave the grant: it is then good, and neither
/// [`grants_of`](crate::AuthorizationServer::grants_of) nor
/// [`revoke_subject`](crate::AuthorizationServer::revoke_subject) sees it until it is first refreshed, which
/// lists it again. A registration is listed again when it is next written.
/// Where none of this may happen, keep registrations and grants in a SQL store.
///
/// The eviction policy has to be `noeviction`: a server that evicts forgets revocations. This, the release,
/// the clock and the append-only file are checked with every connection, so that a replica which takes over
/// is checked too. Keys and values hold no code, token or client secret, only digests. Subjects and clients,
/// and the `state` of requests, stand in them as they are, and so in `MONITOR` and `SLOWLOG`.
///
/// # Examples
///
/// ```no_run
/// use grantor::{AuthorizationServer, RedisOptions, RedisStore};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let options = RedisOptions::new().prefix("accounts");
/// let store = RedisStore::connect("rediss://grantor:password@redis.example:6379", &options).await?;
/// let server = AuthorizationServer::builder(store).issuer("https://auth.example").build()?;
/// # Ok(())
/// # }
/// ```
///
/// A cluster whose primaries have one replica each:
///
/// ```no_run
/// use std::time::Duration;
///
/// use grantor::{RedisOptions, RedisStore};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let options = RedisOptions::new().wait(1, Duration::from_secs(1));
/// let servers = ["redis://redis-1.example:6379", "redis://redis-2.example:6379"];
/// let store = RedisStore::connect_cluster(&servers, &options).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisStore {
    inner: Arc<Inner>,
}

struct Inner {
    link: Link,
    prefix: String,
    addresses: Vec<String>,
    /// The set of due times at which the next purge begins, for each kind.
    next_due_codes: AtomicUsize,
    next_due_tokens: AtomicUsize,
}

impl RedisStore {
    /// Connects to a server that stands alone, such as `redis://user:password@redis.example:6379/0`; with
    /// `rediss:` in front the connection has TLS.
    ///
    /// TLS uses the process's default provider of rustls; a process that has chosen none is given `ring`.
    ///
    /// # Errors
    ///
    /// [`RedisError`], such as [`RedisProblem::Evicts`] for a server that may lose keys, and
    /// [`RedisProblem::Newer`] for keys of a later layout. What the user may not ask the server is not checked.
    pub async fn connect(address: &str, options: &RedisOptions) -> Result<Self, RedisError> {
        let link = connect::single(address, options).await?;
        layout::check(&link, &options.prefix).await?;
        Ok(Self::new(link, connect::shown(&[address]), options))
    }

    /// Connects to a cluster through those of these servers that can be reached; the others are found by
    /// asking, and are reached with the user, the password and the TLS of the one that names them.
    ///
    /// # Errors
    ///
    /// [`RedisError`], as of [`connect`](Self::connect).
    pub async fn connect_cluster(addresses: &[&str], options: &RedisOptions) -> Result<Self, RedisError> {
        let link = connect::cluster(addresses, options).await?;
        layout::check(&link, &options.prefix).await?;
        Ok(Self::new(link, connect::shown(addresses), options))
    }

    fn new(link: Link, addresses: Vec<String>, options: &RedisOptions) -> Self {
        let inner = Inner {
            link,
            prefix: options.prefix.clone(),
            addresses,
            next_due_codes: AtomicUsize::new(0),
            next_due_tokens: AtomicUsize::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    async fn find_row<R: Keyed>(&self, id: [u8; 16]) -> Result<Option<Arc<R>>, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        Ok(rows::find(link, prefix, id).await?.map(Arc::new))
    }

    async fn insert_row<R: Keyed>(&self, record: &R) -> Result<Insertion, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let inserted = rows::insert(link, prefix, record).await?;
        Ok(if inserted { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace_row<R: Keyed>(&self, version: u32, record: &R) -> Result<Replacement, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let replaced = rows::replace(link, prefix, version, record).await?;
        Ok(if replaced { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn rows_of<R: Keyed>(
        &self,
        subject: &Subject,
        after: Option<&[u8; 16]>,
        limit: usize,
    ) -> Result<Vec<Arc<R>>, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let look = |id: Vec<u8>| async move {
            let Ok(id) = id.try_into() else { return Ok(None) };
            let row = rows::find::<R>(link, prefix, id).await?;
            Ok(row.filter(|row| row.subject() == subject).map(Arc::new))
        };
        let index = key(prefix, R::OF_SUBJECT, subject.as_str());
        listed::list(link, &index, after.map(<[u8; 16]>::as_slice), limit, look).await
    }

    async fn purge<R: Keyed>(&self, next: &AtomicUsize, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        PurgeStep { link, prefix, now, next_set: next }.run::<R>(limit).await
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("addresses", &self.inner.addresses)
            .field("prefix", &self.inner.prefix)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ClientStore for RedisStore {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.current(id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        Ok(registry::client(link, prefix, id).await?.map(Arc::new))
    }
}

#[async_trait]
impl ClientRegistry for RedisStore {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let inserted = registry::write(link, prefix, None, &registration).await?;
        Ok(if inserted { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let replaced = registry::write(link, prefix, Some(version), &registration).await?;
        Ok(if replaced { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        Ok(registry::application(link, prefix, id.as_str()).await?.map(Arc::new))
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        Ok(registry::logo(link, prefix, id, slot).await?.map(Arc::new))
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let listed = registry::applications(link, prefix, filter, &page).await?;
        Ok(listed.into_iter().map(Arc::new).collect())
    }
}

#[async_trait]
impl CodeStore for RedisStore {
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        self.find_row(*id.octets()).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        self.insert_row(&*record).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.replace_row(version, &*record).await
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        self.rows_of(subject, page.start().map(AuthorizationId::octets), page.limit()).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.purge::<Authorization>(&self.inner.next_due_codes, now, limit).await
    }
}

#[async_trait]
impl TokenStore for RedisStore {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        self.find_row(*id.octets()).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.insert_row(&*record).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.replace_row(version, &*record).await
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.rows_of(subject, page.start().map(GrantId::octets), page.limit()).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.purge::<Grant>(&self.inner.next_due_tokens, now, limit).await
    }
}
