//! Each adapter behind its framework's own server: HTTP/1.1, HTTP/2, the guard, shutdown.

mod actix;
mod axum;

use std::net::SocketAddr;
use std::time::Duration;

use grantor::client::{GrantType, GrantTypes};
use grantor::resource::{IntrospectionSettings, ResourceClient};
use grantor::scope::{ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::wire::message::TokenResponse;
use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, ConfigError, MemoryStore, ResourceServer};
use reqwest::{StatusCode, Version};
use support::to_server::ToServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// The scope that the guarded routes require.
struct Notes;

/// A scope that is not in the catalog.
struct Mistyped;

const SECRET: &str = "a-secret-of-32-or-more-characters";

async fn authorization_server() -> AuthorizationServer {
    let mut config = Config::strict("https://auth.example");
    config.client_credentials.on = true;
    let catalog = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes")).scope(ScopeDefinition::plain("other"));
    config.scopes = catalog.build().unwrap();
    let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
    let client = Client::builder(ClientId::new("job").unwrap())
        .name("Job")
        .grant_types(GrantTypes::NONE.with(GrantType::ClientCredentials))
        .client_scopes(server.config().scopes.parse(b"notes other").unwrap())
        .client_resources(ResourceScope::All)
        .may_introspect()
        .secret(&ClientSecret::new(SECRET))
        .unwrap()
        .build();
    server.registrar().unwrap().ensure_client(&client).await.unwrap();
    server
}

/// The check in another process, whose requests come to that server. `job` asks for it.
fn apart(server: &AuthorizationServer) -> ResourceServer {
    let config = server.config();
    let settings = IntrospectionSettings::of_server(config, "job", ClientSecret::new(SECRET), server.issuer());
    let client = ResourceClient::new(settings, ToServer(server.clone())).unwrap();
    ResourceServer::introspecting(config.clone(), client).unwrap()
}

/// The server at that address serves both versions of HTTP, and lets only a token with the scope pass on those paths.
async fn assert_served_and_guarded(name: &str, address: SocketAddr, guarded: [&str; 5]) {
    let url = |path: &str| format!("http://{address}{path}");
    let http1 = reqwest::Client::builder().http1_only().build().unwrap();
    let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    for (client, version) in [(http1, Version::HTTP_11), (http2, Version::HTTP_2)] {
        let metadata = client.get(url("/.well-known/oauth-authorization-server")).send().await.unwrap();
        assert_eq!((metadata.status(), metadata.version()), (StatusCode::OK, version), "{name}");
        let wrong = client.put(url("/oauth2/token")).send().await.unwrap();
        assert_eq!((wrong.status().as_u16(), &wrong.headers()["Allow"]), (405, &"POST".parse().unwrap()), "{name}");

        let notes = token(&client, url("/oauth2/token"), "notes").await;
        let other = token(&client, url("/oauth2/token"), "other").await;
        for path in guarded {
            let none = client.get(url(path)).send().await.unwrap();
            assert_eq!(none.status(), 401, "{name} {path}");
            assert!(none.headers()["WWW-Authenticate"].to_str().unwrap().starts_with("Bearer "));
            let insufficient = client.get(url(path)).bearer_auth(&other).send().await.unwrap();
            assert_eq!(insufficient.status(), 403, "{name} {path}");
            let challenge = insufficient.headers()["WWW-Authenticate"].to_str().unwrap();
            assert!(challenge.contains("insufficient_scope") && challenge.contains("\"notes\""), "{challenge}");
            let good = client.get(url(path)).bearer_auth(&notes).send().await.unwrap();
            assert_eq!((good.status(), good.text().await.unwrap()), (StatusCode::OK, "job".into()), "{name} {path}");
        }
    }
}

/// The layer of a mistyped scope cannot be made, and the extractor alone answers 503, with a token and without.
async fn assert_mistyped(error: &ConfigError, address: SocketAddr) {
    assert_eq!(error.to_string(), "scopes is \"note\"; unknown scope \"note\"; did you mean \"notes\"?");
    let client = reqwest::Client::new();
    let token = token(&client, format!("http://{address}/oauth2/token"), "notes").await;
    let request = client.get(format!("http://{address}/mistyped"));
    for request in [request.try_clone().unwrap(), request.bearer_auth(token)] {
        let response = request.send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers().get("WWW-Authenticate")), (503, None));
    }
}

async fn token(client: &reqwest::Client, endpoint: String, scope: &str) -> String {
    let form = [("grant_type", "client_credentials"), ("scope", scope)];
    let request = client.post(endpoint).basic_auth("job", Some(SECRET)).form(&form);
    let answer: TokenResponse = request.send().await.unwrap().error_for_status().unwrap().json().await.unwrap();
    answer.access_token.expose().to_owned()
}

/// A request whose body is not complete.
struct Begun(TcpStream);

impl Begun {
    /// Sends a head with those lines, and the first byte of the body; the server has read them when this returns.
    async fn send(address: SocketAddr, lines: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("POST /oauth2/token HTTP/1.1\r\nHost: a\r\n{lines}Content-Length: 5\r\n\r\nx");
        stream.write_all(head.as_bytes()).await.unwrap();
        sleep(Duration::from_millis(200)).await;
        Self(stream)
    }

    /// Sends the rest. The request is answered, and the connection ends.
    async fn assert_is_answered(mut self, name: &str) {
        self.0.write_all(b"=yyy").await.unwrap();
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{name}: {answer}");
    }
}
