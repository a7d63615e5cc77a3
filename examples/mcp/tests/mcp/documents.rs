//! Clients with a metadata document.

use std::io;
use std::sync::Arc;

use grantor::{Clock as _, SystemClock};
use serde_json::{Value, json};
use support::folder::repository;
use support::keys::{Signer, unchanged};
use support::world::VERIFIER;
use support_servers::http::{Page, Request, value_after};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::{Client, REDIRECT_URI, Server, code, review, said, text};

/// A server that may fetch from this machine.
fn start() -> Server {
    Server::start(&["--fetch-root", &certificate("ca.pem")])
}

/// Serves a document until the test ends, and returns the client that it describes.
async fn publish(redirect_uri: &str) -> Client {
    publish_in_turn(vec![json!([redirect_uri])]).await
}

/// Serves the document of a client that signs with RS256, as ChatGPT's, and its key set.
async fn publish_with_key(signer: &Signer) -> Client {
    let members = json!({
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "RS256",
        "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
        "keys": [signer.jwk()],
    });
    serve(vec![json!(["https://assistant.example/callback"])], members).await
}

/// Serves a document whose redirect URIs change with each request, until the last ones.
async fn publish_in_turn(redirect_uris: Vec<Value>) -> Client {
    serve(redirect_uris, json!({"token_endpoint_auth_method": "none"})).await
}

/// Serves a document with these members. It is its own key set, if it has `keys`.
async fn serve(mut redirect_uris: Vec<Value>, members: Value) -> Client {
    let first = redirect_uris[0][0].as_str().unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let id = format!("https://localhost:{}/client.json", listener.local_addr().unwrap().port());
    let mut document = json!({
        "client_id": id,
        "client_name": "Example Assistant",
        "logo_uri": "https://localhost/logo.png",
        "grant_types": ["authorization_code", "refresh_token"],
    });
    document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    if document.get("keys").is_some() {
        document["jwks_uri"] = id.clone().into();
    }
    let acceptor = acceptor();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            document["redirect_uris"] = redirect_uris[0].clone();
            if redirect_uris.len() > 1 {
                redirect_uris.remove(0);
            }
            // The test fails if the document does not arrive.
            let _ = answer(&acceptor, stream, &document).await;
        }
    });
    Client { id, redirect_uri: first }
}

async fn answer(acceptor: &TlsAcceptor, stream: TcpStream, document: &Value) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let document = document.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ";
    stream.write_all(format!("{head}{}\r\n\r\n{document}", document.len()).as_bytes()).await?;
    stream.shutdown().await
}

fn acceptor() -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(certificate("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(certificate("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}

/// The certificate or key of `localhost`, shared with the tests of the databases.
fn certificate(name: &str) -> String {
    repository().join("tests/data/postgres-tls").join(name).to_str().unwrap().to_owned()
}

/// MCP-1125-03, CIMD-8.5-01
#[tokio::test]
async fn a_client_with_a_document_registers_nothing() {
    let server = start();
    let metadata = Request::to("GET", server.url("/.well-known/oauth-authorization-server")).send().await.json();
    assert_eq!(metadata["client_id_metadata_document_supported"], true);
    let client = publish("https://assistant.example/callback").await;
    let page = Page::open(&server.question(&client, &[]), "").await.html;
    let [document, answer, name] = [
        "<bdi>localhost</bdi>",
        "<bdi>assistant.example</bdi>",
        "<bdi>Example Assistant</bdi></strong>. That is its own claim.",
    ]
    .map(|words| page.find(words).unwrap_or_else(|| panic!("no {words:?} in {page}")));
    assert!(document < answer && answer < name, "the host that was checked comes first: {page}");
    assert!(!page.contains("logo.png") && !page.contains("<img") && !page.contains("own device"), "{page}");
    let tokens = server.tokens(&client, &[]).await;
    assert!(said(&server.call(text(&tokens, "access_token"), "list_notes", json!({})).await).contains("alice"));
    let refreshed = server.refresh(&client, text(&tokens, "refresh_token")).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
}

/// HOST-CHATGPT-02, RC-GPT-01
#[tokio::test]
async fn a_client_with_a_key_in_its_document_signs_for_the_token_url() {
    let server = start();
    let signer = Signer::rs256().named("one");
    let client = publish_with_key(&signer).await;
    let page = Page::open(&server.question(&client, &[]), "").await;
    let code = code(&page.decide(&[("decision", "allow")]).await);
    let exchange = async |assertion: Option<String>| {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("redirect_uri", &client.redirect_uri),
            ("code_verifier", VERIFIER),
            ("resource", server.about("resource_url")),
        ];
        let of_client = match &assertion {
            Some(assertion) => vec![
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", assertion.as_str()),
            ],
            None => vec![("client_id", client.id.as_str())],
        };
        Request::to("POST", server.url("/oauth2/token")).fields(&[&form[..], &of_client].concat()).send().await
    };
    let now = u64::from(SystemClock.now().seconds());
    let token_url = server.url("/oauth2/token");
    let signed = |signer: &Signer| signer.assertion(&client.id, &token_url, now, unchanged);
    for refused in [exchange(None).await, exchange(Some(signed(&signer.another().named("one")))).await] {
        assert_eq!((refused.status, refused.json()["error"].as_str()), (401, Some("invalid_client")));
    }
    let tokens = exchange(Some(signed(&signer))).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    let tokens = tokens.json();
    assert!(said(&server.call(text(&tokens, "access_token"), "list_notes", json!({})).await).contains("alice"));
    let refreshed = server.refresh(&client, text(&tokens, "refresh_token")).await;
    assert_eq!(refreshed.status, 401, "it proves nothing");
}

/// NEG-OC-05, MCP-1125-04
#[tokio::test]
async fn a_document_with_loopback_addresses_alone_is_warned_of() {
    let server = start();
    let client = publish(REDIRECT_URI).await;
    // Any program on the device can use this client id, and listen there.
    for _ in 0..2 {
        let page = Page::open(&server.question(&client, &[]), "").await;
        assert!(page.html.contains("any program can claim to be this application"), "{}", page.html);
        page.decide(&[("decision", "allow")]).await;
    }
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_client_with_a_document_awaits_the_review_too() {
    let server = Server::start(&["--review", "--fetch-root", &certificate("ca.pem")]);
    let client = publish(REDIRECT_URI).await;
    let waiting = Request::to("GET", server.question(&client, &[])).send().await;
    assert!(waiting.status == 400 && waiting.text().contains("awaits review"), "{waiting:?}");
    let cookies = review::sign_in(&server).await;
    let page = review::list(&server, &cookies).await;
    assert!(page.contains("Example Assistant"), "{page}");
    let approved = review::decide(&server, &cookies, &approval(&page, &client)).await;
    assert_eq!(approved.status, 303, "{approved:?}");
    let page = Page::open(&server.question(&client, &[]), "").await.html;
    assert!(page.contains("<h1><strong><bdi>Example Assistant</bdi></strong> wants to access"), "{page}");
}

/// CIMD-8.4-01
///
/// A document is kept for an hour, which are 3.6 seconds here.
#[tokio::test]
async fn a_changed_document_is_reviewed_as_it_is_now() {
    let server = Server::start(&["--review", "--fetch-root", &certificate("ca.pem"), "--clock-speed", "1000"]);
    let added = "https://other.example/callback";
    let client = publish_in_turn(vec![json!([REDIRECT_URI]), json!([REDIRECT_URI, added])]).await;
    let ask = async || Request::to("GET", server.question(&client, &[])).send().await;
    assert_eq!(ask().await.status, 400);
    let cookies = review::sign_in(&server).await;
    let page = review::list(&server, &cookies).await;
    assert!(!page.contains(added), "{page}");
    assert_eq!(review::decide(&server, &cookies, &approval(&page, &client)).await.status, 303);
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert_eq!(ask().await.status, 400);
    let page = review::list(&server, &cookies).await;
    assert!(page.contains(added), "the administrator sees what would be approved: {page}");
}

/// The form that approves the client on the page of the review.
fn approval<'a>(page: &'a str, client: &'a Client) -> [(&'a str, &'a str); 6] {
    [
        ("form_token", value_after(page, "name=\"form_token\"")),
        ("id", &client.id),
        ("version", value_after(page, "name=\"version\"")),
        ("name", "Example Assistant"),
        ("website", "https://assistant.example/"),
        ("decision", "approve"),
    ]
}

/// NEG-OC-03
#[tokio::test]
async fn without_that_option_nothing_on_this_machine_is_fetched() {
    let server = Server::start(&[]);
    let client = publish(REDIRECT_URI).await;
    let answer = Request::to("GET", server.question(&client, &[])).send().await;
    assert_eq!(answer.status, 400, "{answer:?}");
}
