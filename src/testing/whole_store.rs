//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for a store of all kinds of records, one function
//! each.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::id::{GrantId, PushedRequestId};
use crate::store::{Authorization, Grant, Insertion, LastPurge, PushedRequest, RecordStore};
use crate::testing::records;
use crate::testing::rows::answer;
use crate::testing::rules::far;

/// Rule 1: records of different kinds are different records, even under keys of the same bytes.
pub async fn kinds_are_distinguished<S>(store: &S)
where
    S: RecordStore<Authorization> + RecordStore<Grant> + RecordStore<PushedRequest>,
{
    let subject = records::subject();
    let authorization = Arc::new(records::authorization(&subject, far()));
    let id = authorization.id();
    let grant = Arc::new(Grant { id: GrantId::from(id), ..records::grant(&subject, far()) });
    let request = PushedRequest { id: PushedRequestId::from_bytes(*id.as_bytes()), ..records::pushed_request(far()) };
    let request = Arc::new(request);
    for inserted in [
        answer("insert", store.insert(authorization.clone()).await),
        answer("insert", store.insert(grant.clone()).await),
        answer("insert", store.insert(request.clone()).await),
    ] {
        assert_eq!(inserted, Insertion::Inserted, "the first record of its kind under a key");
    }
    let found = answer("find", RecordStore::<Authorization>::find(store, &id).await);
    assert!(found == Some(authorization), "the authorization under a key that other kinds have too: {found:?}");
    let found = answer("find", RecordStore::<Grant>::find(store, &grant.id).await);
    assert!(found.as_ref() == Some(&grant), "the grant under a key that other kinds have too: {found:?}");
    let found = answer("find", RecordStore::<PushedRequest>::find(store, &request.id).await);
    assert!(found.as_ref() == Some(&request), "the pushed request under a key that other kinds have too: {found:?}");
}

/// Rule 7: no purge removes the record of the last purge, at any time.
pub async fn a_purge_leaves_the_last_purge<S: RecordStore<LastPurge>>(store: &S) {
    let record = |version| Arc::new(LastPurge::new(version, Timestamp::from_seconds(100)));
    let version = match answer("find", store.find(&LastPurge::KEY).await) {
        Some(last) => last.version(),
        None => {
            assert_eq!(answer("insert", store.insert(record(1)).await), Insertion::Inserted, "the only insert");
            1
        }
    };
    let last = record(version.wrapping_add(1));
    let _ = answer("replace", store.replace(version, last.clone()).await);
    for now in [0, 101, 4_000_000_000, u32::MAX] {
        let _ = answer("purge", store.purge(Timestamp::from_seconds(now), 1000).await);
        let found = answer("find", store.find(&LastPurge::KEY).await);
        assert_eq!(found.as_deref(), Some(&*last), "after a purge at {now}");
    }
}
