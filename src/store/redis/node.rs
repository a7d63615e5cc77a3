//! One server and the connections to it. A command and the proof that follows it are sent together, so that no other
//! caller's command comes between.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, Pipeline, TlsCertificates, Value};
use tokio::sync::Mutex;

use crate::base::measure;
use crate::store::redis::check::{Demands, Log, Place, Role, is_primary};
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::options::{RedisOptions, Wait};

/// The connection for all commands that do not wait for replicas.
pub(super) const COMMON_CONNECTION: usize = 0;
/// The number of connections for writes that wait for replicas. Each is blocked while a write waits.
pub(super) const WAITING_CONNECTIONS: usize = 8;
/// How many commands may wait to be written to a socket; further callers wait.
const BUFFERED_COMMANDS: usize = 1024;

/// A server that is connected to on demand, and again after a connection is lost.
pub(super) struct Node {
    client: Client,
    config: AsyncConnectionConfig,
    demands: Demands,
    connections: Box<[SharedConnection]>,
}

/// One connection, shared by all callers, which is replaced when it is lost.
#[derive(Default)]
struct SharedConnection {
    current: RwLock<Option<Connected>>,
    /// Held while a connection is made, with the count of connections made.
    made: Mutex<u64>,
}

#[derive(Clone)]
struct Connected {
    connection: MultiplexedConnection,
    role: Role,
    /// Distinguishes it from earlier and later connections.
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
            // The certificates would have no effect, and the caller expects TLS.
            (Some(_), _) => return Err(RedisProblem::Setting("root_certificates").into()),
            (None, _) => Client::open(info)?,
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            // Every call has its own time-out.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(BUFFERED_COMMANDS);
        let (count, log) =
            if options.wait.is_some() { (1 + WAITING_CONNECTIONS, Log::Needed) } else { (1, options.log) };
        let demands = Demands { place, log, unchecked: options.unchecked };
        Ok(Self { client, config, demands, connections: (0..count).map(|_| SharedConnection::default()).collect() })
    }

    pub(super) fn info(&self) -> &ConnectionInfo {
        self.client.get_connection_info()
    }

    /// Returns the host's name; a Unix socket has none.
    pub(super) fn host(&self) -> &str {
        #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum; nothing else has a host")]
        match self.info().addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
            _ => "",
        }
    }

    /// Connects to a primary, if that has not been done.
    pub(super) async fn open(&self) -> Result<(), RedisError> {
        self.connected(self.shared(COMMON_CONNECTION)?, Purpose::Reading).await.map(drop)
    }

    /// Sends a message and returns the answer to its command. `asking` is set while the key is migrating here.
    pub(super) async fn send(&self, message: &Message, asking: bool) -> Result<Value, RedisError> {
        let shared = self.shared(message.connection)?;
        let Connected { connection, role, number } = self.connected(shared, message.purpose).await?;
        let sent = message.exchange(connection, role, asking).await;
        if sent.as_ref().is_err_and(RedisError::ends_connection) && shared.forget(number) {
            // If the address now leads to another server, it does so for all connections.
            self.connections.iter().for_each(SharedConnection::leave);
        }
        sent
    }

    fn shared(&self, number: usize) -> Result<&SharedConnection, RedisError> {
        self.connections.get(number).ok_or_else(|| RedisProblem::Setting("wait").into())
    }

    async fn connected(&self, shared: &SharedConnection, purpose: Purpose) -> Result<Connected, RedisError> {
        if let Some(connected) = shared.current() {
            if connected.serves(purpose) {
                return Ok(connected);
            }
            // It may have been promoted since.
            shared.forget(connected.number);
        }
        let connected = self.connect(shared).await?;
        if connected.serves(purpose) { Ok(connected) } else { Err(RedisProblem::Replica.into()) }
    }

    /// Makes a connection; all others wait for it.
    async fn connect(&self, shared: &SharedConnection) -> Result<Connected, RedisError> {
        let mut made = shared.made.lock().await;
        if let Some(connected) = shared.current() {
            return Ok(connected);
        }
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&self.config).await?;
        let role = self.demands.check(&mut connection).await?;
        *made += 1;
        measure::connected("redis");
        let connected = Connected { connection, role, number: *made };
        *shared.current.write().unwrap_or_else(PoisonError::into_inner) = Some(connected.clone());
        Ok(connected)
    }
}

impl Connected {
    fn serves(&self, purpose: Purpose) -> bool {
        self.role != Role::Replica || matches!(purpose, Purpose::Servers)
    }
}

impl SharedConnection {
    fn current(&self) -> Option<Connected> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Drops a connection, unless there already is a newer one; returns whether it did.
    fn forget(&self, number: u64) -> bool {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|connected| connected.number == number).is_some()
    }

    /// Drops the connection, if there is one.
    fn leave(&self) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A command, and how it is sent.
pub(super) struct Message {
    pub(super) command: Cmd,
    pub(super) purpose: Purpose,
    pub(super) connection: usize,
}

/// The purpose of a command.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// Lists the servers, which a replica can do as well.
    Servers,
    /// Reads a key as the primary has it.
    Reading,
    /// Writes a key, and may wait for replicas before the answer.
    Writing(Option<Wait>),
}

/// A question after a command. The command's answer is valid only with the right answer to this one.
enum Proof {
    None,
    /// A standalone server answers reads even when it is a replica.
    Role,
    Wait(Wait),
}

impl Message {
    /// Sends the command to a server and returns its answer. `asking` is set while the key is migrating there.
    async fn exchange(
        &self,
        mut connection: MultiplexedConnection,
        role: Role,
        asking: bool,
    ) -> Result<Value, RedisError> {
        let proof = match (self.purpose, role) {
            (Purpose::Reading, Role::Primary { reports_role: true }) => Proof::Role,
            (Purpose::Writing(Some(wait)), _) => Proof::Wait(wait),
            _ => Proof::None,
        };
        if matches!(proof, Proof::None) && !asking {
            return Ok(connection.send_packed_command(&self.command).await?.extract_error()?);
        }
        let mut pipeline = Pipeline::with_capacity(3);
        if asking {
            pipeline.cmd("ASKING");
        }
        pipeline.add_command(self.command.clone());
        proof.ask(&mut pipeline);
        let (skipped, answers) = (usize::from(asking), pipeline.len() - usize::from(asking));
        let mut answers = connection.send_packed_commands(&pipeline, skipped, answers).await?.into_iter();
        let answer = answers.next().ok_or(RedisProblem::Refused)?.extract_error()?;
        proof.judge(answers.next())?;
        Ok(answer)
    }
}

impl Proof {
    fn ask(&self, pipeline: &mut Pipeline) {
        match self {
            Self::None => {}
            Self::Role => {
                pipeline.cmd("ROLE");
            }
            // `WAIT` covers only the writes of its own connection.
            Self::Wait(wait) => {
                pipeline.cmd("WAIT").arg(wait.replicas).arg(wait.timeout.as_millis().max(1).to_string());
            }
        }
    }

    fn judge(&self, answer: Option<Value>) -> Result<(), RedisError> {
        let answer = answer.unwrap_or(Value::Nil).extract_error()?;
        let (holds, problem) = match self {
            Self::None => return Ok(()),
            Self::Role => (is_primary(answer)?, RedisProblem::Replica),
            Self::Wait(wait) => (redis::from_redis_value::<u32>(answer)? >= wait.replicas, RedisProblem::NotReplicated),
        };
        if holds { Ok(()) } else { Err(problem.into()) }
    }
}

/// Returns settings with which a vanished peer is noticed within about ten seconds.
fn tcp_settings() -> TcpSettings {
    let second = Duration::from_secs(1);
    let keepalive = TcpKeepalive::new().with_time(second * 4).with_interval(second * 2);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(second * 10);
    settings
}
