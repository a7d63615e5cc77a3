//! Connects a store to a server or a cluster, and checks the version of the key layout there, so that a release refuses
//! one that it does not know.

use std::collections::BTreeSet;

use redis::{Cmd, ConnectionAddr, ConnectionInfo, IntoConnectionInfo};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::store::redis::check::Place;
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::link::Link;
use crate::store::redis::node::Node;
use crate::store::redis::options::RedisOptions;
use crate::store::redis::router::Router;

/// The layout of keys that this release reads and writes.
const LAYOUT: u32 = 1;

/// Connects to a standalone server.
pub(super) async fn single(address: &str, options: &RedisOptions) -> Result<Link, RedisError> {
    let runtime = prepare(options)?;
    let node = Node::new(info(address)?, Place::Alone, options)?;
    let router = in_time(options, async {
        node.open().await?;
        Ok(Router::single(node, options))
    });
    checked(Link::new(router.await?, options, runtime)).await
}

/// Connects to a cluster, through any of its servers.
pub(super) async fn cluster(addresses: &[&str], options: &RedisOptions) -> Result<Link, RedisError> {
    let runtime = prepare(options)?;
    if addresses.is_empty() {
        return Err(RedisProblem::Address.into());
    }
    let seed = |address: &&str| Node::new(info(address)?, Place::Cluster, options);
    let seeds = addresses.iter().map(seed).collect::<Result<Vec<_>, _>>()?;
    let router = in_time(options, async {
        let router = Router::cluster(seeds, options).await?;
        for primary in router.primaries() {
            primary.open().await?;
        }
        Ok(router)
    });
    checked(Link::new(router.await?, options, runtime)).await
}

/// Returns the addresses without their passwords, as they may be shown.
pub(super) fn shown(addresses: &[&str]) -> Vec<String> {
    let shown: BTreeSet<_> =
        addresses.iter().filter_map(|address| Some(info(address).ok()?.addr().to_string())).collect();
    shown.into_iter().collect()
}

/// Refuses keys of a later layout, and marks a prefix that has no keys yet.
async fn checked(link: Link) -> Result<Link, RedisError> {
    let key = link.keys.layout();
    let mut get = Cmd::new();
    get.arg("GET").arg(&key);
    match link.read::<Option<u32>>(&key, get).await? {
        Some(layout) if layout > LAYOUT => return Err(RedisProblem::Newer { layout }.into()),
        Some(_) => return Ok(link),
        None => {}
    }
    let mut set = Cmd::new();
    set.arg("SET").arg(&key).arg(LAYOUT).arg("NX");
    match link.write::<Option<String>>(&key, set).await {
        // A server that currently takes no writes can still be read. The next store that connects marks it.
        Err(error) if !error.is_transient() => Err(error),
        _ => Ok(link),
    }
}

fn prepare(options: &RedisOptions) -> Result<Handle, RedisError> {
    // With a colon, the keys of one prefix could be those of another, such as `a` and `a:grant`.
    if options.prefix.contains(['{', '}', ':']) {
        return Err(RedisProblem::Setting("prefix").into());
    }
    Handle::try_current().map_err(|_| RedisProblem::Setting("runtime").into())
}

async fn in_time<T>(
    options: &RedisOptions,
    connecting: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, RedisError> {
    let within = options.connect_timeout.saturating_add(options.response_timeout);
    timeout(within, connecting).await.map_err(|_| RedisProblem::TimedOut)?
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
