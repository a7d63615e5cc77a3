//! Several authorization servers on one database.

use futures::future::join_all;
use grantor::testing::ManualClock;
use grantor::{AuthorizationServer, PostgresProblem, PostgresStore, Subject, Timestamp};

use crate::shared::{another, options, store};
use crate::world::{AnyStore, Credentials, ISSUER, Pair, Recorder, START, World, empty, form, pair};

/// A server of its own on that store.
pub(crate) fn world(store: PostgresStore) -> World {
    let events = Recorder::default();
    let clock = ManualClock::new(Timestamp::from_seconds(START));
    let builder = AuthorizationServer::builder(store.clone()).clock(clock.clone()).events(events.clone());
    let server = builder.issuer(ISSUER).build().unwrap();
    World {
        server,
        store: AnyStore::over(store),
        clock,
        events,
        client: Credentials { id: String::new(), secret: String::new() },
        alice: Subject::new("alice").unwrap(),
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
    let refreshed = [pair(&left), pair(&right)];
    assert_ne!(refreshed[0], refreshed[1]);
    for Pair { access, .. } in &refreshed {
        assert!(three.opens(access).await);
    }
    empty(&three.revoke(&refreshed[0].refresh).await);
    for world in &worlds {
        for Pair { access, refresh, .. } in &refreshed {
            assert!(!world.opens(access).await);
            assert_eq!(world.refresh(refresh).await.status(), 400);
        }
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
