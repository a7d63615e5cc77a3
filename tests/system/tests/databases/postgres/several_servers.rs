//! Several authorization servers on one database.

use std::sync::Arc;

use futures::future::join_all;
use grantor::store::postgres::PostgresProblem;
use grantor::store::{Engine, Insertion, RecordStore, Replay};
use grantor::testing::ManualClock;
use grantor::{AuthorizationServer, Config, PostgresStore, Subject, Timestamp};

use crate::postgres::shared::{another, options, store};
use support::jump;
use support::world::{AnyStore, Credentials, ISSUER, Pair, Recorder, START, World, empty, form, pair};

/// A separate server on that store.
pub(crate) fn world(store: impl Engine + Clone) -> World {
    let events = Recorder::default();
    let clock = ManualClock::new(Timestamp::from_seconds(START));
    let mut config = Config::platform(ISSUER);
    // One account represents all users.
    config.limits.grants = usize::MAX;
    let builder = AuthorizationServer::builder(config, store.clone());
    let server = builder.clock(clock.clone()).events(events.clone()).build().unwrap();
    World {
        server,
        store: AnyStore::over(store),
        clock,
        events,
        client: Credentials { id: String::new(), secret: String::new() },
        alice: Subject::new("alice").unwrap(),
        keys: Vec::new(),
    }
}

/// So many servers on one new database, with one client.
async fn worlds(count: usize) -> Vec<World> {
    let mut worlds = vec![world(store().await)];
    for _ in 1..count {
        worlds.push(world(another().await));
    }
    let client = worlds[0].register(form()).await;
    worlds.iter_mut().for_each(|world| world.client = client.clone());
    worlds
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn what_one_server_did_every_other_knows_at_once() {
    let worlds = worlds(3).await;
    let [one, two, three] = &worlds[..] else { panic!("three servers") };
    let code = one.code().await;
    let first = pair(&two.exchange(&code).await);
    for world in &worlds {
        assert!(world.opens(&first.access).await);
    }
    let (left, right) = tokio::join!(one.refresh(&first.refresh), two.refresh(&first.refresh));
    let refreshed = pair(&left);
    assert_eq!(refreshed, pair(&right), "one of them came second, and was given the same pair");
    assert!(three.opens(&refreshed.access).await);
    empty(&three.revoke(&refreshed.refresh).await);
    for world in &worlds {
        assert!(!world.opens(&refreshed.access).await);
        assert_eq!(world.refresh(&refreshed.refresh).await.status(), 400);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_code_that_two_servers_exchange_at_once_gives_tokens_once() {
    let worlds = worlds(4).await;
    for _ in 0..20 {
        let code = worlds[0].code().await;
        let answers = join_all(worlds.iter().map(|world| world.exchange(&code))).await;
        let won: Vec<_> = answers.iter().filter(|answer| answer.status() == 200).map(pair).collect();
        assert_eq!(won.len(), 1);
        assert!(answers.iter().all(|answer| matches!(answer.status(), 200 | 400)));
        // The others were replays, which take the tokens with them.
        assert!(!worlds[1].opens(&won[0].access).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_refresh_token_that_all_servers_use_at_once_gives_each_a_pair() {
    let worlds = worlds(4).await;
    let mut newest = worlds[0].pair().await;
    for _ in 0..20 {
        let refreshing = worlds.iter().chain(&worlds).map(|world| world.refresh(&newest.refresh));
        let pairs: Vec<_> = join_all(refreshing).await.iter().map(pair).collect();
        for Pair { access, .. } in &pairs {
            assert!(worlds[3].opens(access).await);
        }
        newest = pairs[0].clone();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn an_identifier_is_new_to_one_of_all_servers_until_its_end() {
    let stores = [store().await, another().await];
    let replay = Arc::new(Replay::new(&[b"client", b"jti"], Timestamp::from_seconds(2_000_000_000)));
    let answers =
        join_all((0..32).map(|caller| RecordStore::<Replay>::insert(&stores[caller % 2], replay.clone()))).await;
    let new = answers.into_iter().filter(|answer| matches!(answer, Ok(Insertion::Inserted)));
    assert_eq!(new.count(), 1);
    for (now, removed) in [(1_999_999_999, 0), (2_000_000_000, 1)] {
        let purge = RecordStore::<Replay>::purge(&stores[1], Timestamp::from_seconds(now), 10).await.unwrap();
        assert_eq!((purge.removed(), purge.is_finished()), (removed, true));
    }
    assert_eq!(RecordStore::<Replay>::insert(&stores[0], replay.clone()).await.unwrap(), Insertion::Inserted);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn eight_servers_that_migrate_at_once_make_the_tables_once() {
    let options = options();
    let missing = PostgresStore::connect(&options).await.unwrap_err();
    assert!(missing.problem() == PostgresProblem::SchemaMissing, "{missing:?}");
    let migrations = join_all((0..8).map(|_| {
        let options = options.clone();
        tokio::spawn(async move { PostgresStore::migrate(&options).await })
    }));
    for migrated in migrations.await {
        migrated.unwrap().unwrap();
    }
    PostgresStore::connect(&options).await.unwrap();
}

/// CLK-01
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_clock_jump_deletes_nothing_across_restarts() {
    let first = world(store().await);
    jump::survives_restarts(first, async |own: &mut World| {
        let builder = AuthorizationServer::builder(Config::platform(ISSUER), another().await).clock(own.clock.clone());
        own.server = builder.events(own.events.clone()).build().unwrap();
    })
    .await;
}
