//! Sends every command, with a time-out, and limits the number of calls in progress.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::{Cmd, FromRedisValue};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::keys::Keys;
use crate::store::redis::node::{COMMON_CONNECTION, Message, Purpose, WAITING_CONNECTIONS};
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
    response_timeout: Duration,
    wait: Option<Wait>,
    runtime: Handle,
}

impl Link {
    pub(super) fn new(router: Router, options: &RedisOptions, runtime: Handle) -> Self {
        Self {
            keys: Keys::new(options.prefix.clone()),
            next_due_set: AtomicUsize::new(0),
            router,
            next_connection: AtomicUsize::new(0),
            in_flight: Semaphore::new(options.queue_limit),
            response_timeout: options.response_timeout,
            wait: options.wait,
            runtime,
        }
    }

    /// Admits a call of the store, however many commands it sends, if there is room for it.
    pub(super) fn admit(&self) -> Result<SemaphorePermit<'_>, RedisError> {
        self.in_flight.try_acquire().map_err(|_| RedisProblem::QueueFull.into())
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
