//! Tests that every store keeps the contract, and that the kit notices a store that does not; then tests of the memory
//! store and of the store in a file.

mod broken_stores;
mod contract;
mod memory_store;
mod sqlite;

mod sqlite_contract {
    use grantor::SqliteStore;

    grantor::store_tests!(#[tokio::test] => store: SqliteStore::temporary().unwrap(), another: store.clone());
}
