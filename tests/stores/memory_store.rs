//! What the memory store promises beyond the contract.

use std::sync::Arc;

use futures::executor::block_on;
use grantor::store::{Authorization, Grant, Insertion, RecordStore};
use grantor::testing::records;
use grantor::{MemoryStore, Timestamp};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

#[test]
fn another_store_is_another() {
    let (store, other) = (MemoryStore::new(), MemoryStore::new());
    let grant = Arc::new(records::grant(&records::subject(), END));
    assert_eq!(block_on(RecordStore::<Grant>::insert(&store, grant.clone())).unwrap(), Insertion::Inserted);
    assert_eq!(block_on(RecordStore::<Grant>::find(&other, &grant.id())).unwrap(), None);
}

#[test]
fn counts_are_of_what_is_stored() {
    let store = MemoryStore::new();
    let subject = records::subject();
    for number in 1..=3 {
        let _ = block_on(RecordStore::<Authorization>::insert(&store, Arc::new(records::authorization(&subject, END))))
            .unwrap();
        let _ = block_on(RecordStore::<Grant>::insert(&store, Arc::new(records::grant(&subject, END)))).unwrap();
        assert_eq!((store.authorization_count(), store.grant_count()), (number, number));
    }
    assert_eq!(block_on(RecordStore::<Authorization>::purge(&store, END, 2)).unwrap().removed(), 2);
    assert_eq!((store.authorization_count(), store.grant_count()), (1, 3));
    assert_eq!(block_on(RecordStore::<Grant>::purge(&store, END, 9)).unwrap().removed(), 3);
    assert_eq!((store.authorization_count(), store.grant_count()), (1, 0));
}
