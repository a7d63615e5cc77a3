//! One server and the connections to it.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, Pipeline, ServerErrorKind,
    TlsCertificates, Value,
};
use tokio::sync::Mutex;

use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::options::{RedisOptions, Wait};

/// The connection for all that waits for no replicas.
pub(super) const COMMON_LANE: usize = 0;
/// Connections for writes that wait, behind the common one: each of them answers nobody else meanwhile.
pub(super) const WAITING_LANES: usize = 8;
/// Commands that wait to be written to a socket, beyond which callers wait in turn.
const BUFFERED_COMMANDS: usize = 1024;

/// A server that is connected when it is needed, and anew when a connection has gone.
pub(super) struct Node {
    client: Client,
    config: AsyncConnectionConfig,
    lanes: Box<[Lane]>,
}

/// One connection, shared by all callers, that may come and go.
#[derive(Default)]
struct Lane {
    current: RwLock<Option<Connected>>,
    /// Held while a connection is made, with the count of those that were.
    made: Mutex<u64>,
}

#[derive(Clone)]
struct Connected {
    connection: MultiplexedConnection,
    /// Tells it from those before and after it.
    number: u64,
}

/// A command, and how it is sent.
pub(super) struct Message {
    pub(super) command: Cmd,
    pub(super) wait: Option<Wait>,
    pub(super) lane: usize,
}

impl Node {
    pub(super) fn new(info: ConnectionInfo, options: &RedisOptions) -> Result<Self, RedisError> {
        let info = info.set_tcp_settings(tcp_settings());
        let client = match (&options.root_certificates, info.addr()) {
            (Some(pem), ConnectionAddr::TcpTls { .. }) => {
                let certificates = TlsCertificates { client_tls: None, root_cert: Some(pem.clone()) };
                Client::build_with_tls(info, certificates)?
            }
            _ => Client::open(info)?,
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            // Every call ends in time by itself.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(BUFFERED_COMMANDS);
        let lanes = if options.wait.is_some() { 1 + WAITING_LANES } else { 1 };
        Ok(Self { client, config, lanes: (0..lanes).map(|_| Lane::default()).collect() })
    }

    pub(super) fn info(&self) -> &ConnectionInfo {
        self.client.get_connection_info()
    }

    /// Returns the host's name; a socket of the file system has none.
    pub(super) fn host(&self) -> &str {
        #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum; nothing else has a host")]
        match self.info().addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
            _ => "",
        }
    }

    /// Sends a message and returns what its command is answered; `asking` when the key is on its way here.
    pub(super) async fn send(&self, message: &Message, asking: bool) -> Result<Value, RedisError> {
        let lane = self.lanes.get(message.lane).ok_or(RedisProblem::Setting("wait"))?;
        let Connected { connection, number } = match lane.current() {
            Some(connected) => connected,
            None => self.connect(lane).await?,
        };
        match transmit(connection, message, asking).await {
            Err(error) if must_reconnect(&error) => {
                lane.forget(number);
                Err(error.into())
            }
            answer => replicated(answer?, message.wait),
        }
    }

    /// Makes a connection; all others wait for it.
    async fn connect(&self, lane: &Lane) -> Result<Connected, RedisError> {
        let mut made = lane.made.lock().await;
        if let Some(connected) = lane.current() {
            return Ok(connected);
        }
        let connection = self.client.get_multiplexed_async_connection_with_config(&self.config).await?;
        *made += 1;
        let connected = Connected { connection, number: *made };
        *lane.current.write().unwrap_or_else(PoisonError::into_inner) = Some(connected.clone());
        Ok(connected)
    }
}

impl Lane {
    fn current(&self) -> Option<Connected> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Drops a connection, unless there is a newer one already.
    fn forget(&self, number: u64) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|connected| connected.number == number);
    }
}

/// Sends all that belongs together in one piece, so that no other caller's command comes between.
async fn transmit(
    mut connection: MultiplexedConnection,
    message: &Message,
    asking: bool,
) -> Result<Vec<Value>, redis::RedisError> {
    if message.wait.is_none() && !asking {
        return Ok(vec![connection.send_packed_command(&message.command).await?.extract_error()?]);
    }
    let mut pipeline = Pipeline::with_capacity(3);
    if asking {
        pipeline.cmd("ASKING");
    }
    pipeline.add_command(message.command.clone());
    if let Some(wait) = message.wait {
        // What it answers is about the writes of its own connection.
        pipeline.cmd("WAIT").arg(wait.replicas).arg(wait.timeout.as_millis().max(1).to_string());
    }
    let (skipped, answers) = (usize::from(asking), 1 + usize::from(message.wait.is_some()));
    let values = connection.send_packed_commands(&pipeline, skipped, answers).await?;
    values.into_iter().map(Value::extract_error).collect()
}

fn replicated(values: Vec<Value>, wait: Option<Wait>) -> Result<Value, RedisError> {
    let mut values = values.into_iter();
    let answer = values.next().ok_or(RedisProblem::Refused)?;
    if let Some(wait) = wait {
        let replicas: u32 = redis::from_redis_value(values.next().unwrap_or(Value::Nil))?;
        if replicas < wait.replicas {
            return Err(RedisProblem::NotReplicated.into());
        }
    }
    Ok(answer)
}

/// A server that is no primary any more may have handed its name on to another.
fn must_reconnect(error: &redis::RedisError) -> bool {
    error.is_unrecoverable_error()
        || error.is_io_error()
        || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
}

/// A peer that has vanished without a word is noticed within about ten seconds.
fn tcp_settings() -> TcpSettings {
    let second = Duration::from_secs(1);
    let keepalive = TcpKeepalive::new().with_time(second * 4).with_interval(second * 2);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(second * 10);
    settings
}
