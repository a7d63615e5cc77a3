//! The connections to a server or a cluster: every command goes through here.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::ConnectionManager;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr};
use redis::{Cmd, FromRedisValue, Pipeline, Value};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::options::{RedisOptions, Wait};

/// Connections that are shared by all callers, each of which reconnects by itself.
pub(super) struct Link {
    reader: Connection,
    /// More than one if writes wait for replicas, since a connection that waits answers nobody else.
    writers: Box<[Connection]>,
    next_writer: AtomicUsize,
    in_flight: Semaphore,
    response_timeout: Duration,
    wait: Option<Wait>,
    runtime: Handle,
}

/// One connection, or one to every primary of a cluster.
#[derive(Clone)]
pub(super) enum Connection {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl Link {
    /// Puts connections together: the first is for reads and, if it is the only one, for writes too.
    pub(super) fn new(reader: Connection, writers: Box<[Connection]>, options: &RedisOptions, runtime: Handle) -> Self {
        Self {
            reader,
            writers,
            next_writer: AtomicUsize::new(0),
            in_flight: Semaphore::new(options.in_flight),
            response_timeout: options.response_timeout,
            wait: options.wait,
            runtime,
        }
    }

    /// Sends a command that only reads `key`, to the primary that has it.
    pub(super) async fn read<T: FromRedisValue>(&self, key: &[u8], command: Cmd) -> Result<T, RedisError> {
        self.in_time(self.response_timeout, self.reader.clone().send(key, command)).await
    }

    /// Sends a command that changes `key` alone, and waits for replicas if that was asked for.
    pub(super) async fn write<T: FromRedisValue>(&self, key: &[u8], command: Cmd) -> Result<T, RedisError> {
        let number = self.next_writer.fetch_add(1, Ordering::Relaxed) % self.writers.len().max(1);
        let connection = self.writers.get(number).unwrap_or(&self.reader).clone();
        match self.wait {
            None => self.in_time(self.response_timeout, connection.send(key, command)).await,
            Some(wait) => {
                let within = self.response_timeout.saturating_add(wait.timeout);
                self.in_time(within, connection.send_and_wait(key, command, wait)).await
            }
        }
    }

    /// Runs `call` if there is room for it, for so long and no longer.
    async fn in_time<T: FromRedisValue>(
        &self,
        within: Duration,
        call: impl Future<Output = Result<Value, RedisError>>,
    ) -> Result<T, RedisError> {
        let Ok(_permit) = self.in_flight.try_acquire() else { return Err(RedisProblem::QueueFull.into()) };
        let answer = self.within_runtime(async { timeout(within, call).await }).await;
        let value = answer.map_err(|_| RedisProblem::TimedOut)??;
        Ok(redis::from_redis_value(value)?)
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

impl Connection {
    async fn send(self, key: &[u8], command: Cmd) -> Result<Value, RedisError> {
        let value = match self {
            Self::Single(mut connection) => connection.send_packed_command(&command).await,
            Self::Cluster(mut connection) => {
                connection.route_command(command, RoutingInfo::SingleNode(primary_of(key))).await
            }
        };
        Ok(value?.extract_error()?)
    }

    /// Sends `WAIT` right behind the command: it speaks of what its own connection has written.
    async fn send_and_wait(self, key: &[u8], command: Cmd, wait: Wait) -> Result<Value, RedisError> {
        let mut pipeline = Pipeline::with_capacity(2);
        let milliseconds = wait.timeout.as_millis().max(1);
        pipeline.add_command(command).cmd("WAIT").arg(wait.replicas).arg(milliseconds.to_string());
        let values = match self {
            Self::Single(mut connection) => connection.send_packed_commands(&pipeline, 0, 2).await,
            Self::Cluster(mut connection) => connection.route_pipeline(pipeline, 0, 2, primary_of(key)).await,
        };
        let mut values = values?.into_iter();
        let (Some(answer), Some(replicas)) = (values.next(), values.next()) else {
            return Err(RedisProblem::Refused.into());
        };
        let answer = answer.extract_error()?;
        let replicas: u32 = redis::from_redis_value(replicas.extract_error()?)?;
        if replicas < wait.replicas { Err(RedisProblem::NotReplicated.into()) } else { Ok(answer) }
    }
}

fn primary_of(key: &[u8]) -> SingleNodeRoutingInfo {
    SingleNodeRoutingInfo::SpecificNode(Route::with_key(key, SlotAddr::Master))
}
