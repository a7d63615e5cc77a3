//! One server and the connections to it.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, TlsCertificates, Value};
use tokio::sync::Mutex;

use crate::store::redis::check::{Demands, Log, Place, Role};
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::exchange::{Message, Purpose};
use crate::store::redis::options::RedisOptions;

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
    demands: Demands,
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
    role: Role,
    /// Tells it from those before and after it.
    number: u64,
}

impl Node {
    pub(super) fn new(info: ConnectionInfo, place: Place, options: &RedisOptions) -> Result<Self, RedisError> {
        let info = info.set_tcp_settings(tcp_settings());
        let client = match (&options.root_certificates, info.addr()) {
            (Some(pem), ConnectionAddr::TcpTls { .. }) => {
                let certificates = TlsCertificates { client_tls: None, root_cert: Some(pem.clone()) };
                Client::build_with_tls(info, certificates)?
            }
            // They would be no use, and whoever gave them expects TLS.
            (Some(_), _) => return Err(RedisProblem::Setting("root_certificates").into()),
            (None, _) => Client::open(info)?,
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            // Every call ends in time by itself.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(BUFFERED_COMMANDS);
        let (lanes, log) = if options.wait.is_some() { (1 + WAITING_LANES, Log::Needed) } else { (1, Log::AsItIs) };
        let demands = Demands { place, log, unchecked: options.unchecked };
        Ok(Self { client, config, demands, lanes: (0..lanes).map(|_| Lane::default()).collect() })
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

    /// Connects to a primary, if that has not been done.
    pub(super) async fn open(&self) -> Result<(), RedisError> {
        self.connected(self.lane(COMMON_LANE)?, Purpose::Reading).await.map(drop)
    }

    /// Sends a message and returns what its command is answered; `asking` when the key is on its way here.
    pub(super) async fn send(&self, message: &Message, asking: bool) -> Result<Value, RedisError> {
        let lane = self.lane(message.lane)?;
        let Connected { connection, role, number } = self.connected(lane, message.purpose).await?;
        let sent = message.exchange(connection, role, asking).await;
        if sent.as_ref().is_err_and(RedisError::ends_connection) && lane.forget(number) {
            // Where the address is that of another server now, it is so for all connections.
            self.lanes.iter().for_each(Lane::leave);
        }
        sent
    }

    fn lane(&self, number: usize) -> Result<&Lane, RedisError> {
        self.lanes.get(number).ok_or_else(|| RedisProblem::Setting("wait").into())
    }

    async fn connected(&self, lane: &Lane, purpose: Purpose) -> Result<Connected, RedisError> {
        if let Some(connected) = lane.current() {
            if connected.serves(purpose) {
                return Ok(connected);
            }
            // It may have been promoted since.
            lane.forget(connected.number);
        }
        let connected = self.connect(lane).await?;
        if connected.serves(purpose) { Ok(connected) } else { Err(RedisProblem::Replica.into()) }
    }

    /// Makes a connection; all others wait for it.
    async fn connect(&self, lane: &Lane) -> Result<Connected, RedisError> {
        let mut made = lane.made.lock().await;
        if let Some(connected) = lane.current() {
            return Ok(connected);
        }
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&self.config).await?;
        let role = self.demands.check(&mut connection).await?;
        *made += 1;
        let connected = Connected { connection, role, number: *made };
        *lane.current.write().unwrap_or_else(PoisonError::into_inner) = Some(connected.clone());
        Ok(connected)
    }
}

impl Connected {
    fn serves(&self, purpose: Purpose) -> bool {
        self.role != Role::Replica || matches!(purpose, Purpose::Servers)
    }
}

impl Lane {
    fn current(&self) -> Option<Connected> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Drops a connection, unless there is a newer one already; tells whether it did.
    fn forget(&self, number: u64) -> bool {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|connected| connected.number == number).is_some()
    }

    /// Drops whatever connection there is.
    fn leave(&self) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
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
