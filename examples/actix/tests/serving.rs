//! The adapter behind `HttpServer`: HTTP/1.1, HTTP/2, the guard, shutdown.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ReqData};
use actix_web::{App, HttpServer};
use grantor::message::TokenResponse;
use grantor::scope::{ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::{
    Authenticated, AuthorizationServer, Client, ClientId, ClientSecret, Config, GrantType, GrantTypes, MemoryStore,
};
use grantor_actix::{RequireScope, RequiredScope, require_scope};
use reqwest::{StatusCode, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
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

async fn by_extractor(guarded: RequireScope<Notes>) -> String {
    guarded.token.client_id().to_string()
}

async fn by_middleware(token: ReqData<Authenticated>) -> String {
    token.client_id().to_string()
}

/// A server on a port of its own.
struct Served {
    address: SocketAddr,
    handle: ServerHandle,
    stopped: JoinHandle<std::io::Result<()>>,
}

impl Served {
    async fn start() -> Self {
        let server = authorization_server().await;
        let app = move || {
            let guarded = web::scope("/middleware").wrap(from_fn(require_scope::<Notes>));
            App::new()
                .configure(grantor_actix::configure(&server))
                .route("/extractor", web::get().to(by_extractor))
                .service(guarded.route("", web::get().to(by_middleware)))
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = HttpServer::new(app).workers(1).disable_signals().listen_auto_h2c(listener).unwrap().run();
        Self { address, handle: server.handle(), stopped: tokio::spawn(server) }
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
    let served = Served::start().await;
    let http1 = reqwest::Client::builder().http1_only().build().unwrap();
    let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    for (client, version) in [(http1, Version::HTTP_11), (http2, Version::HTTP_2)] {
        let metadata = client.get(served.url("/.well-known/oauth-authorization-server")).send().await.unwrap();
        assert_eq!((metadata.status(), metadata.version()), (StatusCode::OK, version));
        let wrong = client.put(served.url("/oauth2/token")).send().await.unwrap();
        assert_eq!((wrong.status().as_u16(), &wrong.headers()["Allow"]), (405, &"POST".parse().unwrap()));

        let (notes, other) = (token(&client, &served, "notes").await, token(&client, &served, "other").await);
        for path in ["/extractor", "/middleware"] {
            let none = client.get(served.url(path)).send().await.unwrap();
            assert_eq!(none.status(), 401, "{path}");
            assert!(none.headers()["WWW-Authenticate"].to_str().unwrap().starts_with("Bearer "));
            let insufficient = client.get(served.url(path)).bearer_auth(&other).send().await.unwrap();
            assert_eq!(insufficient.status(), 403, "{path}");
            let challenge = insufficient.headers()["WWW-Authenticate"].to_str().unwrap();
            assert!(challenge.contains("insufficient_scope") && challenge.contains("\"notes\""), "{challenge}");
            let good = client.get(served.url(path)).bearer_auth(&notes).send().await.unwrap();
            assert_eq!((good.status(), good.text().await.unwrap()), (StatusCode::OK, "job".into()), "{path}");
        }
    }
}

/// A request that has begun is answered, and nothing new is accepted.
#[tokio::test]
async fn shutdown_completes_what_has_begun() {
    let Served { address, handle, stopped } = Served::start().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = "POST /oauth2/token HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nx";
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let stopping = tokio::spawn(handle.stop(true));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!stopped.is_finished(), "it waits for the request");
    stream.write_all(b"=yyy").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    timeout(Duration::from_secs(5), stopping).await.expect("it ends with its last connection").unwrap();
    timeout(Duration::from_secs(5), stopped).await.expect("it ends with its last connection").unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "it accepts after the shutdown");
}
