//! The adapter behind `axum::serve` and behind its own accept loop, which also closes stalled connections.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Extension, Router};
use grantor::protected_resource::ProtectedResource;
use grantor::wire::Endpoint;
use grantor::{Authenticated, AuthorizationServer, Config, MemoryStore, ResourceServer};
use grantor_axum::{Incoming, RequireScope, RequiredScope, accept, require_scope, require_scopes, respond};
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{Begun, Mistyped, Notes, apart, assert_mistyped, assert_served_and_guarded, authorization_server};

impl RequiredScope for Notes {
    const NAME: &str = "notes";
}

impl RequiredScope for Mistyped {
    const NAME: &str = "note";
}

/// The guards of both processes.
const GUARDED: [&str; 5] = ["/extractor", "/layer", "/apart/extractor", "/apart/layer", "/apart/scopes"];

fn app(server: AuthorizationServer) -> Router {
    let by_extractor = get(async |guarded: RequireScope<Notes>| guarded.token.client_id().to_string());
    let by_layer = async |Extension(token): Extension<Authenticated>| token.client_id().to_string();
    let apart = apart(&server);
    let needed = apart.scopes(["notes"]).unwrap();
    let there = get(async |guarded: RequireScope<Notes, ResourceServer>| guarded.token.client_id().to_string());
    let there = Router::new()
        .route("/apart/layer", get(by_layer).route_layer(require_scope::<Notes>(apart.clone()).unwrap()))
        .route("/apart/scopes", get(by_layer).route_layer(require_scopes(apart.clone(), needed)))
        .route("/apart/extractor", there)
        .with_state(apart);
    Router::new()
        .route("/layer", get(by_layer))
        .route_layer(require_scope::<Notes>(server.clone()).unwrap())
        .merge(there)
        .merge(grantor_axum::routes(&server))
        .route("/extractor", by_extractor)
        .route("/mistyped", get(async |_: RequireScope<Mistyped>| ()))
        .with_state(server)
}

/// A server on its own port, which a message stops.
struct Served {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    stopped: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
enum By {
    AxumServe,
    AcceptLoop,
}

impl Served {
    async fn start(by: By) -> Self {
        let app = app(authorization_server().await);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async { _ = stopped.await };
        let stopped = match by {
            By::AcceptLoop => tokio::spawn(accept::serve(listener, app, shutdown)),
            By::AxumServe => tokio::spawn(async {
                let service = app.into_make_service_with_connect_info::<SocketAddr>();
                axum::serve(listener, service).with_graceful_shutdown(shutdown).await.unwrap();
            }),
        };
        Self { address, stop, stopped }
    }
}

/// GUARD-01, GUARD-03, GUARD-04
#[tokio::test]
async fn both_versions_of_http_are_served_and_guarded() {
    for by in [By::AxumServe, By::AcceptLoop] {
        // `_stop`: the server stops when it is dropped.
        let Served { address, stop: _stop, .. } = Served::start(by).await;
        assert_served_and_guarded(&format!("{by:?}"), address, GUARDED).await;
    }
}

/// GUARD-02
#[tokio::test]
async fn a_mistyped_scope_is_found_at_the_start_and_is_never_a_403() {
    let error = require_scope::<Mistyped>(authorization_server().await).map(drop).unwrap_err();
    let Served { address, stop: _stop, .. } = Served::start(By::AcceptLoop).await;
    assert_mistyped(&error, address).await;
}

/// A request that has begun is answered, and nothing new is accepted.
#[tokio::test]
async fn shutdown_completes_what_has_begun() {
    for by in [By::AxumServe, By::AcceptLoop] {
        let Served { address, stop, stopped } = Served::start(by).await;
        let _silent = TcpStream::connect(address).await.unwrap();
        let begun = Begun::send(address, "").await;
        stop.send(()).unwrap();
        sleep(Duration::from_millis(200)).await;
        assert!(TcpStream::connect(address).await.is_err(), "{by:?} accepts after the shutdown");
        assert!(!stopped.is_finished(), "{by:?} waits for the request");
        begun.assert_is_answered(&format!("{by:?}")).await;
        timeout(Duration::from_secs(5), stopped).await.expect("it ends with its last connection").unwrap();
    }
}

/// `axum::serve` waits for these without end. The clock goes forward whenever all tasks wait.
#[tokio::test(start_paused = true)]
async fn the_accept_loop_closes_what_does_not_go_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(accept::serve(listener, app(authorization_server().await), pending()));
    for begun in
        ["", "P", "PRI * HTTP/2.0\r\n", "GET /oauth2/token HTTP/1.1\r\nHost", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "{begun:?} is waited for without end");
    }
}

/// 9449-4.3-04
/// A proof names the whole path; a nested router sees a part of it.
#[tokio::test]
async fn a_nested_route_lends_the_whole_path() {
    let mut config = Config::platform("https://auth.example");
    config.resources = vec![ProtectedResource::new("https://auth.example/api", "API")];
    let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
    let metadata = get(async |State(server): State<AuthorizationServer>, request: Incoming| {
        respond(server.serve(Endpoint::ResourceMetadata, &request.to_request()).await)
    });
    let app = Router::new()
        .nest("/.well-known", Router::new().route("/oauth-protected-resource/api", metadata))
        .with_state(server);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/.well-known/oauth-protected-resource/api", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(accept::serve(listener, app, async { _ = stopped.await }));
    let answer = reqwest::get(url).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    drop(answer);
    drop(stop);
    served.await.unwrap();
}
