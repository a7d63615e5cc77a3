//! Every rule of the contract, over three members that sync each write.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use support_servers::servers::etcd::Etcd;

use crate::etcd::store::EtcdStore;

static CLUSTER: LazyLock<Etcd> = LazyLock::new(Etcd::start);

/// A store with keys that no other test has.
fn store() -> EtcdStore {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    EtcdStore::new(&CLUSTER.addresses(), &format!("test{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// What another server has that shares the cluster, and asks another member first.
fn another(store: &EtcdStore) -> EtcdStore {
    store.at_another_member(&CLUSTER.addresses())
}

grantor::store_tests! {
    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "starts etcd servers"]
    => store: store(), another: another(&store)
}
