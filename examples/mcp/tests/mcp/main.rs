//! The MCP server and its authorization server, in their own process, over a socket.

mod apart;
mod doctor;
mod documents;
mod flow;
mod guard;
mod minimal;
mod pages;
mod review;

use serde_json::{Value, json};
use support::folder::Folder;
use support::world::{PKCE, VERIFIER, encode};
use support_servers::http::{Answer, Page, Request};
use support_servers::started::Started;
use url::Url;

const REDIRECT_URI: &str = "http://127.0.0.1:9/callback";

/// A running server with a temporary database.
struct Server {
    started: Started,
    database: String,
    _folder: Folder,
}

/// A registered client, or the preregistered one.
struct Client {
    id: String,
    redirect_uri: String,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let folder = Folder::new("mcp");
        let database = folder.file().to_str().unwrap().to_owned();
        let own = ["--database", &*database];
        let started = Started::start(env!("CARGO_BIN_EXE_mcp"), &[&own[..], options].concat());
        Self { started, database, _folder: folder }
    }

    fn url(&self, path: &str) -> String {
        self.started.url(path)
    }

    fn about(&self, name: &str) -> &str {
        self.started.about(name)
    }

    fn database(&self) -> &str {
        &self.database
    }

    /// The preregistered client.
    fn demo_client(&self) -> Client {
        Client { id: self.about("client_id").to_owned(), redirect_uri: REDIRECT_URI.into() }
    }

    async fn post_registration(&self, metadata: &Value) -> Answer {
        let request = Request::to("POST", self.url("/oauth2/register")).header("Content-Type", "application/json");
        request.body(metadata.to_string()).send().await
    }

    /// Registers a public client, as command-line programs do.
    async fn register(&self) -> Client {
        let answer = self.post_registration(&metadata()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let id = answer.json()["client_id"].as_str().unwrap().to_owned();
        Client { id, redirect_uri: REDIRECT_URI.into() }
    }

    fn question(&self, client: &Client, more: &[(&str, &str)]) -> Url {
        let own = [("response_type", "code"), ("client_id", &client.id), ("redirect_uri", &client.redirect_uri)];
        let query = encode(&[&own[..], &PKCE, more].concat());
        Url::parse(&self.url(&format!("/oauth2/auth?{query}"))).unwrap()
    }

    /// Lets the user allow the whole request, and exchanges the code.
    async fn tokens(&self, client: &Client, more: &[(&str, &str)]) -> Value {
        let callback = Page::open(&self.question(client, more), "").await.decide(&[("decision", "allow")]).await;
        let answer = self.exchange(client, &code(&callback)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    async fn exchange(&self, client: &Client, code: &str) -> Answer {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &client.id),
            ("redirect_uri", &client.redirect_uri),
            ("code_verifier", VERIFIER),
            ("resource", self.about("resource_url")),
        ];
        Request::to("POST", self.url("/oauth2/token")).fields(&form).send().await
    }

    async fn refresh(&self, client: &Client, token: &str) -> Answer {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", &client.id)];
        Request::to("POST", self.url("/oauth2/token")).fields(&form).send().await
    }

    /// A message to the MCP server.
    fn message(&self, message: &Value) -> Request {
        let request = Request::to("POST", self.about("resource_url")).header("Content-Type", "application/json");
        let request = request.header("Accept", "application/json, text/event-stream");
        request.header("MCP-Protocol-Version", "2025-11-25").body(message.to_string())
    }

    async fn call(&self, token: &str, tool: &str, arguments: Value) -> Answer {
        let params = json!({ "name": tool, "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.message(&message).bearer(token).send().await
    }
}

/// What a command-line program registers.
fn metadata() -> Value {
    json!({
        "client_name": "Command Line",
        "redirect_uris": [REDIRECT_URI],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })
}

fn code(callback: &Url) -> String {
    let code = callback.query_pairs().find(|(name, _)| name == "code");
    code.unwrap_or_else(|| panic!("no code in {callback}")).1.into_owned()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// The text that the tool returned.
#[track_caller]
fn said(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    let result = answer.json();
    let said = result["result"]["content"][0]["text"].as_str();
    said.unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// The value of an attribute of the challenge.
#[track_caller]
fn challenged(answer: &Answer, attribute: &str) -> Option<String> {
    // The challenge for Bearer comes first, and that for DPoP after it.
    let challenge = answer.headers_of("www-authenticate").next().unwrap_or_else(|| panic!("no challenge: {answer:?}"));
    let (_, rest) = challenge.split_once(&format!("{attribute}=\""))?;
    rest.split('"').next().map(str::to_owned)
}
