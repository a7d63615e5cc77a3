//! The version of the key layout, so that a release refuses one that it does not know.

use redis::Cmd;

use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::link::Link;

/// The layout that this release reads and writes.
const LAYOUT: u32 = 1;

/// Refuses keys of a later layout, and marks a prefix that has no keys yet.
pub(super) async fn check(link: &Link, prefix: &str) -> Result<(), RedisError> {
    let key = format!("{prefix}:layout").into_bytes();
    let mut get = Cmd::new();
    get.arg("GET").arg(&key);
    match link.read::<Option<u32>>(&key, get).await? {
        Some(layout) if layout > LAYOUT => Err(RedisProblem::Newer { layout }.into()),
        Some(_) => Ok(()),
        None => mark(link, &key).await,
    }
}

async fn mark(link: &Link, key: &[u8]) -> Result<(), RedisError> {
    let mut set = Cmd::new();
    set.arg("SET").arg(key).arg(LAYOUT).arg("NX");
    match link.write::<Option<String>>(key, set).await {
        // A server that currently takes no writes can still be read. The next store that connects marks it.
        Err(error) if !error.is_transient() => Err(error),
        _ => Ok(()),
    }
}
