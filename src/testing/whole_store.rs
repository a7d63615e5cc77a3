//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for a store of all kinds of records, one function
//! each.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::id::{GrantId, PushedRequestId};
use crate::store::{
    ApplicationLogo, Authorization, Grant, InitialToken, Insertion, LastPurge, PushedRequest, Record, RecordStore,
    Replacement,
};
use crate::testing::records;
use crate::testing::rows::answer;
use crate::testing::rules::far;
use crate::testing::told::cut;

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

/// Rule 5: logos are read back equal, the largest too.
pub async fn logos_come_back<S: RecordStore<ApplicationLogo>>(store: &S) {
    let all = [records::logo(None), records::logo(Some(far())), records::huge_logo(None)];
    for logo in all.map(Arc::new) {
        comes_back(store, &logo).await;
    }
}

/// Rule 7: a logo stays while it has no end, and is removed at the end that a later write gives it.
pub async fn a_logo_that_stays_may_be_removed_later<S: RecordStore<ApplicationLogo>>(store: &S) {
    let end = Timestamp::from_seconds(3_950_000_000);
    let begun = Arc::new(records::logo(Some(end)));
    let kept = Arc::new(ApplicationLogo { version: 2, end: None, ..ApplicationLogo::clone(&begun) });
    let dropped = Arc::new(ApplicationLogo { version: 3, end: Some(end), ..ApplicationLogo::clone(&begun) });
    assert_eq!(answer("insert", store.insert(begun.clone()).await), Insertion::Inserted);
    assert_eq!(answer("replace", store.replace(1, kept.clone()).await), Replacement::Replaced);
    purge_all(store, end).await;
    assert_eq!(answer("find", store.find(begun.id()).await), Some(kept), "it has no end");
    assert_eq!(answer("replace", store.replace(2, dropped).await), Replacement::Replaced);
    purge_all(store, end).await;
    assert_eq!(answer("find", store.find(begun.id()).await), None, "its end has come");
}

/// Rule 5: initial access tokens are read back equal.
pub async fn initial_tokens_come_back<S: RecordStore<InitialToken>>(store: &S) {
    comes_back(store, &Arc::new(records::initial_token(far()))).await;
}

async fn comes_back<R: Record>(store: &impl RecordStore<R>, record: &Arc<R>) {
    assert_eq!(answer("insert", store.insert(record.clone()).await), Insertion::Inserted);
    let found = answer("find", store.find(record.key()).await);
    assert!(found.as_ref() == Some(record), "what was inserted is found: {}", cut(&found));
    assert_eq!(answer("insert", store.insert(record.clone()).await), Insertion::Exists);
    assert_eq!(answer("confirm", store.confirm(record.clone()).await), Replacement::Replaced);
    assert_eq!(answer("replace", store.replace(record.version(), record.clone()).await), Replacement::Replaced);
}

async fn purge_all(store: &impl RecordStore<ApplicationLogo>, now: Timestamp) {
    for _ in 0..1000 {
        if answer("purge", store.purge(now, 1000).await).is_finished() {
            return;
        }
    }
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
