//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for a store of all kinds of records, one function
//! each.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{GrantId, PushedRequestId};
use crate::store::{
    ApplicationLogo, Authorization, DeviceRequest, Grant, InitialToken, Insertion, LastPurge, PushedRequest, Record,
    RecordStore, Replacement, UserCodeRecord,
};
use crate::testing::calls::{add, change, confirm, far, find, insert, purge_all, purge_step, replace};
use crate::testing::records;
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
    add(store, &authorization).await;
    add(store, &grant).await;
    add(store, &request).await;
    let found = find(store, &id).await;
    assert!(found == Some(authorization), "the authorization under a key that other kinds have too: {found:?}");
    let found = find(store, &grant.id).await;
    assert!(found.as_ref() == Some(&grant), "the grant under a key that other kinds have too: {found:?}");
    let found = find(store, &request.id).await;
    assert!(found.as_ref() == Some(&request), "the pushed request under a key that other kinds have too: {found:?}");
}

/// Rule 5: logos are read back equal, the largest too.
pub async fn logos_come_back(store: &dyn RecordStore<ApplicationLogo>) {
    let all = [records::logo(None), records::logo(Some(far())), records::huge_logo(None)];
    for logo in all.map(Arc::new) {
        comes_back(store, &logo).await;
    }
}

/// Rule 7: a logo stays while it has no end, and is removed at the end that a later write gives it.
pub async fn a_logo_that_stays_may_be_removed_later(store: &dyn RecordStore<ApplicationLogo>) {
    let end = Timestamp::from_seconds(3_950_000_000);
    let begun = Arc::new(records::logo(Some(end)));
    let kept = Arc::new(ApplicationLogo { version: 2, end: None, ..ApplicationLogo::clone(&begun) });
    let dropped = Arc::new(ApplicationLogo { version: 3, end: Some(end), ..ApplicationLogo::clone(&begun) });
    add(store, &begun).await;
    change(store, &begun, &kept).await;
    purge_all(store, end, 1000).await;
    assert_eq!(find(store, begun.id()).await, Some(kept.clone()), "it has no end");
    change(store, &kept, &dropped).await;
    purge_all(store, end, 1000).await;
    assert_eq!(find(store, begun.id()).await, None, "its end has come");
}

/// Rule 5: initial access tokens are read back equal.
pub async fn initial_tokens_come_back(store: &dyn RecordStore<InitialToken>) {
    comes_back(store, &Arc::new(records::initial_token(far()))).await;
}

/// Rule 5: requests of devices are read back equal in every state, the largest too.
pub async fn device_requests_come_back(store: &dyn RecordStore<DeviceRequest>) {
    let subject = records::long_subject();
    let all = records::device_requests_of_every_kind(&subject, far());
    for request in all.into_iter().chain([records::huge_device_request(&subject, far())]) {
        comes_back(store, &Arc::new(request)).await;
    }
}

/// Rule 5: a user code is read back equal, and is inserted once.
pub async fn user_codes_come_back(store: &dyn RecordStore<UserCodeRecord>) {
    let code = Arc::new(records::user_code(far()));
    add(store, &code).await;
    assert_eq!(find(store, code.key()).await, Some(code.clone()));
    assert_eq!(insert(store, &code).await, Insertion::Exists);
    assert_eq!(find(store, records::user_code(far()).key()).await, None);
}

async fn comes_back<R: Record>(store: &dyn RecordStore<R>, record: &Arc<R>) {
    add(store, record).await;
    let found = find(store, record.key()).await;
    assert!(found.as_ref() == Some(record), "what was inserted is found: {}", cut(&found));
    assert_eq!(insert(store, record).await, Insertion::Exists);
    assert_eq!(confirm(store, record).await, Replacement::Replaced);
    change(store, record, record).await;
}

/// Rule 7: no purge removes the record of the last purge, at any time.
pub async fn a_purge_leaves_the_last_purge(store: &dyn RecordStore<LastPurge>) {
    let record = |version| Arc::new(LastPurge::new(version, Timestamp::from_seconds(100)));
    let version = match find(store, &LastPurge::KEY).await {
        Some(last) => last.version(),
        None => {
            add(store, &record(1)).await;
            1
        }
    };
    let last = record(version.wrapping_add(1));
    let _ = replace(store, version, &last).await;
    for now in [0, 101, 4_000_000_000, u32::MAX] {
        let _ = purge_step(store, Timestamp::from_seconds(now), 1000).await;
        let found = find(store, &LastPurge::KEY).await;
        assert_eq!(found.as_deref(), Some(&*last), "after a purge at {now}");
    }
}
