//! What calls cost, in statements, index entries and bytes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use grantor::store::{Grant, Insertion, Page, Record, RecordStore, Replacement};
use grantor::testing::{engine, records};
use grantor::{Application, PostgresStore, Timestamp};
use tokio_postgres::Client;

use crate::postgres::several_servers::world;
use crate::postgres::shared::{options, options_on, server};
use support::world::form;
use support_servers::servers::postgres::PostgresServer;

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

/// Statements that were run on tables of that schema.
fn statements(schema: &'static str) -> u64 {
    let counting = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let count = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE query LIKE $1";
            let row = server().client().await.query_one(count, &[&format!("%\"{schema}\".%")]).await.unwrap();
            u64::try_from(row.get::<_, i64>(0)).unwrap()
        })
    });
    counting.join().unwrap()
}

async fn store_that_counts(schema: &'static str) -> PostgresStore {
    server().client().await.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await.ok();
    let options = options().schema(schema).unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    PostgresStore::connect(&options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_call_is_one_statement_however_much_is_stored() {
    let store = store_that_counts("counted").await;
    let start = statements("counted");
    let grant = Arc::new(records::grant(&records::subject(), END));
    assert_eq!(RecordStore::<Grant>::insert(&store, grant.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::<Grant>::find(&store, &grant.id()).await.unwrap(), Some(grant.clone()));
    let next = Arc::new(records::refreshed(&grant, END));
    assert_eq!(RecordStore::<Grant>::replace(&store, grant.version(), next).await.unwrap(), Replacement::Replaced);
    assert_eq!(statements("counted") - start, 3);
    engine::calls_cost_the_same(&store, || statements("counted")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn writes_that_wait_share_statements() {
    let store = store_that_counts("shared").await;
    let start = statements("shared");
    let grants: Vec<_> = (0..256).map(|_| Arc::new(records::grant(&records::subject(), END))).collect();
    let inserted = join_all(grants.iter().map(|grant| RecordStore::<Grant>::insert(&store, grant.clone()))).await;
    assert!(inserted.into_iter().all(|answer| answer.unwrap() == Insertion::Inserted));
    let made = statements("shared") - start;
    assert!(made < 10, "{made} statements for 256 inserts that came at once");
}

/// Found and missing, twice, with and without a page before, all at once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn reads_that_wait_share_statements() {
    const SUBJECTS: usize = 16;
    let store = store_that_counts("read").await;
    let subjects: Vec<_> = (0..SUBJECTS).map(|_| records::subject()).collect();
    let mut of_subjects = vec![Vec::new(); SUBJECTS];
    // The first user has no grant.
    for (subject, grants) in subjects.iter().zip(&mut of_subjects).skip(1) {
        *grants = (0..5).map(|_| Arc::new(records::grant(subject, END))).collect();
        grants.sort_by_key(|grant| *grant.id().as_bytes());
    }
    for answer in
        join_all(of_subjects.iter().flatten().map(|grant| RecordStore::<Grant>::insert(&store, grant.clone()))).await
    {
        assert_eq!(answer.unwrap(), Insertion::Inserted);
    }
    let missing = records::grant(&subjects[0], END).id();
    let keys: Vec<_> = of_subjects.iter().flatten().map(|grant| grant.id()).chain([missing]).collect();
    let page = |grants: &[Arc<Grant>], limit: usize| {
        grants.get(1).map_or_else(|| Page::first(limit), |grant| Page::after(grant.id(), limit))
    };
    let start = statements("read");
    let finds = join_all(keys.iter().chain(&keys).map(|key| RecordStore::<Grant>::find(&store, key)));
    let whole = join_all(subjects.iter().map(|own| RecordStore::<Grant>::list(&store, own.as_str(), Page::first(100))));
    let pages = join_all(
        subjects
            .iter()
            .zip(&of_subjects)
            .map(|(own, grants)| RecordStore::<Grant>::list(&store, own.as_str(), page(grants, 2))),
    );
    let (found, whole, pages) = tokio::join!(finds, whole, pages);
    let made = statements("read") - start;
    let expected: Vec<_> = of_subjects.iter().flatten().cloned().map(Some).chain([None]).collect();
    let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
    assert_eq!(found, [&expected[..], &expected].concat());
    for ((grants, whole), page) in of_subjects.iter().zip(whole).zip(pages) {
        assert_eq!(whole.unwrap(), *grants);
        assert_eq!(page.unwrap(), grants.get(2..4).unwrap_or_default());
    }
    assert!(made < 12, "{made} statements for {} reads that came at once", 2 * keys.len() + 2 * SUBJECTS);
}

/// The server's statistics come late: asks until they are there.
async fn updates(client: &Client, schema: &str, expected: i64) -> (i64, i64) {
    let count = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'grants'";
    for _ in 0..200 {
        let row = client.query_one(count, &[&schema]).await.unwrap();
        let (all, heap_only): (i64, i64) = (row.get(0), row.get(1));
        if all >= expected {
            return (all, heap_only);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no statistics of {expected} updates");
}

/// Grants as a server writes them, refreshed when their access tokens have ended.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn refreshes_are_heap_only_updates_and_a_grant_takes_no_more_than_620_bytes() {
    const GRANTS: usize = 2000;
    let server = PostgresServer::start(&["fsync=off"]);
    let options = options_on(&server).schema("sized").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let mut world = world(PostgresStore::connect(&options).await.unwrap());
    world.client = world.register(form()).await;
    let mut pairs = Vec::new();
    for _ in 0..GRANTS / 50 {
        pairs.extend(join_all((0..50).map(|_| world.pair())).await);
    }
    let admin = server.client().await;
    // What a table has once, such as its map of free space, does not grow with the grants.
    let size = "SELECT sum(pg_relation_size(oid))::bigint FROM pg_class
        WHERE relnamespace = 'sized'::regnamespace AND relname LIKE 'grants%'";
    let size: i64 = admin.query_one(size, &[]).await.unwrap().get(0);
    let of_one = size / i64::try_from(GRANTS).unwrap();
    println!("{of_one} bytes a grant with one pair, all indexes");
    // Every hour all of them are refreshed, some at once that were not made at once.
    for round in 0..3 {
        world.advance(3600);
        let mut refreshed = Vec::new();
        for first in 0..GRANTS / 16 {
            let part: Vec<_> = pairs.iter().skip(first).step_by(GRANTS / 16 + round).collect();
            let answers = join_all(part.iter().map(|pair| world.refresh(&pair.refresh))).await;
            refreshed.extend(answers.iter().map(support::world::pair));
        }
        pairs = refreshed;
    }
    let (all, heap_only) = updates(&admin, "sized", i64::try_from(GRANTS).unwrap() * 2).await;
    println!("{heap_only} of {all} updates were heap-only");
    assert!(heap_only * 100 >= all * 95, "{heap_only} of {all} updates were heap-only");
    assert!(of_one <= 620, "{of_one} bytes a grant");
}

/// Each call's plan uses an index, even where the planner has seen small tables.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn no_statement_reads_a_whole_table() {
    let options = options().schema("indexed").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let admin = server().client().await;
    for tables in ["never analysed", "analysed while small", "analysed"] {
        if tables != "never analysed" {
            let all =
                "ANALYZE indexed.grants, indexed.authorizations, indexed.applications, indexed.applications_lists";
            admin.batch_execute(all).await.unwrap();
        }
        let store = PostgresStore::connect(&options).await.unwrap();
        let read = "SELECT sum(seq_tup_read)::bigint FROM pg_stat_user_tables WHERE schemaname = 'indexed'
            AND relname <> 'schema_version'";
        let before: i64 = admin.query_one(read, &[]).await.unwrap().get(0);
        let subject = records::subject();
        let grants: Vec<_> = (0..64).map(|_| Arc::new(records::grant(&subject, END))).collect();
        for grant in join_all(grants.iter().map(|grant| RecordStore::<Grant>::insert(&store, grant.clone()))).await {
            assert_eq!(grant.unwrap(), Insertion::Inserted);
        }
        let next = grants.iter().map(|grant| store.replace(grant.version(), Arc::new(records::refreshed(grant, END))));
        for answer in join_all(next).await {
            assert_eq!(answer.unwrap(), Replacement::Replaced);
        }
        assert_eq!(RecordStore::<Grant>::list(&store, subject.as_str(), Page::first(100)).await.unwrap().len(), 64);
        let found =
            join_all(grants.iter().map(async |grant| RecordStore::<Grant>::find(&store, &grant.id()).await)).await;
        assert!(found.into_iter().all(|grant| grant.unwrap().is_some()));
        for owner in [subject.as_str(), "nobody"] {
            let listed = join_all((0..8).map(|_| RecordStore::<Grant>::list(&store, owner, Page::first(100)))).await;
            assert!(listed.into_iter().all(|rows| rows.unwrap().len() == if owner == "nobody" { 0 } else { 64 }));
            let listed = (0..8).map(|_| RecordStore::<Application>::list(&store, owner, Page::first(100)));
            assert!(join_all(listed).await.into_iter().all(|rows| rows.unwrap().is_empty()));
        }
        assert_eq!(RecordStore::<Grant>::purge(&store, Timestamp::from_seconds(1), 10).await.unwrap().removed(), 0);
        // Every call of a registry, before and after many rows.
        engine::calls_cost_the_same(&store, || 0).await;
        drop(store);
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let after: i64 = admin.query_one(read, &[]).await.unwrap().get(0);
        // The rows that ANALYZE read are not counted there.
        assert_eq!(after - before, 0, "rows read one after the other, {tables}");
    }
}
