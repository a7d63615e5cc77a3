//! A server with one client and one access token, and requests that have neither.

use std::sync::LazyLock;

use futures::executor::block_on;
use grantor::application::{Logo, RegistrationLimits};
use grantor::scope::ResourceScope;
use grantor::testing::SeededEntropy;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{ApplicationForm, Approval, AuthorizationServer, Config, Consent, Decision, MemoryStore, Subject};

const FORM: &[u8] = b"application/x-www-form-urlencoded";
const REDIRECT_URI: &str = "https://app.example.com/cb";
const SESSION: &[u8] = b"the value of the session cookie";
const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// The beginning of a one-pixel PNG, which is all that is read.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
static ALICE: LazyLock<Subject> = LazyLock::new(|| Subject::new("alice").unwrap());

pub(crate) struct Service {
    server: AuthorizationServer,
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: String,
}

impl Service {
    pub(crate) fn new() -> Self {
        let server = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new());
        let server = server.entropy(SeededEntropy::new(7)).build().unwrap();
        let (id, secret) = block_on(registered(&server));
        let mut service = Self { server, id, secret, token: String::new() };
        service.token = block_on(service.granted());
        let right = format!("Bearer {}", service.token);
        let request = Request::new("GET").header("Authorization", right.as_bytes());
        assert!(block_on(service.server.resource().authenticate(&request)).is_ok());
        service
    }

    /// The access token of a new grant.
    async fn granted(&self) -> String {
        let query = format!("response_type=code&client_id={}", self.id);
        let pending = self.server.authorize(&Request::new("GET").query(query.as_bytes())).await.unwrap();
        let handle = self.server.hold(&pending, &*ALICE, SESSION).await.unwrap();
        let decision = Decision::Approve(Consent::to_everything());
        let decided = self.server.decide(handle.expose(), &*ALICE, SESSION, &decision).await.unwrap();
        let (_, code) = decided.header("Location").unwrap().split_once("code=").unwrap();
        let code = code.split('&').next().unwrap();
        let form =
            format!("grant_type=authorization_code&code={code}&client_id={}&client_secret={}", self.id, self.secret);
        let request = Request::new("POST").header("Content-Type", FORM).body(Body::Bytes(form.as_bytes()));
        let answer = self.server.serve(Endpoint::Token, &request).await;
        let json: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
        json["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn token_form(&self, id: &str, secret: &str) -> Vec<u8> {
        format!("grant_type=refresh_token&refresh_token=x&client_id={id}&client_secret={secret}").into_bytes()
    }

    pub(crate) fn introspection_form(&self, token: &str) -> Vec<u8> {
        format!("token={token}&client_id={}&client_secret={}", self.id, self.secret).into_bytes()
    }

    pub(crate) fn is_refused(&self, form: &[u8]) {
        is_refused(&self.server, form);
    }

    pub(crate) fn is_inactive(&self, form: &[u8]) {
        assert_eq!(ask(&self.server, Endpoint::Introspection, form).body(), br#"{"active":false}"#);
    }

    pub(crate) fn is_closed(&self, header: &[u8]) {
        let request = Request::new("GET").header("Authorization", header);
        assert!(block_on(self.server.resource().authenticate(&request)).is_err());
    }
}

pub(crate) fn is_refused(server: &AuthorizationServer, form: &[u8]) {
    assert_eq!(ask(server, Endpoint::Token, form).status(), 401);
}

fn ask(server: &AuthorizationServer, endpoint: Endpoint, form: &[u8]) -> Response {
    let request = Request::new("POST").header("Content-Type", FORM).body(Body::Bytes(form));
    block_on(server.serve(endpoint, &request))
}

async fn registered(server: &AuthorizationServer) -> (String, String) {
    let mut form = ApplicationForm::new("Example App", "https://app.example.com/");
    form.redirect_uris = vec![REDIRECT_URI.into()];
    form.scopes = "repo-code:rw".into();
    form.resource_scope = Some(ResourceScope::All);
    let logo = Logo::new(PNG, &RegistrationLimits::default()).unwrap();
    let registrar = server.registrar().unwrap();
    let id = registrar.submit(ALICE.clone(), form, Some(logo)).await.unwrap();
    let version = async || registrar.application(&id).await.unwrap().version();
    registrar.approve(&id, version().await, Approval::default()).await.unwrap();
    let secret = registrar.claim_secret(&id, &ALICE, version().await).await.unwrap();
    (id.to_string(), secret.expose().to_owned())
}

/// Returns the text with every other letter or digit at that place.
pub(crate) fn altered(text: &str, place: usize) -> impl Iterator<Item = String> {
    let others = ALPHABET.iter().filter(move |&&letter| letter != text.as_bytes()[place]);
    others.map(move |&letter| {
        let mut altered = text.to_owned();
        altered.replace_range(place..=place, char::from(letter).encode_utf8(&mut [0; 4]));
        altered
    })
}
