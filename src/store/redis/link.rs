//! Sends every command, with a time-out, and limits the number of calls in progress.
//!
//! Connects a store to a server or a cluster, and checks the version of the key layout there, so that a release refuses
//! one that it does not know.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::{Cmd, ConnectionAddr, ConnectionInfo, FromRedisValue, IntoConnectionInfo};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use crate::base::measure;
use crate::store::redis::check::Place;
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::keys::Keys;
use crate::store::redis::node::{COMMON_CONNECTION, Message, Node, Purpose, WAITING_CONNECTIONS};
use crate::store::redis::options::{RedisOptions, Wait};
use crate::store::redis::router::Router;

/// A script, which reads and writes one key and nothing else, and the hash under which a server caches it.
pub(super) struct Script {
    code: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    const fn new(code: &'static str) -> Self {
        Self { code, hash: OnceLock::new() }
    }
}

/// Writes a row again as it is.
pub(super) static CONFIRM: Script = Script::new(include_str!("confirm.lua"));
/// Adds an entry to a list.
pub(super) static LIST: Script = Script::new(include_str!("list.lua"));
/// Writes a row.
pub(super) static PUT: Script = Script::new(include_str!("put.lua"));
/// Adds an entry to a list, unless there is one for its key.
pub(super) static RELIST: Script = Script::new(include_str!("relist.lua"));
/// Removes a row that is due.
pub(super) static REMOVE: Script = Script::new(include_str!("remove.lua"));

/// A server or a cluster, shared by all callers.
pub(super) struct Link {
    pub(super) keys: Keys,
    /// The set of due times at which the next purge begins.
    pub(super) next_due_set: AtomicUsize,
    router: Router,
    next_connection: AtomicUsize,
    in_flight: Semaphore,
    in_flight_limit: usize,
    response_timeout: Duration,
    wait: Option<Wait>,
    runtime: Handle,
    /// Whether the layout of the keys was checked. Until then, no other command is sent.
    layout: OnceCell<()>,
}

impl Link {
    pub(super) fn new(router: Router, options: &RedisOptions, runtime: Handle) -> Self {
        Self {
            keys: Keys::new(options.prefix.clone()),
            next_due_set: AtomicUsize::new(0),
            router,
            next_connection: AtomicUsize::new(0),
            in_flight: Semaphore::new(options.queue_limit),
            in_flight_limit: options.queue_limit,
            response_timeout: options.response_timeout,
            wait: options.wait,
            runtime,
            layout: OnceCell::new(),
        }
    }

    /// Admits a call of the store, however many commands it sends, if there is room for it.
    pub(super) async fn admit(&self) -> Result<SemaphorePermit<'_>, RedisError> {
        let admitted = self.in_flight.try_acquire().map_err(|_| RedisProblem::QueueFull)?;
        measure::waiting("redis", "calls", self.in_flight_limit.saturating_sub(self.in_flight.available_permits()));
        self.layout.get_or_try_init(|| check_layout(self)).await?;
        Ok(admitted)
    }

    /// Connects to all servers, and checks the layout of the keys.
    async fn open(self, options: &RedisOptions) -> Result<Self, RedisError> {
        let within = options.connect_timeout.saturating_add(options.response_timeout);
        timeout(within, self.router.open()).await.map_err(|_| RedisProblem::TimedOut)??;
        self.layout.get_or_try_init(|| check_layout(&self)).await?;
        Ok(self)
    }

    /// Returns whether a row and its index entries may be at different servers.
    pub(super) fn spreads_keys(&self) -> bool {
        self.router.is_cluster()
    }

    /// Sends a command that only reads `key`, to the primary that has it.
    pub(super) async fn read<T: FromRedisValue>(&self, key: &[u8], command: Cmd) -> Result<T, RedisError> {
        let message = Message { command, purpose: Purpose::Reading, connection: COMMON_CONNECTION };
        self.send(key, &message, self.response_timeout).await
    }

    /// Sends a command that changes only `key`, and waits for replicas if the options say so.
    pub(super) async fn write<T: FromRedisValue>(&self, key: &[u8], command: Cmd) -> Result<T, RedisError> {
        let (connection, within) = match self.wait {
            None => (COMMON_CONNECTION, self.response_timeout),
            Some(wait) => {
                let number = self.next_connection.fetch_add(1, Ordering::Relaxed) % WAITING_CONNECTIONS;
                (COMMON_CONNECTION + 1 + number, self.response_timeout.saturating_add(wait.timeout))
            }
        };
        self.send(key, &Message { command, purpose: Purpose::Writing(self.wait), connection }, within).await
    }

    /// Runs a script on `key`. Its text is sent only to a server that does not know it.
    pub(super) async fn run(&self, script: &Script, key: &[u8], arguments: &[&[u8]]) -> Result<i64, RedisError> {
        let hash = script.hash.get_or_init(|| redis::Script::new(script.code).get_hash().to_owned());
        match self.write(key, call("EVALSHA", hash, key, arguments)).await {
            Err(error) if error.is_unknown_script() => self.write(key, call("EVAL", script.code, key, arguments)).await,
            known => known,
        }
    }

    async fn send<T: FromRedisValue>(&self, key: &[u8], message: &Message, within: Duration) -> Result<T, RedisError> {
        let sent = async {
            let deadline = Instant::now() + within;
            timeout_at(deadline, self.router.send(key, message, deadline)).await
        };
        let Ok(answer) = self.within_runtime(sent).await else {
            self.router.doubt();
            return Err(RedisProblem::TimedOut.into());
        };
        Ok(redis::from_redis_value(answer?)?)
    }

    /// Lets a future that needs a timer be polled by any executor.
    async fn within_runtime<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let _entered = self.runtime.enter();
            future.as_mut().poll(context)
        })
        .await
    }
}

fn call(name: &str, script: &str, key: &[u8], arguments: &[&[u8]]) -> Cmd {
    let length = script.len() + key.len() + arguments.iter().map(|argument| argument.len()).sum::<usize>();
    let mut command = Cmd::with_capacity(4 + arguments.len(), length + name.len() + 1);
    command.arg(name).arg(script).arg(1).arg(key).arg(arguments);
    command
}

/// The layout of keys that this release reads and writes.
const LAYOUT: u32 = 1;

/// Connects to a standalone server.
pub(super) async fn single(address: &str, options: &RedisOptions) -> Result<Link, RedisError> {
    single_unconnected(address, options)?.open(options).await
}

/// The same, which connects with its first call.
pub(super) fn single_unconnected(address: &str, options: &RedisOptions) -> Result<Link, RedisError> {
    let runtime = prepare(options)?;
    let node = Node::new(info(address)?, Place::Alone, options)?;
    Ok(Link::new(Router::single(node, options), options, runtime))
}

/// Connects to a cluster, through any of its servers.
pub(super) async fn cluster(addresses: &[&str], options: &RedisOptions) -> Result<Link, RedisError> {
    cluster_unconnected(addresses, options)?.open(options).await
}

/// The same, which connects with its first call.
pub(super) fn cluster_unconnected(addresses: &[&str], options: &RedisOptions) -> Result<Link, RedisError> {
    let runtime = prepare(options)?;
    if addresses.is_empty() {
        return Err(RedisProblem::Address.into());
    }
    let seed = |address: &&str| Node::new(info(address)?, Place::Cluster, options);
    let seeds = addresses.iter().map(seed).collect::<Result<Vec<_>, _>>()?;
    Ok(Link::new(Router::cluster(seeds, options), options, runtime))
}

/// Returns the addresses without their passwords, as they may be shown.
pub(super) fn shown(addresses: &[&str]) -> Vec<String> {
    let shown: BTreeSet<_> =
        addresses.iter().filter_map(|address| Some(info(address).ok()?.addr().to_string())).collect();
    shown.into_iter().collect()
}

/// Refuses keys of a later layout, and marks a prefix that has no keys yet.
async fn check_layout(link: &Link) -> Result<(), RedisError> {
    let key = link.keys.layout();
    let mut get = Cmd::new();
    get.arg("GET").arg(&key);
    match link.read::<Option<u32>>(&key, get).await? {
        Some(layout) if layout > LAYOUT => return Err(RedisProblem::Newer { layout }.into()),
        Some(_) => return Ok(()),
        None => {}
    }
    let mut set = Cmd::new();
    set.arg("SET").arg(&key).arg(LAYOUT).arg("NX");
    match link.write::<Option<String>>(&key, set).await {
        // A server that currently takes no writes can still be read. The next store that connects marks it.
        Err(error) if !error.is_transient() => Err(error),
        _ => Ok(()),
    }
}

fn prepare(options: &RedisOptions) -> Result<Handle, RedisError> {
    // With a colon, the keys of one prefix could be those of another, such as `a` and `a:grant`.
    if options.prefix.contains(['{', '}', ':']) {
        return Err(RedisProblem::Setting("prefix").into());
    }
    Handle::try_current().map_err(|_| RedisProblem::Setting("runtime").into())
}

fn info(address: &str) -> Result<ConnectionInfo, RedisError> {
    let info = address.into_connection_info()?;
    if let ConnectionAddr::TcpTls { insecure, .. } = info.addr() {
        if *insecure {
            return Err(RedisProblem::Setting("insecure").into());
        }
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // The client library uses the process's provider, and panics if a program links two and selects none. If
            // another thread was faster, a provider is set, which is enough.
            drop(rustls::crypto::ring::default_provider().install_default());
        }
    }
    Ok(info)
}
