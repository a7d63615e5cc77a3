//! What the memory store promises beyond the contract.

use std::sync::Arc;

use futures::executor::block_on;
use grantor::store::{Authorization, ClientStore, Grant, Insertion, RecordStore};
use grantor::testing::records;
use grantor::{Application, MemoryStore, Timestamp};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

#[test]
fn clones_share_their_contents_and_another_store_is_another() {
    let (store, other) = (MemoryStore::new(), MemoryStore::new());
    let clone = store.clone();
    let subject = records::subject();
    let code = Arc::new(records::authorization(&subject, END));
    let grant = Arc::new(records::grant(&subject, END));
    let application = Arc::new(records::application(&subject));
    assert_eq!(block_on(RecordStore::<Authorization>::insert(&store, code.clone())).unwrap(), Insertion::Inserted);
    assert_eq!(block_on(RecordStore::<Grant>::insert(&store, grant.clone())).unwrap(), Insertion::Inserted);
    assert_eq!(block_on(RecordStore::<Application>::insert(&store, application.clone())).unwrap(), Insertion::Inserted);

    assert_eq!(block_on(RecordStore::<Authorization>::insert(&clone, code.clone())).unwrap(), Insertion::Exists);
    assert_eq!(block_on(RecordStore::<Grant>::insert(&clone, grant.clone())).unwrap(), Insertion::Exists);
    assert_eq!(block_on(RecordStore::<Application>::insert(&clone, application.clone())).unwrap(), Insertion::Exists);
    assert_eq!(block_on(RecordStore::<Authorization>::find(&clone, &code.id())).unwrap(), Some(code.clone()));
    assert_eq!(block_on(RecordStore::<Grant>::find(&clone, &grant.id())).unwrap(), Some(grant.clone()));

    assert_eq!(block_on(RecordStore::<Authorization>::find(&other, &code.id())).unwrap(), None);
    assert_eq!(block_on(RecordStore::<Grant>::find(&other, &grant.id())).unwrap(), None);
    assert_eq!(block_on(ClientStore::client(&other, application.id())).unwrap(), None);
}

#[test]
fn counts_tell_what_is_held() {
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
