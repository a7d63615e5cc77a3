//! Unreadable records of another release affect nothing but themselves.

use std::error::Error;
use std::sync::Arc;

use futures::future::join_all;
use grantor::store::postgres::PostgresOptions;
use grantor::store::{Authorization, DecodeError, Grant, Insertion, Page, Record, RecordStore, StoreError};
use grantor::testing::records;
use grantor::{PostgresStore, Timestamp};
use tokio_postgres::Client;

use crate::postgres::several_servers::world;
use crate::postgres::shared::{options, server};
use support::world::{PKCE, SESSION, form};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

/// A store in a schema of that name, and a connection that spoils its records.
async fn scene(schema: &str) -> (PostgresStore, Client) {
    let options = options().schema(schema).unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    (PostgresStore::connect(&options).await.unwrap(), server().client().await)
}

/// Gives a record a layout that no release knows yet.
async fn spoil(admin: &Client, table: &str, id: [u8; 16]) {
    let kind = if table.ends_with("grants") { "47" } else { "41" };
    let id = format!("{:032x}", u128::from_be_bytes(id));
    let sql = format!("UPDATE {table} SET record = '\\x{kind}09' WHERE key = '{id}'");
    assert_eq!(admin.execute(&sql, &[]).await.unwrap(), 1);
}

/// A policy that fails stands for a damaged page.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_row_that_the_database_cannot_read_fails_its_own_readers_alone() {
    let (store, admin) = scene("damaged").await;
    let grants: Vec<_> = (0..20).map(|_| Arc::new(records::grant(&records::subject(), END))).collect();
    for grant in &grants {
        assert_eq!(RecordStore::<Grant>::insert(&store, grant.clone()).await.unwrap(), Insertion::Inserted);
    }
    let damaged = format!("{:032x}", u128::from_be_bytes(*grants[7].id().as_bytes()));
    let policy = format!(
        "CREATE FUNCTION damaged.read(key uuid) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            IF key = '{damaged}' THEN RAISE EXCEPTION USING ERRCODE = 'data_corrupted'; END IF;
            RETURN true;
        END $$;
        CREATE POLICY own ON damaged.grants USING (damaged.read(key));
        ALTER TABLE damaged.grants ENABLE ROW LEVEL SECURITY;
        CREATE ROLE damaged LOGIN PASSWORD 'damaged';
        GRANT USAGE ON SCHEMA damaged TO damaged;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA damaged TO damaged;"
    );
    admin.batch_execute(&policy).await.unwrap();
    let connection = format!("host=127.0.0.1 port={} user=damaged password=damaged dbname=postgres", server().port());
    let options = PostgresOptions::new(&connection).unwrap().schema("damaged").unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let found = join_all(grants.iter().map(async |grant| RecordStore::<Grant>::find(&store, &grant.id()).await)).await;
    for (number, (grant, found)) in grants.iter().zip(found).enumerate() {
        if number == 7 {
            assert!(!found.unwrap_err().is_transient());
        } else {
            assert_eq!(found.unwrap().as_ref(), Some(grant));
        }
    }
}

fn assert_unreadable(error: &StoreError, id: [u8; 16]) {
    assert_eq!(error.unreadable_key(), Some(&id[..]));
    assert_eq!(error.source().unwrap().downcast_ref(), Some(&DecodeError::UnknownLayout));
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn everything_of_a_user_is_withdrawn_but_what_cannot_be_read() {
    let (store, admin) = scene("unreadable_user").await;
    let mut world = world(store.clone());
    world.client = world.register(form()).await;
    let mut pairs = Vec::new();
    for _ in 0..3 {
        pairs.push(world.pair().await);
    }
    // Their codes are gone, so only the list of grants leads to them.
    world.advance(3 * 3600);
    while !world.purge(1000).await.is_finished() {}
    for _ in 0..3 {
        let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    }
    let grants = RecordStore::<Grant>::list(&store, world.alice.as_str(), Page::first(10)).await.unwrap();
    let codes = RecordStore::<Authorization>::list(&store, world.alice.as_str(), Page::first(10)).await.unwrap();
    assert_eq!((grants.len(), codes.len()), (3, 3));
    let (grant, code) = (grants[1].id(), codes[1].id());
    spoil(&admin, "unreadable_user.grants", *grant.as_bytes()).await;
    spoil(&admin, "unreadable_user.authorizations", *code.as_bytes()).await;
    assert_unreadable(&RecordStore::<Grant>::find(&store, &grant).await.unwrap_err(), *grant.as_bytes());
    assert_unreadable(&RecordStore::<Authorization>::find(&store, &code).await.unwrap_err(), *code.as_bytes());

    let error = world.server.revoke_subject(&world.alice).await.unwrap_err();
    assert!([&grant.as_bytes()[..], code.as_bytes()].contains(&error.unreadable_key().unwrap()));
    for row in [&grants[0], &grants[2]] {
        let left = RecordStore::<Grant>::find(&store, &row.id()).await.unwrap().unwrap();
        assert!(left.revoked().is_some(), "{} is not revoked", row.id());
    }
    for row in [&codes[0], &codes[2]] {
        let left = RecordStore::<Authorization>::find(&store, &row.id()).await.unwrap();
        assert!(left.is_none_or(|left| left.version() != row.version()), "{} is unchanged", row.id());
    }
    for pair in &pairs {
        assert!(!world.opens(&pair.access).await);
    }
}
