//! A server with a clock that does not advance by itself, one approved client and one user.
//!
//! Answers are compared in the words of the checklist: `OK`, `E400(x)`, `E401(x)`, `R401`, `EMPTY`,
//! `PAGE`, `RED(x)`, `CODE`, `WA(x)` are the functions `ok`, `e400`, `e401`, `r401`, `empty`, `page`,
//! `red`, `code`, `wa`.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::application::{Logo, RegistrationLimits};
use grantor::client::ClientType;
use grantor::config::Profile;
use grantor::hooks::SigningKey;
use grantor::protected_resource::{AccessTokenFormat, ProtectedResource};
use grantor::registration::Approved;
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::secret::CodeVerifier;
use grantor::server::Builder;
use grantor::store::{Purge, Stores};
use grantor::testing::{ManualClock, SeededEntropy};
use grantor::wire::message::TokenResponse;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{
    ApplicationForm, Approval, Authenticated, AuthorizationError, AuthorizationServer, ClientId, ClientSecret, Config,
    Consent, Decision, Event, EventSink, PendingAuthorization, Registrar, RegistrarError, ResourceError, Subject,
    Timestamp,
};

pub use crate::any_store::AnyStore;
use crate::keys::Signer;

pub const ISSUER: &str = "https://auth.example";
pub const REDIRECT_URI: &str = "https://app.example.com/cb";
/// What the client of the world may ask for.
pub const SCOPES: &str = "repo-code:rw repo-issue:rw account-profile:r";
pub const SESSION: &[u8] = b"the value of the session cookie";
/// RFC 7636 appendix B.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// 2001-09-09T01:46:40Z
pub const START: u32 = 1_000_000_000;

/// The settings of that profile at [`ISSUER`], with the platform's scopes in all.
pub fn config_of(profile: Profile) -> Config {
    // A world is made thousands of times, and writing its scopes would take a tenth of that.
    static MADE: [OnceLock<Config>; 4] = [const { OnceLock::new() }; 4];
    let number = match profile {
        Profile::Strict => 0,
        Profile::Mcp => 1,
        Profile::Fapi => 2,
        _ => 3,
    };
    MADE[number].get_or_init(|| config_at(profile, ISSUER)).clone()
}

/// The same at another issuer.
pub fn config_at(profile: Profile, issuer: &str) -> Config {
    let mut config = match profile {
        Profile::Strict => Config::strict(issuer),
        Profile::Mcp => Config::mcp(issuer),
        Profile::Fapi => Config::fapi(issuer),
        _ => Config::platform(issuer),
    };
    config.scopes = ScopeCatalog::platform();
    config
}

/// A PNG signature, which is all that the check of a logo requires in front of its pixels.
pub fn logo() -> Logo {
    Logo::new(PNG, &RegistrationLimits::default()).unwrap()
}

/// One transparent pixel.
pub const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0a, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0, 1, 0, 0, 5, 0, 1,
    0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// The form of a confidential web application.
pub fn form() -> ApplicationForm {
    let mut form = ApplicationForm::new("Example App", "https://app.example.com/");
    form.redirect_uris = vec![REDIRECT_URI.into()];
    form.scopes = SCOPES.into();
    form.resource_scope = Some(ResourceScope::All);
    form
}

/// The form of a public application.
pub fn public_form() -> ApplicationForm {
    let mut form = form();
    form.client_type = ClientType::Public;
    form
}

/// What is changed where it is made.
pub trait With: Sized {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl With for ApplicationForm {}

/// A client as its developer knows it.
#[derive(Clone)]
pub struct Credentials {
    pub id: String,
    /// Empty for a public client.
    pub secret: String,
}

impl Credentials {
    pub fn client_id(&self) -> ClientId {
        ClientId::new(&self.id).unwrap()
    }
}

pub struct World {
    pub server: AuthorizationServer,
    pub store: AnyStore,
    pub clock: ManualClock,
    pub events: Recorder,
    pub client: Credentials,
    pub alice: Subject,
    /// The keys with which its servers sign access tokens.
    pub keys: Vec<SigningKey>,
}

impl World {
    pub async fn platform() -> Self {
        Self::with(Profile::Platform, |_| {}).await
    }

    pub async fn strict() -> Self {
        Self::with(Profile::Strict, |_| {}).await
    }

    pub async fn mcp() -> Self {
        Self::with(Profile::Mcp, |_| {}).await
    }

    /// The same as [`platform`](Self::platform), for an API whose access tokens are JWTs. The same claims have the same
    /// signature, and signing takes its time.
    pub async fn with_jwts() -> Self {
        let mut api = ProtectedResource::new("https://api.example", "API");
        api.access_tokens = AccessTokenFormat::Jwt;
        let mut config = config_of(Profile::Platform);
        (config.public_clients, config.resources) = (true, vec![api]);
        let keys = vec![Signer::ed25519().signing_key()];
        let mut world = Self::built(config, |builder| builder.signing_keys(keys.clone())).await;
        world.keys = keys;
        world
    }

    /// A world of that profile with changed settings; public clients may be registered in all.
    pub async fn with(profile: Profile, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config_of(profile);
        config.public_clients = true;
        change(&mut config);
        Self::built(config, |builder| builder).await
    }

    /// A world with these settings, whose server has further hooks.
    pub async fn built(config: Config, hooks: impl FnOnce(Builder) -> Builder) -> Self {
        Self::on(AnyStore::open().await, config, hooks).await
    }

    /// The same on an existing, empty store.
    pub async fn on(store: AnyStore, config: Config, hooks: impl FnOnce(Builder) -> Builder) -> Self {
        let clock = ManualClock::new(Timestamp::from_seconds(START));
        let events = Recorder::default();
        let builder = AuthorizationServer::builder(config, store.clone()).clock(clock.clone()).events(events.clone());
        let server = hooks(builder.entropy(SeededEntropy::new(7))).build().unwrap();
        let client = Credentials { id: String::new(), secret: String::new() };
        let alice = Subject::new("alice").unwrap();
        let mut world = Self { server, store, clock, events, client, alice, keys: Vec::new() };
        world.client = world.register(form()).await;
        world
    }

    /// Another server, with these settings and stores, which shares the clock and the events.
    pub fn builder(&self, config: Config, stores: impl Into<Stores>) -> Builder {
        let builder =
            AuthorizationServer::builder(config, stores).clock(self.clock.clone()).events(self.events.clone());
        builder.signing_keys(self.keys.clone())
    }

    /// Submits and approves a form.
    pub async fn register(&self, form: ApplicationForm) -> Credentials {
        self.register_as(form, Approval::default()).await
    }

    pub async fn register_as(&self, form: ApplicationForm, approval: Approval) -> Credentials {
        let registrar = self.server.registrar().unwrap();
        let id = registrar.submit(Subject::new("developer").unwrap(), form, Some(logo())).await.unwrap();
        registrar.approve_now(&id, approval).await.unwrap();
        let secret = match registrar.claim_now(&id).await {
            Err(RegistrarError::PublicClient | RegistrarError::NoSecret) => String::new(),
            claimed => claimed.unwrap().expose().to_owned(),
        };
        Credentials { id: id.to_string(), secret }
    }

    pub fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// One step of a purge, however far the clock has advanced since the last one.
    pub async fn purge(&self, limit: usize) -> Purge {
        self.server.confirm_clock().await.unwrap();
        self.server.purge_expired(limit).await.unwrap()
    }

    // The authorization endpoint.

    /// The query of a request of that client with more parameters.
    pub fn query_of(&self, client: &Credentials, more: &[(&str, &str)]) -> String {
        let mut query = encode(&[("response_type", "code"), ("client_id", &client.id)]);
        for pair in more {
            query.push('&');
            query.push_str(&encode(&[*pair]));
        }
        query
    }

    pub fn query(&self, more: &[(&str, &str)]) -> String {
        self.query_of(&self.client, more)
    }

    pub async fn authorize(&self, query: &str) -> Result<PendingAuthorization, AuthorizationError> {
        self.server.authorize(&Request::new("GET").query(query.as_bytes())).await
    }

    /// The error answer to a query for the signed-in user; panics if the query is valid.
    pub async fn refused(&self, query: &str) -> Response {
        self.authorize(query).await.expect_err("the request was found good").response(Some(&self.alice))
    }

    pub async fn decide(&self, query: &str, decision: Decision) -> Response {
        let pending = self.authorize(query).await.expect("the request is good");
        let handle = self.server.hold(&pending, &self.alice, SESSION).await.unwrap();
        match self.server.decide(handle.expose(), &self.alice, SESSION, &decision).await {
            Ok(response) => response,
            Err(error) => error.response(Some(&self.alice)),
        }
    }

    pub async fn approve(&self, query: &str) -> Response {
        self.decide(query, Decision::Approve(Consent::to_everything())).await
    }

    /// A code for that query.
    pub async fn code_for(&self, query: &str) -> String {
        text(&code(&self.approve(query).await), "code")
    }

    /// A code for a minimal request of the world's client; PKCE where the profile needs it.
    pub async fn code(&self) -> String {
        self.code_for(&self.query(&PKCE)).await
    }

    // Pushed requests.

    /// A push of that client: a request with more parameters, authenticated as [`Call::client`] does.
    pub fn par(&self, client: &Credentials, more: &[(&str, &str)]) -> Call<'_> {
        let call = self.post(Endpoint::PushedAuthorization, &[]).raw_body(self.query_of(client, more));
        if client.secret.is_empty() { call } else { call.basic(&client.id, &client.secret) }
    }

    /// Pushes a minimal request of the world's client with PKCE, and returns its `request_uri`.
    pub async fn push(&self) -> String {
        created(&self.par(&self.client, &PKCE).send().await)
    }

    /// The query with which a browser presents a pushed request of the world's client.
    pub fn reference(&self, request_uri: &str) -> String {
        encode(&[("client_id", &self.client.id), ("request_uri", request_uri)])
    }

    /// A visit of a browser in that session, with the user if one is signed in.
    pub async fn visit(
        &self,
        query: &str,
        session: &[u8],
        user: Option<&Subject>,
    ) -> Result<PendingAuthorization, AuthorizationError> {
        let request = Request::new("GET").query(query.as_bytes()).session(session);
        self.server.authorize(&user.into_iter().fold(request, Request::subject)).await
    }

    // The machine endpoints.

    pub fn post(&self, endpoint: Endpoint, form: &[(&str, &str)]) -> Call<'_> {
        Call {
            world: self,
            endpoint,
            method: "POST",
            query: Vec::new(),
            headers: vec![("Content-Type".into(), FORM.as_bytes().to_vec())],
            body: encode(form).into_bytes(),
            peer: [192, 0, 2, 1].into(),
        }
    }

    pub fn token(&self, form: &[(&str, &str)]) -> Call<'_> {
        self.post(Endpoint::Token, form)
    }

    /// Exchanges a code with the verifier of [`PKCE`], by Basic.
    pub async fn exchange(&self, code: &str) -> Response {
        self.exchange_as(&self.client, code).await
    }

    pub async fn exchange_as(&self, client: &Credentials, code: &str) -> Response {
        let form = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
        self.token(&form).client(client).send().await
    }

    /// Exchanges a code that is bound to no challenge.
    pub async fn exchange_without_pkce(&self, code: &str) -> Response {
        self.token(&[("grant_type", "authorization_code"), ("code", code)]).client(&self.client).send().await
    }

    pub async fn refresh(&self, token: &str) -> Response {
        self.refresh_as(&self.client, token).await
    }

    pub async fn refresh_as(&self, client: &Credentials, token: &str) -> Response {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token)]).client(client).send().await
    }

    pub async fn revoke(&self, token: &str) -> Response {
        self.revoke_as(&self.client, token).await
    }

    pub async fn revoke_as(&self, client: &Credentials, token: &str) -> Response {
        self.post(Endpoint::Revocation, &[("token", token)]).client(client).send().await
    }

    pub async fn introspect_as(&self, client: &Credentials, token: &str) -> serde_json::Value {
        let response = self.post(Endpoint::Introspection, &[("token", token)]).client(client).send().await;
        assert_eq!(response.status(), 200);
        serde_json::from_slice(response.body()).unwrap()
    }

    /// The first pair of a new grant of the world's client.
    pub async fn pair(&self) -> Pair {
        self.pair_of(&self.client).await
    }

    pub async fn pair_of(&self, client: &Credentials) -> Pair {
        let code = self.code_for(&self.query_of(client, &PKCE)).await;
        pair(&self.exchange_as(client, &code).await)
    }

    // The resource.

    pub async fn access(&self, token: &str) -> Result<Authenticated, ResourceError> {
        let header = format!("Bearer {token}");
        self.server.resource().authenticate(&Request::new("GET").header("Authorization", header.as_bytes())).await
    }

    pub async fn opens(&self, token: &str) -> bool {
        self.access(token).await.is_ok()
    }
}

/// PKCE parameters of an authorization request; the verifier is [`VERIFIER`].
pub const PKCE: [(&str, &str); 2] = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
pub const FORM: &str = "application/x-www-form-urlencoded";

/// A request to a machine endpoint that can be changed before it is sent.
pub struct Call<'w> {
    world: &'w World,
    endpoint: Endpoint,
    method: &'static str,
    query: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    peer: IpAddr,
}

impl Call<'_> {
    /// Sends the client's credentials: Basic, or `client_id` in the form if it has no secret.
    pub fn client(self, client: &Credentials) -> Self {
        if client.secret.is_empty() {
            self.field("client_id", &client.id)
        } else {
            self.basic(&client.id, &client.secret)
        }
    }

    pub fn basic(self, id: &str, secret: &str) -> Self {
        let header = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
        self.header("Authorization", header.as_bytes())
    }

    /// Sends the client's credentials in the form.
    pub fn form_secret(self, client: &Credentials) -> Self {
        self.field("client_id", &client.id).field("client_secret", &client.secret)
    }

    pub fn field(mut self, name: &str, value: &str) -> Self {
        if !self.body.is_empty() {
            self.body.push(b'&');
        }
        self.body.extend_from_slice(encode(&[(name, value)]).as_bytes());
        self
    }

    pub fn header(mut self, name: &str, value: &[u8]) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        self
    }

    pub fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    pub fn query(mut self, query: &str) -> Self {
        self.query = query.as_bytes().to_vec();
        self
    }

    /// Sends it from that address.
    pub fn from(mut self, peer: &str) -> Self {
        self.peer = peer.parse().unwrap();
        self
    }

    /// Replaces the whole body.
    pub fn raw_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub async fn send(self) -> Response {
        let mut request = Request::new(self.method).query(&self.query).body(Body::Bytes(&self.body));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        self.world.server.serve(self.endpoint, &request.peer(self.peer)).await
    }
}

/// A reviewer and an owner, who act on the newest version.
pub trait Reviewer {
    /// The newest version of an application.
    async fn version_now(&self, id: &ClientId) -> u32;
    async fn approve_now(&self, id: &ClientId, approval: Approval) -> Result<Approved, RegistrarError>;
    async fn reject_now(&self, id: &ClientId, reason: &str) -> Result<(), RegistrarError>;
    async fn change_now(&self, id: &ClientId, form: ApplicationForm, logo: Option<Logo>) -> Result<(), RegistrarError>;
    async fn claim_now(&self, id: &ClientId) -> Result<ClientSecret, RegistrarError>;
    async fn rotate_now(&self, id: &ClientId) -> Result<ClientSecret, RegistrarError>;
    async fn retire_now(&self, id: &ClientId) -> Result<(), RegistrarError>;
}

impl Reviewer for Registrar {
    async fn version_now(&self, id: &ClientId) -> u32 {
        self.application(id).await.unwrap().version()
    }

    async fn approve_now(&self, id: &ClientId, approval: Approval) -> Result<Approved, RegistrarError> {
        let version = self.application(id).await?.version();
        self.approve(id, version, approval).await
    }

    async fn reject_now(&self, id: &ClientId, reason: &str) -> Result<(), RegistrarError> {
        let version = self.application(id).await?.version();
        self.reject(id, version, reason).await
    }

    async fn change_now(&self, id: &ClientId, form: ApplicationForm, logo: Option<Logo>) -> Result<(), RegistrarError> {
        let application = self.application(id).await?;
        self.change(id, application.owner.as_ref().unwrap(), form, logo).await
    }

    async fn claim_now(&self, id: &ClientId) -> Result<ClientSecret, RegistrarError> {
        let application = self.application(id).await?;
        self.claim_secret(id, application.owner.as_ref().unwrap(), application.version()).await
    }

    async fn rotate_now(&self, id: &ClientId) -> Result<ClientSecret, RegistrarError> {
        let application = self.application(id).await?;
        self.rotate_secret(id, application.owner.as_ref().unwrap(), application.version()).await
    }

    async fn retire_now(&self, id: &ClientId) -> Result<(), RegistrarError> {
        let application = self.application(id).await?;
        self.revoke_previous_secret(id, application.owner.as_ref().unwrap(), application.version()).await
    }
}

/// What a token response carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub access: String,
    pub refresh: String,
    pub scope: String,
}

/// Remembers events as their `Debug` text, which holds no secret.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    /// All events since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Whether an event whose text begins with this came since the last call.
    pub fn saw(&self, name: &str) -> bool {
        self.take().iter().any(|event| event.starts_with(name))
    }
}

impl EventSink for Recorder {
    fn record(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

// The checklist's words.

/// `OK`: 200 with the three headers and a token response.
#[track_caller]
pub fn ok(response: &Response) -> TokenResponse {
    assert_eq!(response.status(), 200, "{}", String::from_utf8_lossy(response.body()));
    token_headers(response);
    serde_json::from_slice(response.body()).unwrap()
}

/// `P201`: 201 with the three headers, and JSON with exactly `request_uri` and `expires_in`; returns the first.
#[track_caller]
pub fn created(response: &Response) -> String {
    assert_eq!(response.status(), 201, "{}", String::from_utf8_lossy(response.body()));
    token_headers(response);
    let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(json.as_object().unwrap().len(), 2, "{json}");
    assert!(json["expires_in"].as_u64().unwrap() > 0, "{json}");
    json["request_uri"].as_str().unwrap().to_owned()
}

/// `OK`, as the texts that a client keeps.
#[track_caller]
pub fn pair(response: &Response) -> Pair {
    let token = ok(response);
    Pair {
        access: token.access_token.expose().to_owned(),
        refresh: token.refresh_token.map(|token| token.expose().to_owned()).unwrap_or_default(),
        scope: token.scope.unwrap_or_default(),
    }
}

/// `E400(x)`: 400 with the three headers and the error.
#[track_caller]
pub fn e400(response: &Response, error: &str) {
    assert_eq!(response.status(), 400, "{}", String::from_utf8_lossy(response.body()));
    token_headers(response);
    error_body(response, error);
}

/// `E401(x)`: the same with 401 and a challenge.
#[track_caller]
pub fn e401(response: &Response, error: &str) {
    assert_eq!(response.status(), 401, "{}", String::from_utf8_lossy(response.body()));
    token_headers(response);
    assert_eq!(response.header("WWW-Authenticate"), Some("Basic realm=\"https://auth.example\""));
    error_body(response, error);
}

/// `R401`: 401 of the revocation endpoint, with the bare media type.
#[track_caller]
pub fn r401(response: &Response) {
    assert_eq!(response.status(), 401, "{}", String::from_utf8_lossy(response.body()));
    assert_eq!(response.header("Content-Type"), Some("application/json"));
    assert_eq!(response.header("WWW-Authenticate"), Some("Basic realm=\"https://auth.example\""));
    error_body(response, "invalid_client");
}

/// `EMPTY`: 200 with a body of length 0.
#[track_caller]
pub fn empty(response: &Response) {
    assert_eq!(response.status(), 200, "{}", String::from_utf8_lossy(response.body()));
    assert_eq!(response.body(), b"");
}

/// `PAGE`: 400, a page saying that the link cannot be accessed, protected, and no link.
#[track_caller]
pub fn page(response: &Response) {
    assert_eq!(response.status(), 400);
    assert_eq!(response.header("Content-Type"), Some("text/html;charset=UTF-8"));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert_eq!(response.header("X-Frame-Options"), Some("DENY"));
    assert!(response.header("Content-Security-Policy").unwrap().contains("frame-ancestors 'none'"));
    assert_eq!(response.header("Location"), None);
    assert!(String::from_utf8_lossy(response.body()).contains("cannot be accessed"));
}

/// `CODE`: 302 with a code; returns the parameters of the redirect.
#[track_caller]
pub fn code(response: &Response) -> Vec<(String, Vec<u8>)> {
    let parameters = redirect(response);
    assert!(count(&parameters, "code") == 1 && count(&parameters, "error") == 0, "{:?}", response.header("Location"));
    parameters
}

/// `RED(x)`: 302 with an error and no code; returns the parameters of the redirect.
#[track_caller]
pub fn red(response: &Response, error: &str) -> Vec<(String, Vec<u8>)> {
    let parameters = redirect(response);
    assert_eq!(text(&parameters, "error"), error);
    assert_eq!(count(&parameters, "code"), 0);
    parameters
}

/// The page that a user sees before the browser goes to an unreviewed client with an error; returns the parameters of
/// its one link.
#[track_caller]
pub fn red_by_link(response: &Response, status: u16, error: &str) -> Vec<(String, Vec<u8>)> {
    assert_eq!((response.status(), response.header("Location")), (status, None));
    assert_eq!(response.header("Content-Type"), Some("text/html;charset=UTF-8"));
    let page = std::str::from_utf8(response.body()).unwrap();
    let mut links = page.split(" href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"));
    let link = links.next().expect("the page has a link");
    assert_eq!(links.next(), None, "{page}");
    let parameters = parameters(&link);
    assert_eq!((text(&parameters, "iss"), text(&parameters, "error")), (ISSUER.to_owned(), error.to_owned()));
    assert_eq!(count(&parameters, "code"), 0);
    parameters
}

/// `WA(x)`: the status given, and a challenge with that error.
#[track_caller]
pub fn wa(error: ResourceError, status: u16, code: &str) -> String {
    let response = error.into_response();
    assert_eq!(response.status(), status);
    let challenge = response.header("WWW-Authenticate").unwrap().to_owned();
    assert!(challenge.starts_with("Bearer realm=\"https://auth.example\""), "{challenge}");
    assert!(challenge.contains(&format!("error=\"{code}\"")), "{challenge}");
    challenge
}

/// The `error` of a JSON answer and that its description keeps to the allowed characters.
#[track_caller]
pub fn error_body(response: &Response, error: &str) {
    let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(json["error"], error, "{json}");
    let description = json["error_description"].as_str().expect("a description");
    assert!(!description.is_empty() && description.bytes().all(is_error_character), "{description}");
}

/// RFC 6749 appendix A.7 and A.8.
pub fn is_error_character(byte: u8) -> bool {
    matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e)
}

/// 302 (303 in the strict profile) with `iss` of the world; returns the form-decoded parameters.
#[track_caller]
pub fn redirect(response: &Response) -> Vec<(String, Vec<u8>)> {
    assert!(matches!(response.status(), 302 | 303), "{}", response.status());
    assert_eq!(response.body(), b"");
    let parameters = parameters(response.header("Location").unwrap());
    assert_eq!(text(&parameters, "iss"), ISSUER);
    parameters
}

/// The form-decoded query of a location.
pub fn parameters(location: &str) -> Vec<(String, Vec<u8>)> {
    let query = location.split('#').next().unwrap().split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|piece| !piece.is_empty());
    pairs
        .map(|piece| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            (String::from_utf8(decode(name)).unwrap(), decode(value))
        })
        .collect()
}

pub fn count(parameters: &[(String, Vec<u8>)], name: &str) -> usize {
    parameters.iter().filter(|(own, _)| own == name).count()
}

/// The one value of a parameter.
#[track_caller]
pub fn text(parameters: &[(String, Vec<u8>)], name: &str) -> String {
    assert_eq!(count(parameters, name), 1, "{name} in {parameters:?}");
    let value = parameters.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone()).unwrap();
    String::from_utf8(value).unwrap()
}

/// Form encoding of a query or body.
pub fn encode(pairs: &[(&str, &str)]) -> String {
    serde_urlencoded::to_string(pairs).unwrap()
}

/// The challenge of a verifier.
pub fn challenge_of(verifier: &str) -> String {
    CodeVerifier::new(verifier).unwrap().challenge().as_str().to_owned()
}

fn decode(text: &str) -> Vec<u8> {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).collect()
}

#[track_caller]
fn token_headers(response: &Response) {
    assert_eq!(response.header("Content-Type"), Some("application/json;charset=UTF-8"));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert_eq!(response.header("Pragma"), Some("no-cache"));
}
