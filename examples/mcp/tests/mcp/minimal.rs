//! The program of the guide "An MCP server", in a process of its own, and the client of the Rust SDK.

use std::process::Stdio;
#[cfg(unix)]
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, ClientConfig};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationManager, AuthorizationRequest, AuthorizationSession};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use support::folder::Folder;
use support_servers::http::{Page, Request};
use support_servers::started::cargo;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
#[cfg(unix)]
use tokio::time::timeout;
use url::Url;

use crate::{REDIRECT_URI, challenged, text};

/// The origin of the MCP Inspector.
const INSPECTOR: &str = "http://localhost:6274";

/// The running program.
struct Minimal {
    /// What it prints to be pasted into a client.
    url: String,
    process: Child,
    _folder: Folder,
}

/// The program, with a folder for its database.
fn minimal(address: &str) -> (Command, Folder) {
    let folder = Folder::new("minimal");
    let mut command = Command::new(cargo::example("minimal"));
    command.arg(address).current_dir(folder.path()).kill_on_drop(true);
    (command, folder)
}

impl Minimal {
    async fn start() -> Self {
        let (mut command, folder) = minimal("127.0.0.1:0");
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = loop {
            let line = lines.next_line().await.unwrap().expect("it prints its address");
            if let Some((_, url)) = line.split_once("into an MCP client: ") {
                break url.to_owned();
            }
        };
        // Its log lines must not fill the pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { url, process, _folder: folder }
    }

    fn at(&self, path: &str) -> Url {
        Url::parse(&self.url).unwrap().join(path).unwrap()
    }

    /// The user's browser: it is sent to the sign-in and comes back, and the user allows everything.
    async fn allow(&self, link: &Url) -> Url {
        let (mut url, mut cookies) = (link.clone(), String::new());
        for path in ["/oauth2/auth", "/sign-in"] {
            assert_eq!(url.path(), path);
            let answer = Request::to("GET", &url).cookies(&cookies).send().await;
            assert_eq!(answer.status, 303, "{answer:?}");
            (url, cookies) = (answer.location(&url), answer.cookies_after(&cookies));
        }
        let page = Page::open(&url, &cookies).await;
        assert!(page.html.contains("Read and write your notes"), "{}", page.html);
        page.decide(&[("decision", "allow")]).await
    }
}

#[tokio::test]
async fn the_rust_sdk_connects_to_the_minimal_program() {
    let server = Minimal::start().await;
    let mut manager = AuthorizationManager::new(server.url.as_str()).await.unwrap();
    let found = manager.resolve_metadata().await.unwrap();
    manager.set_metadata(found.metadata);
    let request = AuthorizationRequest::new(REDIRECT_URI).with_client_name("Test Client");
    let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error).unwrap();
    let callback = server.allow(&Url::parse(session.get_authorization_url()).unwrap()).await;
    session.handle_callback_url(callback.as_str()).await.unwrap();

    let token = session.auth_manager.get_access_token().await.unwrap();
    // 406 is the answer of `rmcp` to a request without `Accept`.
    for (bytes, status) in [(64 * 1024, 406), (64 * 1024 + 1, 413)] {
        let answer = Request::to("POST", &server.url).bearer(&token).body(vec![b' '; bytes]).send().await;
        assert_eq!(answer.status, status, "{bytes} bytes");
    }

    let auth = AuthClient::new(reqwest::Client::default(), session.auth_manager);
    let config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str());
    let transport = StreamableHttpClientTransport::with_client(auth, config);
    let client = ClientConfig::default().serve(transport).await.unwrap();
    assert_eq!(client.peer_info().unwrap().server_info.as_ref().unwrap().name, "notes");
    let mut tools: Vec<_> = client.list_all_tools().await.unwrap().iter().map(|tool| tool.name.to_string()).collect();
    tools.sort();
    assert_eq!(tools, ["add_note", "list_notes"]);
    let call = async |tool: &'static str, arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap();
        let result = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap();
        text(&serde_json::to_value(result).unwrap()["content"][0], "text").to_owned()
    };
    call("add_note", json!({ "text": "milk" })).await;
    assert_eq!(call("list_notes", json!({})).await, "Notes of alice: milk");
}

#[tokio::test]
async fn the_minimal_program_refuses_strangers() {
    let server = Minimal::start().await;
    let post = || Request::to("POST", &server.url);
    let refused = post().send().await;
    assert_eq!((refused.status, challenged(&refused, "scope").as_deref()), (401, Some("notes")));
    let document = challenged(&refused, "resource_metadata").unwrap();
    assert_eq!(document, server.at("/.well-known/oauth-protected-resource/mcp").as_str());
    let document = Request::to("GET", document).send().await.json();
    assert_eq!(text(&document, "resource"), server.url);
    let metadata = Request::to("GET", server.at("/.well-known/oauth-authorization-server")).send().await.json();
    assert!(metadata["registration_endpoint"].is_string(), "{metadata}");
    assert_eq!(metadata["client_id_metadata_document_supported"], true);

    for (origin, status) in [("http://evil.example", 403), ("null", 403), (INSPECTOR, 401)] {
        let answer = post().header("Origin", origin).send().await;
        assert_eq!(answer.status, status, "{origin}");
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!(allowed, (status == 401).then_some(origin), "{origin}");
        let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
        assert_eq!(exposed.contains("WWW-Authenticate"), status == 401, "{origin}: {exposed}");
    }
    let preflight = Request::to("OPTIONS", &server.url).header("Origin", INSPECTOR);
    let preflight = preflight.header("Access-Control-Request-Method", "POST");
    let answer = preflight.header("Access-Control-Request-Headers", "authorization").send().await;
    assert_eq!((answer.status, answer.header("access-control-allow-headers")), (200, Some("authorization")));
    for path in ["/mcp", "/sign-in?return_to=/", "/oauth2/auth", "/none"] {
        let answer = Request::to("GET", server.at(path)).host("evil.example").send().await;
        assert_eq!((answer.status, answer.cookies()), (421, String::new()), "{path}");
    }
}

/// It signs in whoever comes, so others must not reach it.
#[tokio::test]
async fn the_minimal_program_serves_http_on_the_loopback_alone() {
    let (mut command, _folder) = minimal("0.0.0.0:0");
    let output = command.output().await.unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("loopback host"), "{error}");
}

/// As a supervisor stops it.
#[cfg(unix)]
#[tokio::test]
async fn the_minimal_program_ends_at_sigterm() {
    let mut server = Minimal::start().await;
    let id = server.process.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    let ended = timeout(Duration::from_secs(60), server.process.wait()).await.unwrap().unwrap();
    // A process that the signal ends has no code.
    assert_eq!(ended.code(), Some(0));
}
