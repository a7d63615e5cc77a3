//! The thin servers, shared by the tests that run at the same time.

use std::net::SocketAddr;
use std::sync::LazyLock;

use futures::executor::block_on;
use grantor::client::{AuthenticationMethod, AuthenticationMethods, ClientKeys};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DpopBoundTokens, DynamicRegistration, PushedRequests};
use grantor::hooks::ApproveWithin;
use grantor::interaction::{Flow, Route};
use grantor::jose::JwkSet;
use grantor::redirect_uri::RegisteredRedirectUri;
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, MemoryStore};
use support::keys::Signer;
use support_servers::http::{Answer, Request, value_after};
use system::Thin;
use url::Url;

use crate::hostile::values::encode;

/// Where the servers' application is, unless a test says otherwise.
pub(crate) const HOME: &str = "https://app.example.com/callback";

/// The path of the consent form.
pub(crate) const CONSENT: &str = "/oauth2/auth/consent";

/// One server, with what a client of it knows.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) base: Url,
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) redirect_uri: String,
    /// The public client of devices, if there is one.
    pub(crate) device: String,
    /// A cookie that the server made or would make.
    pub(crate) cookie: String,
}

impl Server {
    /// Both servers, shared by all tests.
    pub(crate) fn both() -> &'static [Self; 2] {
        static BOTH: LazyLock<[Server; 2]> = LazyLock::new(|| Server::pair(HOME));
        &BOTH
    }

    /// Both servers with an application somewhere else.
    pub(crate) fn pair(redirect_uri: &str) -> [Self; 2] {
        Self::started(&["--redirect-uri", redirect_uri])
    }

    /// Both servers with devices, shared by all tests.
    pub(crate) fn with_devices() -> &'static [Self; 2] {
        static DEVICES: LazyLock<[Server; 2]> =
            LazyLock::new(|| Server::started(&["--redirect-uri", HOME, "--devices"]));
        &DEVICES
    }

    fn started(options: &[&str]) -> [Self; 2] {
        Thin::BOTH.map(|thin| {
            let application = thin.start(options);
            let base = Url::parse(&application.issuer).unwrap();
            Self {
                name: thin.name(),
                address: base.socket_addrs(|| None).unwrap()[0],
                base,
                id: application.client_id,
                secret: application.client_secret,
                redirect_uri: application.redirect_uri,
                device: application.devices.map(|devices| devices.client_id).unwrap_or_default(),
                cookie: cookie(&application.issuer),
            }
        })
    }

    /// Both servers, with registration switched on, shared by all tests. They also have a stored application.
    pub(crate) fn open() -> &'static [Self; 2] {
        static OPEN: LazyLock<[Server; 2]> = LazyLock::new(|| {
            Thin::BOTH.map(|thin| {
                let server = block_on(open_server());
                let address = thin.start_with(&server);
                Server {
                    name: thin.name(),
                    address,
                    base: Url::parse(&format!("http://{address}")).unwrap(),
                    id: ID.to_owned(),
                    secret: SECRET.to_owned(),
                    redirect_uri: HOME.to_owned(),
                    device: String::new(),
                    cookie: cookie(ISSUER),
                }
            })
        });
        &OPEN
    }

    /// The query of a good authorization request.
    pub(crate) fn query(&self) -> String {
        encode(&[("response_type", "code"), ("client_id", &self.id)])
    }

    pub(crate) async fn send(&self, request: Request) -> Answer {
        request.send_to(self.address).await
    }

    /// The handle of a new consent page.
    pub(crate) async fn handle(&self) -> String {
        let page =
            self.send(Request::get("/oauth2/auth").query(self.query()).header("Cookie", &self.cookie)).await.text();
        value_after(&page, "name=\"handle\"").to_owned()
    }

    /// Consent, exchange, use, refresh and revocation; and no task of the server has panicked until now.
    pub(crate) async fn still_works(&self) {
        let panics = system::panics();
        assert!(panics.is_empty(), "{}: {panics:?}", self.name);
        let handle = self.handle().await;
        let allow = encode(&[("handle", &handle), ("decision", "allow"), ("scope", "account-profile:r")]);
        let answer = self.send(Request::form(CONSENT, allow).header("Cookie", &self.cookie)).await;
        let callback = answer.location(&self.base);
        let code = callback.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let first = self.token(&[("grant_type", "authorization_code"), ("code", &code)]).await;
        assert_eq!(self.me(&first[0]).await, 200);
        let second = self.token(&[("grant_type", "refresh_token"), ("refresh_token", &first[1])]).await;
        let revocation = Request::form("/oauth2/revoke", encode(&[("token", &second[1])]));
        assert_eq!(self.send(revocation.basic(&self.id, &self.secret)).await.status, 200);
        assert_eq!(self.me(&second[0]).await, 401);
    }

    async fn me(&self, token: &str) -> u16 {
        self.send(Request::new("GET", "/api/me").bearer(token)).await.status
    }

    /// Access token and refresh token of the answer.
    async fn token(&self, form: &[(&str, &str)]) -> [String; 2] {
        let request = Request::form("/oauth2/token", encode(form)).basic(&self.id, &self.secret);
        let answer = self.send(request).await.json();
        ["access_token", "refresh_token"].map(|name| answer[name].as_str().unwrap().to_owned())
    }
}

/// The client of [`Server::open`] that authenticates with a key.
pub(crate) const KEY_ID: &str = "demo-with-a-key";
/// What the server of [`Server::open`] calls itself.
pub(crate) const ISSUER: &str = "http://127.0.0.1";
const ID: &str = "demo";
const SECRET: &str = "a-secret-of-43-characters-that-nobody-draws";

/// Returns the cookie of a browser. Its name has a part of the digest of the issuer.
fn cookie(issuer: &str) -> String {
    let mut config = Config::platform(issuer);
    config.development = true;
    let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
    let browser = Flow::new(&server, demo::pages()).browser([]);
    browser.set_cookie(Route::Authorization, "GET").unwrap().split(';').next().unwrap().to_owned()
}

/// As the thin servers make it, with registration on and without a throttle.
async fn open_server() -> AuthorizationServer {
    let mut config = Config::platform(ISSUER);
    config.development = true;
    config.public_clients = true;
    config.registration.dynamic = DynamicRegistration::Open;
    config.dpop.tokens = DpopBoundTokens::Optional;
    config.registration.management = true;
    config.pushed_requests.mode = PushedRequests::Optional;
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
    config.limits.consent_requests = usize::MAX;
    config.limits.grants = usize::MAX;
    let scopes = ScopeCatalog::platform().parse(b"repo-code:rw account-profile:r account-email:r").unwrap();
    let policy = ApproveWithin::new(RegistrationBounds::new(scopes.clone(), ResourceScope::Public));
    let builder = AuthorizationServer::builder(config, MemoryStore::new()).registration_policy(policy);
    let server = builder.build().unwrap();
    let client = Client::builder(ClientId::new(ID).unwrap())
        .name("Demo Application")
        .redirect_uri(RegisteredRedirectUri::parse(HOME, &server.config().redirect_uris).unwrap())
        .scopes(scopes)
        .resource_scope(ResourceScope::All)
        .secret(&ClientSecret::new(SECRET))
        .unwrap()
        .build();
    let keys = JwkSet::parse(Signer::es256().key_set()).unwrap();
    let with_key = Client::builder(ClientId::new(KEY_ID).unwrap())
        .name("Demo Application with a key")
        .redirect_uri(RegisteredRedirectUri::parse(HOME, &server.config().redirect_uris).unwrap())
        .scopes(client.form().scopes.clone())
        .resource_scope(ResourceScope::All)
        .authentication_methods(AuthenticationMethods::KEY)
        .keys(ClientKeys::Set(keys))
        .build();
    for client in [client, with_key] {
        server.registrar().unwrap().ensure_client(&client).await.unwrap();
    }
    server
}
