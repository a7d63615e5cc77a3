//! The service that the hosts connect to: a thin server of the MCP profile, which fetches from a scripted web.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, Profile};
use grantor::fetch::{FetchError, FetchErrorKind, FetchRequest, FetchResponse, Fetcher};
use grantor::hooks::ApproveWithin;
use grantor::protected_resource::ProtectedResource;
use grantor::scope::ResourceScope;
use grantor::{Clock as _, Config};
use serde_json::Value;
use support::folder::repository;
use support::keys::Signer;
use support::world::{ISSUER, World, config_of};
use support_servers::http::Answer;
use system::Thin;

use super::{PORT, Page, Request, SCOPES, Url, VERIFIER, encode, json};
use support::world::PKCE;

/// The documents that the service can fetch. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Web(Arc<Mutex<BTreeMap<String, FetchResponse>>>);

impl Web {
    pub(super) fn answer(&self, url: &str, response: FetchResponse) {
        self.0.lock().unwrap().insert(url.to_owned(), response);
    }
}

#[async_trait]
impl Fetcher for Web {
    async fn fetch(&self, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        let response = self.0.lock().unwrap().get(request.url).cloned();
        response.ok_or_else(|| FetchError::new(FetchErrorKind::Name))
    }
}

pub(super) struct Service {
    pub(super) name: &'static str,
    pub(super) world: World,
    pub(super) web: Web,
    address: SocketAddr,
}

/// What was recorded of a host.
pub(super) fn host(name: &str) -> Value {
    let text = std::fs::read_to_string(repository().join("tests/data/hosts.json")).unwrap();
    let mut hosts: Value = serde_json::from_str(&text.replace("{P}", PORT)).unwrap();
    hosts[name].take()
}

/// Offers authentication by key too.
pub(super) fn with_keys(config: &mut Config) {
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
}

/// A JSON response.
pub(super) fn answer(body: &Value) -> FetchResponse {
    let mut response = FetchResponse::new(200, body.to_string());
    response.content_type = Some("application/json".to_owned());
    response
}

/// The form of a client that sends its id alone.
pub(super) fn by_id(client: &Value) -> [(&str, &str); 1] {
    [("client_id", client["client_id"].as_str().unwrap())]
}

pub(super) fn code(callback: &Url) -> String {
    let code = callback.query_pairs().find(|(name, _)| name == "code");
    code.unwrap_or_else(|| panic!("no code in {callback}")).1.into_owned()
}

fn signer() -> Signer {
    let key_id = host("ChatGPT")["assertion"]["header"]["kid"].as_str().unwrap().to_owned();
    Signer::rs256().named(&key_id)
}

impl Service {
    /// Both thin servers, with registration and documents on.
    pub(super) async fn both(change: impl Fn(&mut Config)) -> Vec<Self> {
        let mut both = Vec::new();
        for thin in Thin::BOTH {
            let mut config = config_of(Profile::Mcp);
            config.registration.dynamic = DynamicRegistration::Open;
            config.registration.metadata_documents = true;
            config.resources = vec![ProtectedResource::new(format!("{ISSUER}/mcp"), "MCP")];
            change(&mut config);
            let scopes = config.scopes.parse(SCOPES.as_bytes()).unwrap();
            let (web, bounds) = (Web::default(), RegistrationBounds::new(scopes, ResourceScope::All));
            let hooked = web.clone();
            let world =
                World::built(config, |builder| builder.registration_policy(ApproveWithin::new(bounds)).fetcher(hooked));
            let world = world.await;
            let address = thin.start_with(&world.server);
            both.push(Self { name: thin.name(), world, web, address });
        }
        both
    }

    pub(super) fn issuer(&self) -> &str {
        self.world.server.issuer()
    }

    pub(super) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        Request::to("GET", self.url(path)).send().await
    }

    /// Publishes the document of a host, and its keys.
    pub(super) fn publish(&self, name: &str) -> Value {
        let document = host(name)["document"].take();
        self.publish_document(&document);
        if let Some(keys) = document["jwks_uri"].as_str() {
            self.web.answer(keys, answer(&json!({"keys": [signer().jwk()]})));
        }
        document
    }

    pub(super) fn publish_document(&self, document: &Value) {
        self.web.answer(document["client_id"].as_str().unwrap(), answer(document));
    }

    /// What the host gets for its registration.
    pub(super) async fn registered(&self, name: &str) -> Value {
        self.register(&host(name)["registration"]).await
    }

    pub(super) async fn register(&self, metadata: &Value) -> Value {
        let request = Request::to("POST", self.url("/oauth2/register")).header("Content-Type", "application/json");
        let answer = request.body(metadata.to_string()).send().await;
        assert_eq!(answer.status, 201, "{}: {answer:?}", self.name);
        answer.json()
    }

    fn question(&self, client: &Value, uri: &Value, more: &[(&str, &str)]) -> Url {
        let own = [("response_type", "code"), ("redirect_uri", uri.as_str().unwrap())];
        self.url(&format!("/oauth2/auth?{}", encode(&[&own[..], &by_id(client), &PKCE, more].concat())))
    }

    /// The answer to an authorization request.
    pub(super) async fn ask(&self, client: &Value, uri: &Value, more: &[(&str, &str)]) -> Answer {
        Request::to("GET", self.question(client, uri, more)).send().await
    }

    /// Where the browser goes after the user has agreed.
    pub(super) async fn callback(&self, client: &Value, uri: &Value, more: &[(&str, &str)]) -> Url {
        let page = Page::open(&self.question(client, uri, more), "").await;
        let callback = page.decide(&[("decision", "allow")]).await;
        assert!(callback.as_str().starts_with(uri.as_str().unwrap()), "{}: {callback}", self.name);
        callback
    }

    /// The code after the user has agreed.
    pub(super) async fn authorized(&self, client: &Value, uri: &Value, more: &[(&str, &str)]) -> String {
        code(&self.callback(client, uri, more).await)
    }

    /// Exchanges a code with these fields, or with Basic credentials of an id and no secret.
    pub(super) async fn exchange(&self, code: &str, uri: &Value, own: &[(&str, &str)], basic: Option<&str>) -> Answer {
        let form = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
        let form = [&form[..], &[("redirect_uri", uri.as_str().unwrap())], own].concat();
        let request = Request::to("POST", self.url("/oauth2/token")).fields(&form);
        match basic {
            Some(id) => request.basic(&encode(&[("", id)])[1..], "").send().await,
            None => request.send().await,
        }
    }

    /// The token response to a public client.
    pub(super) async fn tokens(&self, code: &str, client: &Value, uri: &Value) -> Value {
        let answer = self.exchange(code, uri, &by_id(client), None).await;
        assert_eq!(answer.status, 200, "{}: {answer:?}", self.name);
        answer.json()
    }

    pub(super) async fn refresh(&self, client: &Value, token: &Value) -> Answer {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token.as_str().unwrap())];
        Request::to("POST", self.url("/oauth2/token")).fields(&[&form[..], &by_id(client)].concat()).send().await
    }

    /// A request that ChatGPT signs.
    pub(super) async fn signed(&self, endpoint: &str, form: &[(&str, &str)]) -> Answer {
        let chatgpt = host("ChatGPT");
        let id = chatgpt["document"]["client_id"].as_str().unwrap();
        let audience = chatgpt["assertion"]["aud"].as_str().unwrap().replace("{O}", self.issuer());
        let now = u64::from(self.world.clock.now().seconds());
        let header = chatgpt["assertion"]["header"].clone();
        let assertion = signer().assertion(id, &audience, now, |own, _| *own = header);
        let more = [
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", &*assertion),
        ];
        Request::to("POST", self.url(&format!("/oauth2/{endpoint}"))).fields(&[form, &more].concat()).send().await
    }
}
