//! Everything in a Redis server or cluster.

mod connect;
mod due;
mod error;
mod keys;
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
use crate::store::redis::rows::Record;
use crate::store::{
    ClientRegistry, ClientStore, CodeStore, Insertion, Page, Purge, Registration, Replacement, StoreError, TokenStore,
};
use crate::subject::Subject;

pub use crate::store::redis::error::{RedisError, RedisProblem};
pub use crate::store::redis::options::RedisOptions;

/// A store in a Redis server or cluster.
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
    /// # Errors
    ///
    /// [`RedisError`], such as [`RedisProblem::Evicts`] for a server that may lose keys.
    pub async fn connect(address: &str, options: &RedisOptions) -> Result<Self, RedisError> {
        let link = connect::single(address, options).await?;
        Ok(Self::new(link, connect::shown(&[address]), options))
    }

    /// Connects to a cluster through those of its nodes that can be reached.
    ///
    /// # Errors
    ///
    /// [`RedisError`], as of [`connect`](Self::connect).
    pub async fn connect_cluster(addresses: &[&str], options: &RedisOptions) -> Result<Self, RedisError> {
        let link = connect::cluster(addresses, options).await?;
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

    async fn find_row<R: Record>(&self, id: [u8; 16]) -> Result<Option<Arc<R>>, StoreError> {
        Ok(rows::find(&self.inner.link, &self.inner.prefix, id).await?.map(Arc::new))
    }

    async fn insert_row<R: Record>(&self, record: &R) -> Result<Insertion, StoreError> {
        let inserted = rows::insert(&self.inner.link, &self.inner.prefix, record).await?;
        Ok(if inserted { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace_row<R: Record>(&self, version: u32, record: &R) -> Result<Replacement, StoreError> {
        let replaced = rows::replace(&self.inner.link, &self.inner.prefix, version, record).await?;
        Ok(if replaced { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn rows_of<R: Record>(
        &self,
        subject: &Subject,
        after: Option<&[u8; 16]>,
        limit: usize,
    ) -> Result<Vec<Arc<R>>, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
        let look = |id: Vec<u8>| async move {
            let Ok(id) = id.try_into() else { return Ok(None) };
            let row = rows::find::<R>(link, prefix, id).await?;
            Ok(row.filter(|row| row.subject() == subject).map(Arc::new))
        };
        let index = key(prefix, R::OF_SUBJECT, subject.as_str());
        listed::list(link, &index, after.map(<[u8; 16]>::as_slice), limit, look).await
    }

    async fn purge<R: Record>(&self, next: &AtomicUsize, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let Inner { link, prefix, .. } = &*self.inner;
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
        Ok(registry::client(&self.inner.link, &self.inner.prefix, id).await?.map(Arc::new))
    }
}

#[async_trait]
impl ClientRegistry for RedisStore {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        let inserted = registry::write(&self.inner.link, &self.inner.prefix, None, &registration).await?;
        Ok(if inserted { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        let replaced = registry::write(&self.inner.link, &self.inner.prefix, Some(version), &registration).await?;
        Ok(if replaced { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        Ok(registry::application(&self.inner.link, &self.inner.prefix, id.as_str()).await?.map(Arc::new))
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        Ok(registry::logo(&self.inner.link, &self.inner.prefix, id, slot).await?.map(Arc::new))
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        let listed = registry::applications(&self.inner.link, &self.inner.prefix, filter, &page).await?;
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
