//! The contract of the stores, kept by every store: one line each.

#[path = "stores/contract.rs"]
mod contract;
#[path = "stores/driven.rs"]
mod driven;
#[path = "stores/lagging.rs"]
mod lagging;
#[path = "stores/memory.rs"]
mod memory_store;

mod memory {
    use grantor::MemoryStore;

    grantor::store_tests!(#[tokio::test] => store: MemoryStore::new(), another: store.clone());
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use grantor::SqliteStore;

    grantor::store_tests!(#[tokio::test] => store: SqliteStore::temporary().unwrap(), another: store.clone());
}
