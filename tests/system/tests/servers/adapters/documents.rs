//! A client with a metadata document: the adapters pass the user on, and the page shows the verified host.

use async_trait::async_trait;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::Profile;
use grantor::fetch::{FetchError, FetchRequest, FetchResponse, Fetcher};
use grantor::hooks::ApproveWithin;
use grantor::scope::ResourceScope;
use grantor::{AuthorizationServer, Config, MemoryStore};
use support::world::{PKCE, SCOPES, config_of, encode};
use support_servers::http::Request;
use system::Thin;

use crate::adapters::trio::COOKIE;

const URL: &str = "https://client.example/oauth/client.json";
const DOCUMENT: &str = r#"{
    "client_id": "https://client.example/oauth/client.json",
    "client_name": "<b>Bank</b>",
    "redirect_uris": ["http://127.0.0.1/callback"],
    "logo_uri": "https://cdn.example/logo.png",
    "client_uri": "https://bank.example/"
}"#;

#[derive(Debug)]
struct OneDocument;

#[async_trait]
impl Fetcher for OneDocument {
    async fn fetch(&self, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        assert_eq!(request.url, URL);
        let mut response = FetchResponse::new(200, DOCUMENT);
        response.content_type = Some("application/json".to_owned());
        Ok(response)
    }
}

fn server() -> AuthorizationServer {
    let mut config: Config = config_of(Profile::Mcp);
    config.registration.metadata_documents = true;
    let bounds = RegistrationBounds::new(config.scopes.parse(SCOPES.as_bytes()).unwrap(), ResourceScope::All);
    let builder = AuthorizationServer::builder(config, MemoryStore::new());
    builder.registration_policy(ApproveWithin::new(bounds)).fetcher(OneDocument).build().unwrap()
}

/// CIMD-5-03, CIMD-8.5-01
#[tokio::test]
async fn the_page_shows_the_host_first_and_loads_nothing_of_the_document() {
    let redirect_uri = ("redirect_uri", "http://127.0.0.1:50123/callback");
    let query = encode(&[&[("response_type", "code"), ("client_id", URL), redirect_uri][..], &PKCE].concat());
    for thin in Thin::BOTH {
        let address = thin.start_with(&server());
        let request = Request::get("/oauth2/auth").query(&query).header("Cookie", COOKIE);
        let answer = request.send_to(address).await;
        assert_eq!(answer.status, 200, "{}: {}", thin.name(), answer.text());
        let html = answer.text();
        let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} in {html}"));
        assert!(place("client.example") < place("&#60;b&#62;Bank"), "the host comes first");
        assert!(place("reviewed") < place("<form") && place("on your own device") < place("<form"));
        assert!(html.contains("a program on this device, at <strong><bdi>127.0.0.1</bdi></strong>"), "{html}");
        for foreign in ["cdn.example", "bank.example", "<img", "<script", "src="] {
            assert!(!html.contains(foreign), "{foreign} in {html}");
        }
        assert!(!answer.header("content-security-policy").unwrap().contains("example"));
    }
}
