//! How connections are made, and how they come back.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};
use redis::{RedisResult, TlsCertificates};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::store::redis::check;
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::link::{Connection, Link};
use crate::store::redis::options::RedisOptions;

/// Connections for writes that wait: each of them waits for one write at a time.
const WAITING_WRITERS: usize = 8;
/// Attempts to come back before the calls that wait for it fail; the next call begins anew.
const ATTEMPTS: usize = 8;
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often a command is sent again within its time-out, while a cluster finds its new primaries.
const RETRIES: u32 = 64;
const SHORTEST_RETRY_MILLISECONDS: u64 = 20;
const LONGEST_RETRY_MILLISECONDS: u64 = 500;
/// Commands that wait to be written to the socket, beyond which callers wait in turn.
const BUFFERED_COMMANDS: usize = 1024;

/// Connects to a server that stands alone.
pub(super) async fn single(address: &str, options: &RedisOptions) -> Result<(Link, Vec<String>), RedisError> {
    let runtime = prepare(options)?;
    let info = connection_info(address)?;
    let shown = vec![info.addr().to_string()];
    let client = client(info, options)?;
    let first = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.connect_timeout))
        .set_response_timeout(Some(options.response_timeout));
    let mut connection = client.get_multiplexed_async_connection_with_config(&first).await?;
    check::single(&mut connection).await?;
    let managed = || -> RedisResult<_> {
        let manager = ConnectionManager::new_lazy_with_config(client.clone(), manager_config(options))?;
        Ok(Connection::Single(manager))
    };
    let reader = managed()?;
    let writers = match options.wait {
        None => Box::new([reader.clone()]),
        Some(_) => (0..WAITING_WRITERS).map(|_| managed()).collect::<RedisResult<Box<[_]>>>()?,
    };
    Ok((Link::new(reader, writers, options, runtime), shown))
}

/// Connects to a cluster, through any of its nodes.
pub(super) async fn cluster(addresses: &[&str], options: &RedisOptions) -> Result<(Link, Vec<String>), RedisError> {
    let runtime = prepare(options)?;
    let nodes: Vec<_> = addresses.iter().map(|address| connection_info(address)).collect::<Result<_, _>>()?;
    let shown = nodes.iter().map(|node| node.addr().to_string()).collect();
    let client = cluster_client(nodes, options)?;
    let mut connection = cluster_connection(&client, options).await?;
    check::cluster(&mut connection).await?;
    let reader = Connection::Cluster(connection);
    let mut writers = Vec::new();
    if options.wait.is_some() {
        for _ in 0..WAITING_WRITERS {
            writers.push(Connection::Cluster(cluster_connection(&client, options).await?));
        }
    } else {
        writers.push(reader.clone());
    }
    Ok((Link::new(reader, writers.into(), options, runtime), shown))
}

fn prepare(options: &RedisOptions) -> Result<Handle, RedisError> {
    if options.prefix.contains(['{', '}']) {
        return Err(RedisProblem::Setting("prefix").into());
    }
    Handle::try_current().map_err(|_| RedisProblem::Setting("runtime").into())
}

fn connection_info(address: &str) -> Result<ConnectionInfo, RedisError> {
    let info = address.into_connection_info()?;
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) && rustls::crypto::CryptoProvider::get_default().is_none() {
        // The client's library takes the process's provider and panics where a program has linked two.
        // If another thread was faster there is one now, which is all that is asked for.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Ok(info.set_redis_settings(settings).set_tcp_settings(tcp_settings()))
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

fn client(info: ConnectionInfo, options: &RedisOptions) -> RedisResult<Client> {
    match (&options.root_certificates, info.addr()) {
        (Some(_), ConnectionAddr::TcpTls { .. }) => Client::build_with_tls(info, certificates(options)),
        _ => Client::open(info),
    }
}

fn certificates(options: &RedisOptions) -> TlsCertificates {
    TlsCertificates { client_tls: None, root_cert: options.root_certificates.clone() }
}

fn manager_config(options: &RedisOptions) -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_connection_timeout(Some(options.connect_timeout))
        // The link ends every call by itself.
        .set_response_timeout(None)
        .set_number_of_retries(ATTEMPTS)
        .set_min_delay(SHORTEST_PAUSE)
        .set_max_delay(LONGEST_PAUSE)
        .set_pipeline_buffer_size(BUFFERED_COMMANDS)
}

fn cluster_client(nodes: Vec<ConnectionInfo>, options: &RedisOptions) -> RedisResult<ClusterClient> {
    let mut builder = ClusterClientBuilder::new(nodes)
        .connection_timeout(options.connect_timeout)
        .response_timeout(options.response_timeout)
        .overall_response_timeout(None)
        .retries(RETRIES)
        .min_retry_wait(SHORTEST_RETRY_MILLISECONDS)
        .max_retry_wait(LONGEST_RETRY_MILLISECONDS)
        .retry_wait_formula(10, 1)
        .tcp_settings(tcp_settings());
    if options.root_certificates.is_some() {
        builder = builder.certs(certificates(options));
    }
    builder.build()
}

async fn cluster_connection(
    client: &ClusterClient,
    options: &RedisOptions,
) -> Result<redis::cluster_async::ClusterConnection, RedisError> {
    let connected = timeout(options.connect_timeout, client.get_async_connection()).await;
    Ok(connected.map_err(|_| RedisProblem::TimedOut)??)
}
