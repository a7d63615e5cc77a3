//! Honest clients of two servers keep their own book while the database is killed and restarted. An audit at both
//! servers follows: nothing acknowledged is lost, no revocation undone, and no client logged out.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use grantor::store::Engine;
use grantor::store::postgres::PostgresOptions;
use grantor::store::redis::RedisOptions;
use grantor::{Consent, Decision, PostgresStore, RedisStore};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::etcd::store::EtcdStore;
use crate::postgres::several_servers::world;
use support::world::{PKCE, Pair, SESSION, World, code, e400, form, pair, text};
use support_servers::servers::etcd::Etcd;
use support_servers::servers::postgres::{End, PostgresServer};
use support_servers::servers::redis::Server;

/// Clients of each server.
const CLIENTS: usize = 4;
/// How often the database is killed.
const OUTAGES: usize = 4;
/// Sessions that end between two outages.
const SESSIONS: usize = 12;

/// What the clients were told.
#[derive(Default)]
struct Book {
    /// The newest pair of each session that goes on.
    live: Mutex<Vec<Pair>>,
    /// The newest pair of each session that its client ended.
    revoked: Mutex<Vec<Pair>>,
    ended: AtomicUsize,
    /// Answers with 503.
    unavailable: AtomicUsize,
    is_over: AtomicBool,
}

impl Book {
    async fn pause(&self) {
        self.unavailable.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(5)).await;
    }

    async fn until_more_have_ended(&self) {
        let before = self.ended.load(Ordering::SeqCst);
        let begun = tokio::time::Instant::now();
        while self.ended.load(Ordering::SeqCst) < before + SESSIONS {
            assert!(begun.elapsed() < Duration::from_secs(60), "the clients make no progress");
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A user signs in. `None` if the sign-in has to begin again: the page says so, or the answer to the exchange was lost
/// together with what would have shown it.
async fn signed_in(world: &World, book: &Book) -> Option<Pair> {
    let pending = world.authorize(&world.query(&PKCE)).await.ok()?;
    let ticket = world.server.hold(&pending, &world.alice, SESSION).await.ok()?;
    let consent = Decision::Approve(Consent::to_everything());
    let redirect = world.server.decide(ticket.expose(), &world.alice, SESSION, &consent).await.ok()?;
    let code = text(&code(&redirect), "code");
    let mut was_unavailable = false;
    loop {
        let answer = world.exchange(&code).await;
        match answer.status() {
            200 => return Some(pair(&answer)),
            503 => book.pause().await,
            _ if was_unavailable => return None,
            status => panic!("lost: a code was refused with {status}"),
        }
        was_unavailable = true;
    }
}

/// Refreshes until there is an answer, always with the same token.
async fn refreshed(world: &World, book: &Book, live: &Pair) -> Pair {
    loop {
        let answer = world.refresh(&live.refresh).await;
        match answer.status() {
            200 => return pair(&answer),
            503 => book.pause().await,
            status => panic!("lost: a client was logged out with {status}"),
        }
    }
}

/// Returns whether the access token is accepted, asked until that is known.
async fn accepted(world: &World, book: &Book, access: &str) -> bool {
    loop {
        match world.access(access).await.map_err(|error| error.into_response().status()) {
            Ok(_) => return true,
            Err(503) => book.pause().await,
            Err(status) => {
                return {
                    assert_eq!(status, 401);
                    false
                };
            }
        }
    }
}

/// One client after the other session of its user, at both servers in turn.
async fn client(worlds: [&World; 2], book: &Book) {
    let mut number = 0;
    while !book.is_over.load(Ordering::SeqCst) {
        number += 1;
        let Some(mut live) = signed_in(worlds[number % 2], book).await else {
            book.pause().await;
            continue;
        };
        for turn in 0..3 {
            live = refreshed(worlds[turn % 2], book, &live).await;
            assert!(accepted(worlds[(turn + 1) % 2], book, &live.access).await, "lost: a new token was refused");
        }
        if number % 3 == 0 {
            loop {
                match worlds[number % 2].revoke(&live.refresh).await.status() {
                    200 => break,
                    503 => book.pause().await,
                    status => panic!("lost: a revocation was refused with {status}"),
                }
            }
            book.revoked.lock().unwrap().push(live);
        } else {
            book.live.lock().unwrap().push(live);
        }
        book.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// Lets clients work on both stores through outages, and audits their book at both servers.
async fn audited<S: Engine + Clone>(stores: [S; 2], outage: impl AsyncFn(usize)) {
    let mut worlds = stores.map(world);
    let registered = worlds[0].register(form()).await;
    worlds.iter_mut().for_each(|world| world.client = registered.clone());
    let [one, two] = &worlds;
    let book = Book::default();
    let clients = (0..2 * CLIENTS).map(|number| client(if number % 2 == 0 { [one, two] } else { [two, one] }, &book));
    let outages = async {
        for number in 0..OUTAGES {
            book.until_more_have_ended().await;
            outage(number).await;
        }
        book.until_more_have_ended().await;
        book.is_over.store(true, Ordering::SeqCst);
    };
    tokio::join!(join_all(clients), outages);

    let (live, revoked) = (book.live.lock().unwrap().clone(), book.revoked.lock().unwrap().clone());
    assert!(live.len() > SESSIONS && revoked.len() > SESSIONS && book.unavailable.load(Ordering::SeqCst) > 0);
    for (number, own) in live.iter().enumerate() {
        for world in &worlds {
            assert!(accepted(world, &book, &own.access).await, "an acknowledged token was lost");
        }
        let next = refreshed(&worlds[number % 2], &book, own).await;
        for world in &worlds {
            assert!(accepted(world, &book, &next.access).await, "an acknowledged refresh was lost");
        }
    }
    for own in &revoked {
        for world in &worlds {
            assert!(!accepted(world, &book, &own.access).await, "a revocation was undone");
            e400(&world.refresh(&own.refresh).await, "invalid_grant");
        }
    }
    let unavailable = book.unavailable.load(Ordering::SeqCst);
    println!("{} sessions live, {} revoked, {unavailable} answers of 503: nothing was lost", live.len(), revoked.len());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn of_postgres_that_is_killed() {
    let server = Arc::new(PostgresServer::start(&["recovery_init_sync_method=syncfs"]));
    let options = PostgresOptions::new(&server.connection()).unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let stores = [PostgresStore::connect(&options).await.unwrap(), PostgresStore::connect(&options).await.unwrap()];
    audited(stores, async |number| {
        let server = server.clone();
        let killed = spawn_blocking(move || {
            server.end(if number % 2 == 0 { End::Killed } else { End::Immediate });
            std::thread::sleep(Duration::from_millis(100));
            server.resume();
        });
        killed.await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a Redis server"]
async fn of_redis_that_is_killed() {
    of_redis(Server::durable(), RedisOptions::new()).await;
}

/// The audit finds what is lost where the operator has accepted it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a Redis server"]
#[should_panic(expected = "lost: ")]
async fn of_redis_that_keeps_nothing() {
    of_redis(Server::start_with(&["--appendonly", "no"]), RedisOptions::new().accept_loss()).await;
}

async fn of_redis(server: Server, options: RedisOptions) {
    let (server, options) = (Arc::new(server), options.response_timeout(Duration::from_secs(1)));
    let connect = async || RedisStore::connect(&server.address(), &options).await.unwrap();
    let stores = [connect().await, connect().await];
    audited(stores, async |_| {
        let server = server.clone();
        let killed = spawn_blocking(move || {
            server.kill();
            // Longer than a call waits for the server.
            std::thread::sleep(Duration::from_millis(1500));
            server.restart();
        });
        killed.await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts etcd servers"]
async fn of_etcd_whose_leader_is_killed() {
    let cluster = Arc::new(Etcd::start());
    let store = EtcdStore::new(&cluster.addresses(), "book");
    let stores = [store.clone(), store.at_another_member(&cluster.addresses())];
    audited(stores, async |_| {
        let cluster = cluster.clone();
        let killed = spawn_blocking(move || {
            let leader = cluster.leader().expect("the cluster is whole");
            cluster.kill(leader);
            std::thread::sleep(Duration::from_millis(500));
            cluster.restart(leader);
        });
        killed.await.unwrap();
    })
    .await;
}
