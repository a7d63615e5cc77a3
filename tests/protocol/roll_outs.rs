//! Two processes with different settings on one store, while settings are rolled out and when they go back. What the
//! older process lacks it answers with 503, so that clients keep their tokens and no user has to sign in again.

use std::time::Duration;

use grantor::client::ClientState;
use grantor::config::Profile;
use grantor::hooks::SigningKey;
use grantor::protected_resource::{AccessTokenFormat, ProtectedResource};
use grantor::redirect_uri::RegisteredRedirectUri;
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::testing::SeededEntropy;
use grantor::wire::Response;
use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, ResourceError};

use crate::rfc8707::{at, own_scopes, resource};
use crate::rfc9068::{machine, parts};
use support::keys::Signer;
use support::world::{Credentials, Pair, REDIRECT_URI, World, config_of, e400, empty, ok, pair, wa};

const A: &str = "https://a.example/mcp";
const B: &str = "https://b.example/mcp";
const SECRET: &str = "thirty-two characters and no less";

/// The settings of a process.
struct Settings {
    config: Config,
    keys: Vec<SigningKey>,
}

/// Settings with protected resources. The first one is the default.
fn settings(resources: Vec<ProtectedResource>, keys: Vec<SigningKey>) -> Settings {
    let mut config = config_of(Profile::Platform);
    (config.scopes, config.resources) = (own_scopes(), resources);
    config.client_credentials.on = true;
    if let Some(first) = config.resources.first_mut() {
        first.is_default = true;
    }
    Settings { config, keys }
}

/// Settings without resources, changed by this.
fn changed(change: impl FnOnce(&mut Config)) -> Settings {
    let mut own = settings(vec![], vec![]);
    change(&mut own.config);
    own
}

fn opaque(identifier: &str) -> ProtectedResource {
    resource(identifier, &["repo-code:rw", "repo-issue:rw", "account-profile:rw"])
}

fn jwt(identifier: &str) -> ProtectedResource {
    let mut resource = opaque(identifier);
    resource.access_tokens = AccessTokenFormat::Jwt;
    resource
}

fn first_key() -> SigningKey {
    Signer::es256().named("first").signing_key()
}

fn second_key() -> SigningKey {
    Signer::ed25519().named("second").signing_key()
}

/// Settings before a change and after it.
struct Change {
    name: &'static str,
    before: Settings,
    after: Settings,
}

/// Every kind of change, with what the older process answers to what the newer one issued: to a code, to a refresh
/// token, and to an access token.
fn changes() -> Vec<(Change, [u16; 3])> {
    let row = |name, before, after, expected| (Change { name, before, after }, expected);
    let (one, both) = (|| vec![first_key()], || vec![first_key(), second_key()]);
    let without_code = || {
        let own = own_scopes();
        let others = own.definitions().iter().filter(|definition| definition.name() != "repo-code").cloned();
        ScopeCatalog::builder().scopes(others).build().unwrap()
    };
    let short = |config: &mut Config| {
        config.tokens.access_lifetime = Duration::from_secs(600);
        config.refresh.grace = Duration::from_secs(30);
        config.refresh.access_token_grace = Duration::from_secs(30);
    };
    vec![
        row("a first resource", settings(vec![], vec![]), settings(vec![opaque(A)], vec![]), [503, 503, 503]),
        row(
            "another resource",
            settings(vec![opaque(B)], vec![]),
            settings(vec![opaque(A), opaque(B)], vec![]),
            [503, 503, 503],
        ),
        row("JWTs", settings(vec![opaque(A)], vec![]), settings(vec![jwt(A)], one()), [200, 200, 503]),
        row("JWTs, after the key", settings(vec![opaque(A)], one()), settings(vec![jwt(A)], one()), [200, 200, 200]),
        row("a key", settings(vec![jwt(A)], one()), settings(vec![jwt(A)], both()), [200, 200, 503]),
        row(
            "a key, known before",
            settings(vec![jwt(A)], vec![second_key(), first_key()]),
            settings(vec![jwt(A)], both()),
            [200, 200, 200],
        ),
        row("scopes", changed(|config| config.scopes = without_code()), changed(|_| {}), [200, 200, 200]),
        row("shorter lifetimes", changed(|_| {}), changed(short), [200, 200, 200]),
        row("longer lifetimes", changed(short), changed(|_| {}), [200, 200, 200]),
        row("a stricter profile", changed(|_| {}), strict(), [200, 200, 200]),
        row("a less strict profile", strict(), changed(|_| {}), [200, 200, 200]),
    ]
}

fn strict() -> Settings {
    let mut config = config_of(Profile::Strict);
    config.scopes = own_scopes();
    Settings { config, keys: vec![] }
}

/// Both processes, on one store.
struct Processes {
    world: World,
    before: AuthorizationServer,
    after: AuthorizationServer,
}

impl Processes {
    async fn of(change: &Change) -> Self {
        let world = World::built(numbered(&change.after, 1), |builder| builder.signing_keys(change.after.keys.clone()));
        let world = world.await;
        let (before, after) = (process(&world, &change.before, 0, 8), process(&world, &change.after, 1, 9));
        Self { world, before, after }
    }

    /// The process that answers from now on.
    fn switch(&mut self, to: fn(&Self) -> &AuthorizationServer) {
        self.world.server = to(self).clone();
    }
}

fn numbered(settings: &Settings, revision: u32) -> Config {
    let mut config = settings.config.clone();
    config.revision = revision;
    config
}

fn process(world: &World, settings: &Settings, revision: u32, seed: u64) -> AuthorizationServer {
    let builder = world.builder(numbered(settings, revision), world.store.clone()).entropy(SeededEntropy::new(seed));
    builder.signing_keys(settings.keys.clone()).build().unwrap()
}

/// The status of the check at the API of the process that the token is for, or at the process itself if it has none.
async fn checked(world: &World, token: &str) -> u16 {
    let status = |error: ResourceError| error.into_response().status();
    if world.server.config().resources.is_empty() {
        return world.access(token).await.map_or_else(status, |_| 200);
    }
    let mut seen = 401;
    for own in &world.server.config().resources {
        let at_own = at(world, &own.identifier, token).await.map_or_else(status, |_| 200);
        seen = if at_own == 401 { seen } else { at_own };
    }
    seen
}

fn delayed(response: &Response) -> bool {
    response.status() == 503 && response.header("Retry-After") == Some("1")
}

/// What a client has from one process: a code, and a pair that was refreshed once.
async fn signed_in(world: &World) -> (String, Pair) {
    let first = pair(&world.exchange(&world.code().await).await);
    (world.code().await, pair(&world.refresh(&first.refresh).await))
}

/// 8707-2.2-02
///
/// What the newer process issued is served by the older one, or answered with 503. The newer one serves it still.
#[tokio::test]
async fn no_change_of_settings_logs_a_client_out() {
    for (change, expected) in changes() {
        let mut both = Processes::of(&change).await;
        both.switch(|both| &both.after);
        let (code, live) = signed_in(&both.world).await;

        both.switch(|both| &both.before);
        let checked_there = checked(&both.world, &live.access).await;
        let (exchanged, refreshed) = (both.world.exchange(&code).await, both.world.refresh(&live.refresh).await);
        let seen = [exchanged.status(), refreshed.status(), checked_there];
        assert_eq!(seen, expected, "{}", change.name);
        assert!([&exchanged, &refreshed].iter().all(|answer| answer.status() == 200 || delayed(answer)));

        both.switch(|both| &both.after);
        // What was answered with 503 is sent again.
        let first = if exchanged.status() == 200 { exchanged } else { both.world.exchange(&code).await };
        let second = if refreshed.status() == 200 { refreshed } else { both.world.refresh(&live.refresh).await };
        for answer in [first, second] {
            let next = pair(&both.world.refresh(&pair(&answer).refresh).await);
            assert_eq!(checked(&both.world, &next.access).await, 200, "{}", change.name);
        }
    }
}

/// 8707-2.2-02
///
/// A grant from before the change, which the newer process refreshed, is still of use at the older one.
#[tokio::test]
async fn a_grant_goes_to_and_fro_between_the_settings() {
    for (change, _) in changes() {
        let mut both = Processes::of(&change).await;
        both.switch(|both| &both.before);
        let (code, mut live) = signed_in(&both.world).await;
        both.switch(|both| &both.after);
        ok(&both.world.exchange(&code).await);
        for turn in 0..6 {
            both.switch(if turn % 2 == 0 { |both| &both.after } else { |both| &both.before });
            let checked = checked(&both.world, &live.access).await;
            assert!(matches!(checked, 200 | 503), "{}: {checked}", change.name);
            let refreshed = both.world.refresh(&live.refresh).await;
            match refreshed.status() {
                200 => live = pair(&refreshed),
                _ => assert!(delayed(&refreshed), "{}: {}", change.name, refreshed.status()),
            }
        }
    }
}

/// The older process has no key, the newer one signs with the first.
fn to_jwts() -> Change {
    Change { name: "JWTs", before: settings(vec![opaque(A)], vec![]), after: settings(vec![jwt(A)], vec![first_key()]) }
}

/// 9068-4-01
///
/// A token whose key this process does not have yet is not refused, nor is its revocation acknowledged without effect.
#[tokio::test]
async fn a_log_out_with_a_key_of_newer_settings_is_sent_again() {
    let mut both = Processes::of(&to_jwts()).await;
    let machine = machine(&both.world).await;
    let live = both.world.pair().await.access;
    let own = ok(&both.world.token(&[("grant_type", "client_credentials")]).client(&machine).send().await);
    let own = own.access_token.expose();

    both.switch(|both| &both.before);
    both.world.events.take();
    assert_eq!((checked(&both.world, &live).await, checked(&both.world, own).await), (503, 503));
    assert!(both.world.events.saw("CheckFailed"));
    let revoked = [both.world.revoke(&live).await, both.world.revoke_as(&machine, own).await];
    assert!(revoked.iter().all(delayed));

    both.switch(|both| &both.after);
    assert_eq!((checked(&both.world, &live).await, checked(&both.world, own).await), (200, 200));
    empty(&both.world.revoke(&live).await);
    empty(&both.world.revoke_as(&machine, own).await);
    assert_eq!((checked(&both.world, &live).await, checked(&both.world, own).await), (401, 401));
    // Nothing is left that newer settings would accept.
    both.switch(|both| &both.before);
    assert_eq!((checked(&both.world, &live).await, checked(&both.world, own).await), (401, 401));
    empty(&both.world.revoke(&live).await);
}

/// 9068-4-01
///
/// A key that no settings have is refused for good, as clients of MCP servers need it.
#[tokio::test]
async fn a_key_that_no_process_has_is_refused() {
    let mut both = Processes::of(&to_jwts()).await;
    let live = both.world.pair().await;
    both.switch(|both| &both.before);
    let unknown = Signer::es256().another().named("third");
    let forged = |change: &dyn Fn(&mut serde_json::Value)| {
        let [_, mut claims] = parts(&live.access);
        change(&mut claims);
        let header = serde_json::json!({ "alg": "ES256", "kid": "third", "typ": "at+jwt" });
        unknown.sign(header.to_string(), claims.to_string())
    };
    let other_id = forged(&|claims| claims["jti"] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".into());
    let other_time = forged(&|claims| claims["iat"] = 1.into());
    let other_issuer = forged(&|claims| claims["iss"] = "https://other.example".into());
    for token in [&other_id, &other_time, &other_issuer] {
        assert_eq!(checked(&both.world, token).await, 401);
        empty(&both.world.revoke(token).await);
    }
    // Only the newer process has what it would take to tell this one apart. It is of no use there.
    let same_id = forged(&|_| {});
    assert_eq!(checked(&both.world, &same_id).await, 503);
    both.switch(|both| &both.after);
    assert_eq!(checked(&both.world, &same_id).await, 401);
    assert_eq!(checked(&both.world, &live.access).await, 200);

    // The settings went back under a higher number: the key was removed for good.
    both.world.server = process(&both.world, &settings(vec![opaque(A)], vec![]), 2, 10);
    wa(at(&both.world, A, &live.access).await.unwrap_err(), 401, "invalid_token");
    let next = pair(&both.world.refresh(&live.refresh).await);
    assert_eq!(checked(&both.world, &next.access).await, 200, "clients refresh, and stay signed in");

    // Nor does a token that has expired wait for anything.
    both.switch(|both| &both.before);
    both.world.advance(301);
    assert_eq!(checked(&both.world, &live.access).await, 401);
}

/// 8707-2.2-02
///
/// Settings that went back under a higher number end what only the newer ones served.
#[tokio::test]
async fn what_went_back_under_a_higher_number_ends() {
    let change =
        Change { name: "a first resource", before: settings(vec![], vec![]), after: settings(vec![opaque(A)], vec![]) };
    let mut both = Processes::of(&change).await;
    let (code, live) = signed_in(&both.world).await;
    both.world.server = process(&both.world, &change.before, 2, 10);
    assert_eq!(checked(&both.world, &live.access).await, 401);
    e400(&both.world.exchange(&code).await, "invalid_grant");
    e400(&both.world.refresh(&live.refresh).await, "invalid_grant");
    // Those who sign in again are served by it, and the process that was still to stop costs them nothing.
    let again = both.world.pair().await;
    both.switch(|both| &both.after);
    assert_eq!(checked(&both.world, &again.access).await, 200);
    ok(&both.world.refresh(&again.refresh).await);
}

/// ADM-09
///
/// An older process restarts while the newer ones run, with a client that they changed or deleted.
#[tokio::test]
async fn an_older_process_restarts_with_a_changed_and_a_deleted_client() {
    let mut both = Processes::of(&to_jwts()).await;
    let described = |world: &World, id: &str, revision: u32| {
        let config = world.server.config();
        let builder = Client::builder(ClientId::new(id).unwrap()).name(format!("Description {revision}"));
        let to = RegisteredRedirectUri::parse(REDIRECT_URI, &config.redirect_uris).unwrap();
        let builder = builder.redirect_uri(to);
        let scopes = config.scopes.parse(b"repo-code:rw").unwrap();
        let builder = builder.scopes(scopes).resource_scope(ResourceScope::All).revision(revision);
        builder.secret(&ClientSecret::new(SECRET)).unwrap().build()
    };
    let ensured = async |world: &World, id: &str, revision: u32| {
        world.server.registrar().unwrap().ensure_client(&described(world, id, revision)).await.unwrap()
    };
    for id in ["kept", "deleted"] {
        ensured(&both.world, id, 1).await;
        ensured(&both.world, id, 2).await;
    }
    let kept = Credentials { id: "kept".into(), secret: SECRET.into() };
    let live = both.world.pair_of(&kept).await;
    let deleted = both.world.server.registrar().unwrap();
    let version = deleted.client(&ClientId::new("deleted").unwrap()).await.unwrap().version();
    deleted.delete(&ClientId::new("deleted").unwrap(), version).await.unwrap();

    both.before = process(&both.world, &to_jwts().before, 0, 10);
    both.switch(|both| &both.before);
    assert_eq!(ensured(&both.world, "kept", 1).await.form().name, "Description 2");
    assert_eq!(ensured(&both.world, "deleted", 1).await.state(), ClientState::Deleted);
    let next = pair(&both.world.refresh_as(&kept, &live.refresh).await);
    both.switch(|both| &both.after);
    assert_eq!(checked(&both.world, &next.access).await, 200);
    ok(&both.world.refresh_as(&kept, &next.refresh).await);
}
