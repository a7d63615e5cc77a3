//! The adapter behind `axum::serve` and behind its own accept loop: HTTP/1.1, HTTP/2, the guard, shutdown, slow heads.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use axum::routing::get;
use axum::{Extension, Router};
use grantor::message::TokenResponse;
use grantor::scope::{ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::{
    Authenticated, AuthorizationServer, Client, ClientId, ClientSecret, Config, GrantType, GrantTypes, MemoryStore,
};
use grantor_axum::{RequireScope, RequiredScope, accept, require_scope};
use reqwest::{StatusCode, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

struct Notes;

impl RequiredScope for Notes {
    const NAME: &str = "notes";
}

async fn authorization_server() -> AuthorizationServer {
    let mut config = Config::strict("https://auth.example");
    config.client_credentials = true;
    let catalog = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes")).scope(ScopeDefinition::plain("other"));
    config.scopes = catalog.build().unwrap();
    let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
    let client = Client::builder(ClientId::new("job").unwrap())
        .name("Job")
        .grant_types(GrantTypes::NONE.with(GrantType::ClientCredentials))
        .machine_scopes(server.config().scopes.parse(b"notes other").unwrap())
        .machine_resources(ResourceScope::All)
        .secret(&ClientSecret::new(SECRET))
        .unwrap()
        .build();
    server.registrar().unwrap().ensure_client(&client).await.unwrap();
    server
}

const SECRET: &str = "a-secret-of-32-or-more-characters";

fn app(server: AuthorizationServer) -> Router {
    let by_extractor = get(async |guarded: RequireScope<Notes>| guarded.token.client_id().to_string());
    let by_layer = get(async |Extension(token): Extension<Authenticated>| token.client_id().to_string());
    Router::new()
        .route("/layer", by_layer)
        .route_layer(require_scope::<Notes>(server.clone()))
        .merge(grantor_axum::routes(&server))
        .route("/extractor", by_extractor)
        .with_state(server)
}

/// A server on a port of its own, which a message stops.
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

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

async fn token(client: &reqwest::Client, served: &Served, scope: &str) -> String {
    let form = [("grant_type", "client_credentials"), ("scope", scope)];
    let request = client.post(served.url("/oauth2/token")).basic_auth("job", Some(SECRET)).form(&form);
    let answer: TokenResponse = request.send().await.unwrap().error_for_status().unwrap().json().await.unwrap();
    answer.access_token.expose().to_owned()
}

#[tokio::test]
async fn both_versions_of_http_are_served_and_guarded() {
    for by in [By::AxumServe, By::AcceptLoop] {
        let served = Served::start(by).await;
        let http1 = reqwest::Client::builder().http1_only().build().unwrap();
        let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
        for (client, version) in [(http1, Version::HTTP_11), (http2, Version::HTTP_2)] {
            let metadata = client.get(served.url("/.well-known/oauth-authorization-server")).send().await.unwrap();
            assert_eq!((metadata.status(), metadata.version()), (StatusCode::OK, version), "{by:?}");
            let wrong = client.put(served.url("/oauth2/token")).send().await.unwrap();
            assert_eq!((wrong.status().as_u16(), &wrong.headers()["Allow"]), (405, &"POST".parse().unwrap()));

            let (notes, other) = (token(&client, &served, "notes").await, token(&client, &served, "other").await);
            for path in ["/extractor", "/layer"] {
                let none = client.get(served.url(path)).send().await.unwrap();
                assert_eq!(none.status(), 401, "{by:?} {path}");
                assert!(none.headers()["WWW-Authenticate"].to_str().unwrap().starts_with("Bearer "));
                let insufficient = client.get(served.url(path)).bearer_auth(&other).send().await.unwrap();
                assert_eq!(insufficient.status(), 403, "{by:?} {path}");
                let challenge = insufficient.headers()["WWW-Authenticate"].to_str().unwrap();
                assert!(challenge.contains("insufficient_scope") && challenge.contains("\"notes\""), "{challenge}");
                let good = client.get(served.url(path)).bearer_auth(&notes).send().await.unwrap();
                assert_eq!(
                    (good.status(), good.text().await.unwrap()),
                    (StatusCode::OK, "job".into()),
                    "{by:?} {path}"
                );
            }
        }
    }
}

/// A request that has begun is answered, and nothing new is accepted.
#[tokio::test]
async fn shutdown_completes_what_has_begun() {
    for by in [By::AxumServe, By::AcceptLoop] {
        let Served { address, stop, stopped } = Served::start(by).await;
        let _silent = TcpStream::connect(address).await.unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = "POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nx";
        stream.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.send(()).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(TcpStream::connect(address).await.is_err(), "{by:?} accepts after the shutdown");
        assert!(!stopped.is_finished(), "{by:?} waits for the request");
        stream.write_all(b"=yyy").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{by:?}: {answer}");
        timeout(Duration::from_secs(5), stopped).await.expect("it ends with its last connection").unwrap();
    }
}

/// `axum::serve` waits for these without end. The clock goes forward whenever all wait.
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
