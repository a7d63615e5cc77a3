//! The adapter behind `HttpServer`.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Data, ReqData};
use actix_web::{App, HttpServer};
use grantor::{Authenticated, ResourceServer};
use grantor_actix::{RequireScope, RequiredScope, require_scope, require_scopes};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{Begun, Mistyped, Notes, apart, assert_mistyped, assert_served_and_guarded, authorization_server};

impl RequiredScope for Notes {
    const NAME: &str = "notes";
}

impl RequiredScope for Mistyped {
    const NAME: &str = "note";
}

async fn by_extractor(guarded: RequireScope<Notes>) -> String {
    guarded.token.client_id().to_string()
}

async fn by_middleware(token: ReqData<Authenticated>) -> String {
    token.client_id().to_string()
}

/// A server on its own port.
struct Served {
    address: SocketAddr,
    handle: ServerHandle,
    stopped: JoinHandle<std::io::Result<()>>,
}

impl Served {
    async fn start() -> Self {
        let server = authorization_server().await;
        let guard = require_scope::<Notes, _>(server.clone()).unwrap();
        let apart = apart(&server);
        let guard_apart = require_scope::<Notes, _>(apart.clone()).unwrap();
        let needed = apart.scopes(["notes"]).unwrap();
        let app = move || {
            let guarded = web::scope("/middleware").wrap(from_fn(guard.clone()));
            let guarded_apart = web::scope("/apart/middleware").wrap(from_fn(guard_apart.clone()));
            let needed = (apart.clone(), needed.clone());
            let scopes = from_fn(move |request, next| require_scopes(needed.clone(), request, next));
            let there = async |guarded: RequireScope<Notes, ResourceServer>| guarded.token.client_id().to_string();
            App::new()
                .configure(grantor_actix::configure(&server))
                .route("/extractor", web::get().to(by_extractor))
                .route("/mistyped", web::get().to(async |_: RequireScope<Mistyped>| ""))
                .service(guarded.route("", web::get().to(by_middleware)))
                .app_data(Data::new(apart.clone()))
                .service(guarded_apart.route("", web::get().to(by_middleware)))
                .service(web::resource("/apart/scopes").wrap(scopes).get(by_middleware))
                .route("/apart/extractor", web::get().to(there))
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = HttpServer::new(app).workers(1).disable_signals().listen_auto_h2c(listener).unwrap().run();
        Self { address, handle: server.handle(), stopped: tokio::spawn(server) }
    }
}

/// GUARD-01, GUARD-03, GUARD-04
#[tokio::test]
async fn both_versions_of_http_are_served_and_guarded() {
    let served = Served::start().await;
    assert_served_and_guarded(
        "HttpServer",
        served.address,
        ["/extractor", "/middleware", "/apart/extractor", "/apart/middleware", "/apart/scopes"],
    )
    .await;
}

/// GUARD-02
#[tokio::test]
async fn a_mistyped_scope_is_found_at_the_start_and_is_never_a_403() {
    let error = require_scope::<Mistyped, BoxBody>(authorization_server().await).map(drop).unwrap_err();
    assert_mistyped(&error, Served::start().await.address).await;
}

/// A request that has begun is answered, and nothing new is accepted.
#[tokio::test]
async fn shutdown_completes_what_has_begun() {
    let Served { address, handle, stopped } = Served::start().await;
    let begun = Begun::send(address, "Connection: close\r\n").await;
    let stopping = tokio::spawn(handle.stop(true));
    sleep(Duration::from_millis(200)).await;
    assert!(!stopped.is_finished(), "it waits for the request");
    begun.assert_is_answered("HttpServer").await;
    timeout(Duration::from_secs(5), stopping).await.expect("it ends with its last connection").unwrap();
    timeout(Duration::from_secs(5), stopped).await.expect("it ends with its last connection").unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "it accepts after the shutdown");
}
