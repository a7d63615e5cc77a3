//! The contract of the stores, kept by every store, and noticed by the kit where one does not keep it; then what the
//! store in memory and the one in a file have to show besides.

mod broken_stores;
mod contract;
mod driven;
mod lagging;
mod memory_store;
mod sqlite;

mod memory_contract {
    use grantor::MemoryStore;

    grantor::store_tests!(#[tokio::test] => store: MemoryStore::new(), another: store.clone());
}

mod sqlite_contract {
    use grantor::SqliteStore;

    grantor::store_tests!(#[tokio::test] => store: SqliteStore::temporary().unwrap(), another: store.clone());
}
