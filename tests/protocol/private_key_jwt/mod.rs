//! RFC 7523, section 2.2, with RFC 10070: clients that authenticate with a key.

mod claims;
mod fetched;
mod form;
mod keys;
mod metadata;
mod methods;
mod replays;
mod times;
mod tokens;

use grantor::client::{AuthenticationMethod, AuthenticationMethods, ClientBuilder, ClientKeys};
use grantor::config::Profile;
use grantor::jose::JwkSet;
use grantor::server::Builder;
use grantor::store::Stores;
use grantor::testing::SeededEntropy;
use grantor::wire::{Endpoint, Response};
use grantor::{Client, Config};
use serde_json::{Value, json};

use crate::cimd::web::Web;
use support::directory::{Directory, client};
use support::keys::Signer;
use support::world::{Call, Credentials, ISSUER, START, World, config_of, e400, e401, r401};

/// The client of these tests.
const ID: &str = "app";
/// Another client, whose key is another one of the same algorithm.
const OTHER: &str = "other";
/// Where the key set of [`by_url`] is.
const KEYS_URL: &str = "https://app.example/keys.json";
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A world whose clients are in a directory, and a web with their key sets.
struct Scene {
    world: World,
    directory: Directory,
    web: Web,
    signer: Signer,
}

impl Scene {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A scene of the strict profile with changed settings, where every method is accepted.
    async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config_of(Profile::Strict);
        config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
        change(&mut config);
        Self::built(config, |builder| builder).await
    }

    /// A scene with the settings of the FAPI profile for the authentication of clients.
    async fn fapi() -> Self {
        let fapi = Config::fapi(ISSUER);
        Self::with(|config| {
            config.client_authentication = fapi.client_authentication;
        })
        .await
    }

    async fn built(config: Config, hooks: impl FnOnce(Builder) -> Builder) -> Self {
        let mut world = World::strict().await;
        let (directory, web) = (Directory::default(), Web::default());
        let signer = Signer::es256().named("one");
        directory.put(by_value(ID, &[&signer]));
        directory.put(by_value(OTHER, &[&signer.another().named("two")]));
        let stores = Stores::new(world.store.clone()).with_clients(directory.clone());
        let builder = world.builder(config, stores).entropy(SeededEntropy::new(8)).fetcher(web.clone());
        world.server = hooks(builder).build().unwrap();
        world.client = Credentials { id: ID.into(), secret: String::new() };
        Self { world, directory, web, signer }
    }

    /// A scene whose client has its keys at [`KEYS_URL`], where those of the signer are published.
    async fn by_url() -> Self {
        let scene = Self::new().await;
        scene.directory.put(by_url(ID, KEYS_URL));
        scene.publish(&[&scene.signer]);
        scene
    }

    /// Publishes the keys of [`KEYS_URL`].
    fn publish(&self, signers: &[&Signer]) {
        self.web.publish(KEYS_URL, key_set(signers));
    }

    fn advance(&self, seconds: u64) {
        self.world.advance(seconds);
    }

    /// An assertion of the client that is valid now.
    fn good(&self) -> String {
        self.by(&self.signer)
    }

    fn by(&self, signer: &Signer) -> String {
        self.of(signer, |_, _| {})
    }

    /// An assertion of the client with something changed.
    fn changed(&self, change: impl FnOnce(&mut Value, &mut Value)) -> String {
        self.of(&self.signer, change)
    }

    /// An assertion of the client with claims set; null leaves one out.
    fn claiming(&self, claims: Value) -> String {
        self.changed(|_, own| set(own, &claims))
    }

    /// An assertion of the client with members of the header set; null leaves one out.
    fn headed(&self, header: Value) -> String {
        self.changed(|own, _| set(own, &header))
    }

    fn of(&self, signer: &Signer, change: impl FnOnce(&mut Value, &mut Value)) -> String {
        signer.assertion(ID, ISSUER, self.now(), change)
    }

    fn now(&self) -> u64 {
        use grantor::Clock as _;

        self.world.clock.now().seconds().into()
    }

    fn post(&self, endpoint: Endpoint, assertion: &str) -> Call<'_> {
        let form = [("token", "x"), ("grant_type", "refresh_token"), ("refresh_token", "x")];
        asserted(self.world.post(endpoint, &form), assertion)
    }

    /// Returns whether the assertion authenticates its client. If not, the response is the same for every cause.
    async fn accepts(&self, assertion: &str) -> bool {
        // A client that may introspect uses an assertion up with any question.
        let response = self.post(Endpoint::Introspection, assertion).send().await;
        if response.status() == 200 {
            return true;
        }
        self.refuses(&response);
        false
    }

    /// Asserts the `EIC` response of the revocation endpoint, or of another one.
    fn refuses(&self, response: &Response) {
        if self.offers(AuthenticationMethod::ClientSecretBasic) {
            let is_of_revocation = response.header("Content-Type") == Some("application/json");
            if is_of_revocation { r401(response) } else { e401(response, "invalid_client") }
        } else {
            e400(response, "invalid_client");
        }
        let body = String::from_utf8_lossy(response.body());
        assert!(body.contains("client authentication failed"), "{body}");
    }

    fn offers(&self, method: AuthenticationMethod) -> bool {
        self.world.server.config().client_authentication.methods.contains(method)
    }

    /// Returns the reason of the one authentication that failed since the last call.
    fn reason(&self) -> String {
        let events = self.world.events.take();
        let failed: Vec<_> = events.iter().filter(|event| event.starts_with("AuthenticationFailed")).collect();
        assert_eq!(failed.len(), 1, "{events:?}");
        failed[0].clone()
    }
}

/// Adds the assertion to a form.
fn asserted<'w>(call: Call<'w>, assertion: &str) -> Call<'w> {
    call.field("client_assertion_type", JWT_BEARER).field("client_assertion", assertion)
}

/// Sets members; null leaves one out.
fn set(object: &mut Value, members: &Value) {
    let object = object.as_object_mut().unwrap();
    for (name, value) in members.as_object().unwrap() {
        if value.is_null() {
            object.remove(name);
        } else {
            object.insert(name.clone(), value.clone());
        }
    }
}

fn key_set(signers: &[&Signer]) -> Value {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()})
}

fn builder(id: &str) -> ClientBuilder {
    client(id).authentication_methods(AuthenticationMethods::KEY).may_introspect()
}

fn with_set(builder: ClientBuilder, set: &Value) -> Client {
    builder.keys(ClientKeys::Set(JwkSet::parse(set.to_string()).unwrap())).build()
}

fn by_value(id: &str, signers: &[&Signer]) -> Client {
    with_set(builder(id), &key_set(signers))
}

fn by_url(id: &str, url: &str) -> Client {
    builder(id).keys(ClientKeys::Url(url.into())).build()
}

/// The time at which the world starts, in seconds.
fn start() -> u64 {
    START.into()
}
