//! What an operator asks the tables themselves.

use std::sync::Arc;

use grantor::store::{Grant, RecordStore, RevocationReason};
use grantor::testing::records;
use grantor::{PostgresStore, Subject, Timestamp};

use crate::postgres::shared::{options, server};

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn columns_show_whose_a_grant_is_and_why_it_ended() {
    let options = options().schema("asked").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let end = Timestamp::from_seconds(3_000_000_000);
    let grant = Arc::new(records::grant(&Subject::new("alice").unwrap(), end));
    let _ = RecordStore::<Grant>::insert(&store, grant.clone()).await.unwrap();
    let admin = server().client().await;
    let by_subject = "SELECT client, version, state, extract(epoch FROM created)::bigint,
        extract(epoch FROM due)::bigint FROM asked.grants WHERE subject = convert_to('alice', 'UTF8')";
    let row = admin.query_one(by_subject, &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), grant.client().as_str());
    assert_eq!((row.get::<_, i64>(1), row.get::<_, &str>(2)), (1, "granted"));
    assert_eq!(row.get::<_, i64>(3), i64::from(grant.created().seconds()));
    assert_eq!(row.get::<_, i64>(4), i64::from(end.seconds()));

    let revoked = records::revoked(&grant, RevocationReason::RevokedByUser);
    let at = revoked.revoked().unwrap().at;
    let _ = RecordStore::<Grant>::replace(&store, 1, Arc::new(revoked)).await.unwrap();
    let by_id = format!(
        "SELECT ended_why, extract(epoch FROM ended_at)::bigint, convert_from(subject, 'UTF8'), state
        FROM asked.grants WHERE key = encode(decode(translate('{}', '-_', '+/') || '==', 'base64'), 'hex')::uuid",
        grant.id()
    );
    let row = admin.query_one(&by_id, &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "revoked_by_user");
    assert_eq!(row.get::<_, i64>(1), i64::from(at.seconds()));
    assert_eq!((row.get::<_, &str>(2), row.get::<_, &str>(3)), ("alice", "revoked"));
}
