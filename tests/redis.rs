//! The Redis store, over servers that are started and ended here: `cargo test --all-features --test redis -- --ignored`.

#[path = "redis/connecting.rs"]
mod connecting;
#[path = "redis/cost.rs"]
mod cost;
#[path = "redis/demoted.rs"]
mod demoted;
#[path = "redis/flow.rs"]
mod flow;
#[path = "redis/indexes.rs"]
mod indexes;
#[path = "redis/killed.rs"]
mod killed;
#[path = "redis/kit.rs"]
mod kit;
#[path = "redis/layout.rs"]
mod layout;
#[path = "protocol/leap.rs"]
mod leap;
#[path = "redis/load.rs"]
mod load;
#[path = "redis/lost.rs"]
mod lost;
#[path = "redis/raw.rs"]
mod raw;
#[path = "redis/redirections.rs"]
mod redirections;
#[path = "redis/scripts.rs"]
mod scripts;
#[path = "servers/redis.rs"]
mod servers;
#[path = "redis/trouble.rs"]
mod trouble;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use grantor::{RedisOptions, RedisStore};

use crate::servers::{Cluster, Server};

/// How long a write that has to succeed may wait for its replica: a busy disk syncs slowly.
const REPLICATED: Duration = Duration::from_secs(20);

/// Settings with a prefix that no other test has.
fn options() -> RedisOptions {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    RedisOptions::new().prefix(format!("test{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// A store of its own on a server.
async fn on(server: &Server) -> RedisStore {
    RedisStore::connect(&server.address(), &options()).await.unwrap()
}

/// A store of its own on a cluster.
async fn over(cluster: &Cluster, options: &RedisOptions) -> RedisStore {
    let addresses = cluster.addresses();
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    RedisStore::connect_cluster(&addresses, options).await.unwrap()
}
