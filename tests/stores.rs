//! The contract of the stores, kept by every store: one line each.

#[path = "stores/memory.rs"]
mod memory_store;

use grantor::MemoryStore;

mod memory {
    use super::*;

    grantor::store_tests!(#[tokio::test] => store: MemoryStore::new(), another: store.clone());
}
