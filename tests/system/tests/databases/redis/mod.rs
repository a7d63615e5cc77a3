//! The Redis store, over servers that are started and ended here: `cargo test --workspace --all-features --test
//! databases redis -- --ignored`.

mod connecting;
mod cost;
mod demoted;
mod flow;
mod indexes;
mod killed;
mod kit;
mod layout;
mod load;
mod lost;
mod raw;
mod redirections;
mod scripts;
mod trouble;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use grantor::RedisStore;
use grantor::store::redis::RedisOptions;

use support_servers::servers::redis::{Cluster, Server};

/// How long a write that must succeed may wait for its replica: a busy disk syncs slowly.
const REPLICATED: Duration = Duration::from_secs(20);

/// Settings with a prefix that no other test has.
fn options() -> RedisOptions {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    RedisOptions::new().prefix(format!("test{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// A new store on a server.
async fn on(server: &Server) -> RedisStore {
    RedisStore::connect(&server.address(), &options()).await.unwrap()
}

/// A new store on a cluster.
async fn over(cluster: &Cluster, options: &RedisOptions) -> RedisStore {
    let addresses = cluster.addresses();
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    RedisStore::connect_cluster(&addresses, options).await.unwrap()
}
