//! Everything in a Redis server or cluster.

mod check;
mod connect;
mod due;
mod error;
mod exchange;
mod find;
mod keys;
mod layout;
mod link;
mod listed;
mod node;
mod options;
mod router;
mod row;
mod rows;
mod script;
mod slots;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::clock::Timestamp;
use crate::store::redis::due::PurgeStep;
use crate::store::redis::keys::Keys;
use crate::store::redis::link::Link;
use crate::store::{Engine, Insertion, List, Part, Purge, Replacement, Row, StoreError, Table, Write};

pub use crate::store::redis::error::{RedisError, RedisProblem};
pub use crate::store::redis::options::RedisOptions;

/// A store in a Redis server, or in a cluster of them.
///
/// It is an [`Engine`], so a registry and a store of codes, tokens and replays. Every change is one script on one
/// key, so that any slot of a cluster will do. A command goes to the primary that has the key, never to a
/// replica: a server that stands alone states after each answer to a reader whether it is still a primary. A
/// command is sent again within its time-out when a connection breaks or another primary takes over. A write
/// that arrives twice is recognized by its number and is answered as it was the first time. A read may return what
/// no replica has yet, so [`reads_settled`](Engine::reads_settled) is `false`. Clones share everything. The connections are driven by the tokio
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
/// right to the minute. In a test that sets another time, rows are removed by
/// [`purge_expired`](crate::AuthorizationServer::purge_expired) alone. That call is needed in any case: it
/// removes the list entries of rows that have expired.
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
/// is checked too. A server that does not let the user ask is refused, unless
/// [`accept_unchecked`](RedisOptions::accept_unchecked) is set. Keys and values hold no code, token or client secret, only digests. Subjects and clients,
/// and the `state` of requests, stand in them as they are, and so in `MONITOR` and `SLOWLOG`.
///
/// # Examples
///
/// ```no_run
/// use grantor::{AuthorizationServer, Config, RedisOptions, RedisStore};
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
    keys: Keys,
    addresses: Vec<String>,
    /// The set of due times at which the next purge begins.
    next_due_set: AtomicUsize,
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
    /// [`RedisProblem::Newer`] for keys of a later layout. If the user may not ask the server, it is
    /// [`RedisProblem::Unchecked`], unless [`RedisOptions::accept_unchecked`] is set.
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
        let keys = Keys::new(&options.prefix);
        Self { inner: Arc::new(Inner { link, keys, addresses, next_due_set: AtomicUsize::new(0) }) }
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("addresses", &self.inner.addresses)
            .field("prefix", &self.inner.keys.prefix())
            .finish_non_exhaustive()
    }
}

impl Engine for RedisStore {
    async fn find(&self, table: Table, key: &[u8], part: Part) -> Result<Option<Vec<u8>>, StoreError> {
        let Inner { link, keys, .. } = &*self.inner;
        let _admitted = link.admit()?;
        find::find(link, keys, table, key, part).await
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        let Inner { link, keys, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let inserted = rows::insert(link, keys, &write).await?;
        Ok(if inserted { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        let Inner { link, keys, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let replaced = rows::replace(link, keys, version, &write).await?;
        Ok(if replaced { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        let Inner { link, keys, .. } = &*self.inner;
        let _admitted = link.admit()?;
        let confirmed = rows::confirm(link, keys, &write).await?;
        Ok(if confirmed { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        let Inner { link, keys, .. } = &*self.inner;
        let _admitted = link.admit()?;
        listed::list(link, keys, list, after, limit).await
    }

    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let Inner { link, keys, next_due_set, .. } = &*self.inner;
        let _admitted = link.admit()?;
        Ok(PurgeStep { link, keys, table, now, next_set: next_due_set }.run(limit).await?)
    }
}
