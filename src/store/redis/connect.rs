//! How a store is connected, and what has to hold of a server before it may keep anything.

use std::collections::BTreeSet;

use redis::{Cmd, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, Value};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::clock::{Clock, SystemClock};
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::link::Link;
use crate::store::redis::node::{COMMON_LANE, Message, Node};
use crate::store::redis::options::RedisOptions;
use crate::store::redis::router::Router;

/// The least release whose scripts answer errors by their own names.
const LEAST_RELEASE: u32 = 7;
/// With it a write that says when it ends is applied within the half hour or never.
const MOST_SECONDS_APART: u32 = 600;

/// Connects to a server that stands alone.
pub(super) async fn single(address: &str, options: &RedisOptions) -> Result<Link, RedisError> {
    let runtime = prepare(options)?;
    let node = Node::new(info(address)?, options)?;
    let router = in_time(options, async {
        check(&node, false).await?;
        Ok(Router::single(node, options))
    });
    Ok(Link::new(router.await?, options, runtime))
}

/// Connects to a cluster, through any of its servers.
pub(super) async fn cluster(addresses: &[&str], options: &RedisOptions) -> Result<Link, RedisError> {
    let runtime = prepare(options)?;
    if addresses.is_empty() {
        return Err(RedisProblem::Address.into());
    }
    let seed = |address: &&str| Node::new(info(address)?, options);
    let seeds = addresses.iter().map(seed).collect::<Result<Vec<_>, _>>()?;
    let router = in_time(options, async {
        let router = Router::cluster(seeds, options).await?;
        for primary in router.primaries() {
            check(&primary, true).await?;
        }
        Ok(router)
    });
    Ok(Link::new(router.await?, options, runtime))
}

/// Returns an address as it may be shown: without the password.
pub(super) fn shown(addresses: &[&str]) -> Vec<String> {
    let shown: BTreeSet<_> =
        addresses.iter().filter_map(|address| Some(info(address).ok()?.addr().to_string())).collect();
    shown.into_iter().collect()
}

fn prepare(options: &RedisOptions) -> Result<Handle, RedisError> {
    if options.prefix.contains(['{', '}']) {
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
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) && rustls::crypto::CryptoProvider::get_default().is_none() {
        // The client's library takes the process's provider, and panics where a program has linked two and
        // chosen none. If another thread was faster there is one now, which is all that is asked for.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    Ok(info)
}

/// Checks what a server tells of itself; what this user may not ask is taken to be right.
async fn check(node: &Node, in_cluster: bool) -> Result<(), RedisError> {
    if let Some(text) = allowed(ask(node, "INFO").await)? {
        let text: String = redis::from_redis_value(text)?;
        if !in_cluster && value_of(&text, "redis_mode") == Some("cluster") {
            return Err(RedisProblem::Cluster.into());
        }
        check_info(&text)?;
    }
    match allowed(ask(node, "TIME").await)? {
        Some(time) => check_clock(time),
        None => Ok(()),
    }
}

async fn ask(node: &Node, name: &str) -> Result<Value, RedisError> {
    let mut command = Cmd::new();
    command.arg(name);
    node.send(&Message { command, wait: None, lane: COMMON_LANE }, false).await
}

fn allowed(answer: Result<Value, RedisError>) -> Result<Option<Value>, RedisError> {
    match answer {
        Err(error) if error.is_forbidden() => Ok(None),
        answer => answer.map(Some),
    }
}

fn check_info(info: &str) -> Result<(), RedisError> {
    if value_of(info, "role") == Some("slave") {
        return Err(RedisProblem::Replica.into());
    }
    if let Some(policy) = value_of(info, "maxmemory_policy").filter(|policy| *policy != "noeviction") {
        return Err(RedisProblem::Evicts { policy: policy.to_owned() }.into());
    }
    if let Some(version) = value_of(info, "redis_version") {
        let release = version.split('.').next().and_then(|release| release.parse::<u32>().ok());
        if release.is_some_and(|release| release < LEAST_RELEASE) {
            return Err(RedisProblem::TooOld { version: version.to_owned() }.into());
        }
    }
    Ok(())
}

fn check_clock(time: Value) -> Result<(), RedisError> {
    let (seconds, _): (u32, u32) = redis::from_redis_value(time)?;
    let apart = seconds.abs_diff(SystemClock.now().seconds());
    if apart > MOST_SECONDS_APART { Err(RedisProblem::Clock { seconds: apart }.into()) } else { Ok(()) }
}

fn value_of<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_may_lose_keys_is_refused() {
        let problem = |info: &str| check_info(info).err().map(|error| error.problem().clone());
        let good = "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n";
        assert_eq!(problem(good), None);
        assert_eq!(problem(&good.replace("7.0.15", "10.2.0")), None);
        assert_eq!(problem(""), None);
        let policy = "allkeys-lru".to_owned();
        assert_eq!(problem(&good.replace("noeviction", &policy)), Some(RedisProblem::Evicts { policy }));
        assert_eq!(problem(&good.replace("role:master", "role:slave")), Some(RedisProblem::Replica));
        let version = "6.2.14".to_owned();
        assert_eq!(problem(&good.replace("7.0.15", &version)), Some(RedisProblem::TooOld { version }));
    }

    #[test]
    fn a_clock_that_is_far_off_is_refused() {
        let time = |seconds: u32| Value::Array(vec![Value::Int(seconds.into()), Value::Int(0)]);
        let now = SystemClock.now().seconds();
        assert!(check_clock(time(now)).is_ok());
        assert!(check_clock(time(now - 590)).is_ok());
        assert!(check_clock(time(now - 700)).is_err());
        assert!(check_clock(time(now + 700)).is_err());
    }
}
