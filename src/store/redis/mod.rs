//! A store in a Redis server or cluster.

mod check;
mod due;
mod error;
mod keys;
mod link;
mod listed;
mod node;
mod options;
mod router;
mod row;
mod write;

use std::fmt;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::store::redis::due::PurgeStep;
use crate::store::redis::link::Link;
use crate::store::{Engine, Insertion, List, Purge, Replacement, Row, Store, StoreError, Table, Write};

pub use crate::store::redis::error::{RedisError, RedisProblem};
pub use crate::store::redis::options::RedisOptions;

/// A store in a Redis server, or in a cluster of them.
///
/// It is an [`Engine`], so it implements all store traits. Every change is one script on one key, so keys may be in any
/// slot of a cluster. A command goes to the primary that has the key, never to a replica: a standalone server reports
/// after each read whether it is still a primary. If a connection breaks or another primary takes over, a command is
/// sent again within its time-out. A write that arrives twice is recognized by its number and gets the same answer
/// again. A read may return what no replica has yet, so [`reads_settled`](Store::reads_settled) is `false`. Clones
/// share everything. The tokio runtime in which the store was connected drives the connections and must outlive the
/// store. Any executor may poll the calls.
///
/// Which records it can keep safely depends on the server:
///
/// | server | registrations and grants | authorizations and their codes |
/// |---|---|---|
/// | one, `appendonly yes`, `appendfsync always` | yes: as durable as the disk | yes |
/// | with replicas, [`wait`](RedisOptions::wait) for as many as a primary has, each with `appendonly yes`, `appendfsync always` | if what [Security](#security) says is acceptable | yes |
/// | with replicas, without `wait` | no: an acknowledged revocation may be undone | if a code may work a second time |
/// | without a file on the disk, or synced every second | no | if a code may work a second time after a crash |
///
/// The server expires rows by its own clock: each is written with its `purge_after`, unless that has already passed. So
/// the clocks of the server and of the authorization servers must be right to the minute. In a test that sets another
/// time, only [`purge_expired`](crate::AuthorizationServer::purge_expired) removes rows. That call is needed in any
/// case: it removes the list entries of expired rows.
///
/// # Errors
///
/// Every [`StoreError`] of this store has a [`RedisError`] as its source, or a
/// [`DecodeError`](crate::store::DecodeError).
///
/// # Security
///
/// Redis sends its writes to replicas after it has acknowledged them. When a primary is lost, writes that had not
/// arrived are lost as well: a used code may work again, and so may a token that was rotated or revoked.
/// [`wait`](RedisOptions::wait) acknowledges a write only when replicas have it. If it waits for all replicas of a
/// primary, the one that takes over has every acknowledged write. A primary that restarts with an empty disk empties
/// its replicas too. So an append-only file is required, unless [`accept_loss`](RedisOptions::accept_loss) is set. With
/// `appendfsync always`, a restarted server has every write that it acknowledged. The server setting
/// `min-replicas-to-write` refuses writes while replicas are away. A primary that is cut off from the others answers
/// reads for up to the cluster's node time-out, and may return a token as valid that its successor has revoked.
///
/// In a cluster, a row and its list are at different primaries. If a primary is lost without `wait` for all its
/// replicas, a list entry may be lost while the grant remains. The grant is then valid, but neither
/// [`grants_of`](crate::AuthorizationServer::grants_of) nor
/// [`revoke_subject`](crate::AuthorizationServer::revoke_subject) sees it until it is listed again. The purge lists it
/// again, and so do the decision on a request and one in four refreshes. A registration is listed again when it is next
/// written. If none of this may happen, keep registrations and grants in a SQL store.
///
/// The eviction policy must be `noeviction`: a server that evicts keys forgets revocations. The store checks the
/// policy, the release, the clock and the append-only file with every connection, so that a replica that takes over is
/// checked too. A server that does not let the user check them is refused, unless
/// [`accept_unchecked`](RedisOptions::accept_unchecked) is set. Keys and values hold no code, token or client secret,
/// only digests. They hold subjects, clients and the `state` of requests in plain text, which `MONITOR` and `SLOWLOG`
/// show as well.
///
/// # Examples
///
/// ```no_run
/// use grantor::{AuthorizationServer, Config, RedisStore};
/// use grantor::store::redis::RedisOptions;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let options = RedisOptions::new().prefix("accounts");
/// let store = RedisStore::connect("rediss://grantor:password@redis.example:6379", &options).await?;
/// let server = AuthorizationServer::new(Config::platform("https://auth.example"), store)?;
/// # Ok(())
/// # }
/// ```
///
/// A cluster whose primaries have one replica each:
///
/// ```no_run
/// use std::time::Duration;
///
/// use grantor::RedisStore;
/// use grantor::store::redis::RedisOptions;
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
    link: Arc<Link>,
    addresses: Arc<[String]>,
}

impl RedisStore {
    /// Connects to a standalone server, such as `redis://user:password@redis.example:6379/0`. An address with `rediss:`
    /// uses TLS.
    ///
    /// TLS uses the process's default provider of rustls. If there is none, `ring` becomes the default.
    ///
    /// # Errors
    ///
    /// [`RedisError`], such as [`RedisProblem::Evicts`] for a server that may lose keys, and
    /// [`RedisProblem::Newer`] for keys of a later layout. If the user may not ask the server, it is
    /// [`RedisProblem::Unchecked`], unless [`RedisOptions::accept_unchecked`] is set.
    pub async fn connect(address: &str, options: &RedisOptions) -> Result<Self, RedisError> {
        let link = link::single(address, options).await?;
        Ok(Self::new(link, &[address]))
    }

    /// Connects to a cluster through those of these servers that can be reached. The other servers are discovered, and
    /// use the user, the password and the TLS settings of the server that names them.
    ///
    /// # Errors
    ///
    /// [`RedisError`], as of [`connect`](Self::connect).
    pub async fn connect_cluster(addresses: &[&str], options: &RedisOptions) -> Result<Self, RedisError> {
        let link = link::cluster(addresses, options).await?;
        Ok(Self::new(link, addresses))
    }

    /// Returns a store of a standalone server that connects with its first call, for a service that starts before Redis
    /// does. Until the server was reached and checked as by [`connect`](Self::connect), every call fails with what that
    /// would return.
    ///
    /// # Errors
    ///
    /// [`RedisError`] if the address or an option is wrong.
    pub fn connect_lazily(address: &str, options: &RedisOptions) -> Result<Self, RedisError> {
        Ok(Self::new(link::single_unconnected(address, options)?, &[address]))
    }

    /// Returns a store of a cluster that connects with its first call, as [`connect_lazily`](Self::connect_lazily).
    ///
    /// # Errors
    ///
    /// [`RedisError`] if an address or an option is wrong.
    pub fn connect_cluster_lazily(addresses: &[&str], options: &RedisOptions) -> Result<Self, RedisError> {
        Ok(Self::new(link::cluster_unconnected(addresses, options)?, addresses))
    }

    fn new(link: Link, addresses: &[&str]) -> Self {
        Self { link: Arc::new(link), addresses: link::shown(addresses).into() }
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("addresses", &self.addresses)
            .field("prefix", &self.link.keys.prefix())
            .finish_non_exhaustive()
    }
}

impl Store for RedisStore {}

impl Engine for RedisStore {
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let _admitted = self.link.admit().await?;
        row::find(&self.link, table, key, |_| true).await
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        let _admitted = self.link.admit().await?;
        let inserted = write::insert(&self.link, &write).await?;
        Ok(if inserted { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        let _admitted = self.link.admit().await?;
        let replaced = write::replace(&self.link, version, &write).await?;
        Ok(if replaced { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        let _admitted = self.link.admit().await?;
        let confirmed = write::confirm(&self.link, &write).await?;
        Ok(if confirmed { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        let _admitted = self.link.admit().await?;
        listed::list(&self.link, list, after, limit).await
    }

    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let _admitted = self.link.admit().await?;
        Ok(PurgeStep { link: &self.link, table, now }.run(limit).await?)
    }
}
