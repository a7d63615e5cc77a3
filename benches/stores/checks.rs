//! Checks of access tokens over `SqliteStore`, with the client cached, beside the bare `SELECT` of the grant.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grantor::store::Stores;
use grantor::wire::{Endpoint, Request};
use grantor::{AuthorizationServer, CachedClients, Config, SqliteStore};
use tokio::runtime::Runtime;

use super::callers::{Callers, Latencies};
use super::compare::{ROUNDS, rates};
use super::disk::Folder;
use super::grants::mixed;
use super::raw_sqlite::RawSqlite;
use super::work::MANY;
use crate::measure::Contender;
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};
use crate::world::{self, Credentials, ISSUER, Layout, REDIRECT_URI, SCOPES};

const SECRET: &str = "the-43-characters-of-the-secret-of-a-client";

/// Compares checks by many callers with `SELECT`s on one thread.
pub(super) fn measure(options: &Options, report: &mut Report) {
    let (grants, rounds) = if options.short { (64, 1) } else { (100_000, ROUNDS) };
    let folder = Folder::new("checks");
    let (path, runtime) = (folder.0.join("store"), Runtime::new().unwrap());
    let store = SqliteStore::open(&path).unwrap();
    let clients = CachedClients::new(store.clone(), Duration::from_secs(30));
    let stores = Stores::new(store).with_registry(clients);
    let server = AuthorizationServer::new(Config::platform(ISSUER), stores).unwrap();
    let callers = Callers::sharing(MANY, grants);
    let headers = headers(&server, &runtime, callers);
    let raw = RawSqlite::open(&path);
    let (keys, turn) = (raw.keys(), AtomicU64::new(0));
    assert_eq!(keys.len(), headers.len());
    let any = || mixed(turn.fetch_add(1, Ordering::Relaxed)) as usize % keys.len();
    let mut check = || {
        callers.run(&runtime, &Latencies::default(), |_, _| {
            let (server, headers, number) = (server.clone(), headers.clone(), any());
            async move {
                let request = Request::new("GET").header("Authorization", headers[number].as_bytes());
                server.resource().authenticate(&request).await.unwrap();
            }
        })
    };
    let mut select = || {
        (0..callers.all_calls()).for_each(|_| drop(raw.find(&keys[any()])));
        callers.all_calls()
    };
    let rates = rates(
        rounds,
        &mut [Contender { name: "check", round: &mut check }, Contender { name: "select", round: &mut select }],
    );
    let [check, select] = [rates[0], rates[1]].map(|rate| 1e6 / rate);
    let figure = Figure::new("sqlite/check/64 callers", check, Unit::Microseconds).beside("SELECT", select);
    report.add(figure.goal(Goal::AtMost(1.5)));
}

/// Exchanges one code for each call of the callers. Returns the `Authorization` headers.
fn headers(server: &AuthorizationServer, runtime: &Runtime, callers: Callers) -> Arc<[String]> {
    let client = server.own_client("client").name("Example App").secret(SECRET).scopes(SCOPES);
    let client = runtime.block_on(client.redirect_uri(REDIRECT_URI).ensure()).expect("the description is valid");
    let client = Arc::new(Credentials { id: client.id().to_string(), secret: SECRET.to_owned() });
    let headers = Arc::<Mutex<Vec<String>>>::default();
    callers.run(runtime, &Latencies::default(), |caller, call| {
        let (server, client, headers) = (server.clone(), client.clone(), headers.clone());
        let subject = world::subject((call * callers.count + caller) as usize);
        async move {
            let form = world::new_exchange(&server, &client, &subject).await;
            let response = server.serve(Endpoint::Token, &world::post(form.as_bytes())).await;
            let token = Layout::of(response.body()).access(response.body());
            headers.lock().unwrap().push(format!("Bearer {}", str::from_utf8(token).unwrap()));
        }
    });
    mem::take(&mut *headers.lock().unwrap()).into()
}
