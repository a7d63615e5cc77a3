//! A store on the named Redis server, with a prefix that no other world has.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use grantor::RedisStore;
use grantor::store::redis::RedisOptions;

use crate::runtime::run;

pub(crate) async fn store(server: &str) -> RedisStore {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("world-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::SeqCst));
    let server = server.to_owned();
    run(async move { RedisStore::connect(&server, &RedisOptions::new().prefix(prefix)).await.unwrap() }).await
}
