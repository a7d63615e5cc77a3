//! What a service keeps with its grants.

use std::time::Duration;

use grantor::client::{AskConsent, GrantType, GrantTypes, RefreshRotation};
use grantor::config::Profile;
use grantor::id::GrantId;
use grantor::interaction::SignedIn;
use grantor::resource::{ExpectedAudience, IntrospectionSettings, ResourceClient};
use grantor::scope::ResourceScope;
use grantor::server::DataChange;
use grantor::store::{Authorization, Grant, Page, Record, RecordStore};
use grantor::wire::{Endpoint, Request};
use grantor::{Approval, ClientSecret, Consent, Decision, GrantData, RegistrarError, ResourceServer, Subject};
use serde_json::json;

use crate::rfc7591;
use crate::rfc8628::{self, asked, poll, typed};
use support::intercepted::scripts::Yielding;
use support::intercepted::{Failure, Fate, every, over};
use support::to_server::ToServer;
use support::world::{
    Credentials, ISSUER, PKCE, Pair, Reviewer as _, SESSION, VERIFIER, With as _, World, code, form, ok, pair, text,
};

const TENANT: &str = "tenant:acme";

fn data(bytes: impl AsRef<[u8]>) -> GrantData {
    GrantData::new(bytes).unwrap()
}

fn everything() -> Decision {
    Decision::Approve(Consent::to_everything())
}

/// A signed-in user, and what the service keeps with the grant.
fn signed_in(user: &Subject, bytes: impl AsRef<[u8]>) -> SignedIn {
    SignedIn::new(user.clone()).data(data(bytes))
}

/// The ticket of a page that is shown to the world's user.
async fn shown(world: &World, query: &str) -> String {
    let pending = world.authorize(query).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap().expose().to_owned()
}

/// The code after the user of that sign-in has agreed to all.
async fn code_with(world: &World, client: &Credentials, bytes: impl AsRef<[u8]>) -> String {
    let ticket = shown(world, &world.query_of(client, &PKCE)).await;
    let user = signed_in(&world.alice, bytes);
    text(&code(&world.server.decide(&ticket, &user, SESSION, &everything()).await.unwrap()), "code")
}

async fn pair_with(world: &World, bytes: impl AsRef<[u8]>) -> Pair {
    let code = code_with(world, &world.client, bytes).await;
    pair(&world.exchange(&code).await)
}

/// What the check of a token returns.
async fn kept(world: &World, access: &str) -> Option<GrantData> {
    world.access(access).await.unwrap().data().cloned()
}

async fn grant_of(world: &World, access: &str) -> GrantId {
    world.access(access).await.unwrap().grant().unwrap()
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Whether a record of the world's user has that text: a grant, or an authorization.
async fn is_stored(world: &World, text: &str) -> [bool; 2] {
    let store = &world.store;
    let grants = RecordStore::<Grant>::list(store, "alice", Page::first(100)).await.unwrap();
    let codes = RecordStore::<Authorization>::list(store, "alice", Page::first(100)).await.unwrap();
    [grants.iter().any(|row| has(&row.encode(), text)), codes.iter().any(|row| has(&row.encode(), text))]
}

/// OWN-02
#[tokio::test]
async fn the_sign_in_that_decides_sets_the_data() {
    let world = World::strict().await;
    let query = world.query(&[&PKCE[..], &[("data", "C"), ("grant_data", "C")]].concat());
    let ticket = shown(&world, &query).await;
    let answer = world.server.decide(&ticket, &signed_in(&world.alice, "B"), SESSION, &everything()).await.unwrap();
    // It was answered, so another sign-in changes nothing.
    let _ = world.server.decide(&ticket, &signed_in(&world.alice, "C"), SESSION, &everything()).await;
    let code = text(&code(&answer), "code");
    let fields = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER), ("data", "C")];
    let tokens = pair(&world.token(&fields).client(&world.client).send().await);
    assert_eq!(kept(&world, &tokens.access).await, Some(data("B")));
    assert_eq!(kept(&world, &world.pair().await.access).await, None, "a subject alone says nothing");
}

/// OWN-02
#[tokio::test]
async fn a_decision_without_a_page_sets_the_data() {
    let world = World::strict().await;
    let client = world.register_as(form(), Approval::default().ask_consent(AskConsent::Never)).await;
    let pending = world.authorize(&world.query_of(&client, &PKCE)).await.unwrap();
    let user = signed_in(&world.alice, TENANT);
    let answer = world.server.step(&pending, Some(&user), SESSION).await.unwrap().response().unwrap();
    let tokens = pair(&world.exchange_as(&client, &text(&code(&answer), "code")).await);
    assert_eq!(kept(&world, &tokens.access).await, Some(data(TENANT)));
}

/// OWN-02, OWN-07
#[tokio::test]
async fn a_denial_keeps_no_data() {
    let world = World::strict().await;
    let ticket = shown(&world, &world.query(&PKCE)).await;
    world.server.decide(&ticket, &signed_in(&world.alice, TENANT), SESSION, &Decision::Deny).await.unwrap();
    assert_eq!(is_stored(&world, TENANT).await, [false, false]);
}

/// OWN-03, OWN-08
#[tokio::test]
async fn data_stays_with_the_grant_and_goes_nowhere_else() {
    for rotation in [RefreshRotation::Rotate, RefreshRotation::Keep] {
        let world = World::with_jwts().await;
        world.events.take();
        let client = world.register_as(form(), Approval::default().refresh_rotation(rotation)).await;
        let bytes = [TENANT.as_bytes(), &[0xff, 0, b'"']].concat();
        let code = code_with(&world, &client, &bytes).await;
        let waiting = world.server.authorizations_of(&world.alice).await.unwrap();
        assert_eq!(waiting[0].data(), Some(&data(&bytes)));
        assert_eq!(is_stored(&world, TENANT).await, [false, true], "as given");
        let first = world.exchange_as(&client, &code).await;
        let mut answers = vec![first];
        for scope in ["repo-code:rw repo-issue:rw account-profile:r", "repo-code:r"] {
            let refresh = pair(answers.last().unwrap()).refresh;
            let refresh = if refresh.is_empty() { pair(&answers[0]).refresh } else { refresh };
            for _ in 0..2 {
                let form = [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("scope", scope)];
                answers.push(world.token(&form).client(&client).send().await);
            }
        }
        for answer in &answers {
            let tokens = pair(answer);
            assert_eq!(kept(&world, &tokens.access).await, Some(data(&bytes)), "{rotation:?}");
            let form = [("token", tokens.access.as_str())];
            let described = world.post(Endpoint::Introspection, &form).client(&client).send().await;
            assert!(has(described.body(), "\"active\":true"));
            for text in [answer.body(), described.body(), &jwt_claims(&tokens.access)] {
                assert!(!has(text, TENANT), "{}", String::from_utf8_lossy(text));
            }
        }
        let grants = world.server.grants_of(&world.alice).await.unwrap();
        assert_eq!((grants.len(), grants[0].data()), (1, Some(&data(&bytes))));
        assert_eq!(is_stored(&world, TENANT).await, [true, true]);
        assert!(!world.events.take().join("\n").contains(TENANT));
    }
}

/// The claims of a JWT.
fn jwt_claims(token: &str) -> Vec<u8> {
    use base64::Engine as _;
    let claims = token.split('.').nth(1).expect("a JWT");
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap()
}

/// OWN-03
#[tokio::test]
async fn another_process_gets_no_data() {
    let world = World::platform().await;
    let api = world.register_as(form(), Approval::default().may_introspect()).await;
    let (endpoint, audience) = (format!("{ISSUER}/oauth2/introspect"), ExpectedAudience::Is(ISSUER.to_owned()));
    let settings = IntrospectionSettings::new(endpoint, &api.id, ClientSecret::new(&api.secret), ISSUER, audience);
    let client = ResourceClient::new(settings, ToServer(world.server.clone())).unwrap();
    let config = world.server.config().clone();
    let elsewhere = ResourceServer::introspecting(config, client.with_clock(world.clock.clone())).unwrap();
    let header = format!("Bearer {}", pair_with(&world, TENANT).await.access);
    let request = Request::new("GET").header("Authorization", header.as_bytes());
    assert_eq!(elsewhere.authenticate(&request).await.unwrap().data(), None);
    assert_eq!(world.server.resource().authenticate(&request).await.unwrap().data(), Some(&data(TENANT)));
}

/// OWN-04
#[tokio::test]
async fn a_device_has_the_data_of_the_sign_in_that_decided() {
    let world = rfc8628::world().await;
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    let user = signed_in(&world.alice, TENANT);
    world.server.decide(consent.ticket().expose(), &user, SESSION, &everything()).await.unwrap();
    let first = pair(&poll(&world, &device.device_code).await);
    let again = pair(&poll(&world, &device.device_code).await);
    for tokens in [first, again] {
        assert_eq!(kept(&world, &tokens.access).await, Some(data(TENANT)));
    }
}

/// OWN-04
#[tokio::test]
async fn a_token_of_a_client_itself_has_the_data_of_the_client() {
    let world = World::with(Profile::Platform, |config| config.client_credentials.on = true).await;
    let machine = world
        .register(form().with(|form| {
            form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
            form.client_scopes = "repo-code:r".into();
            form.client_resources = Some(ResourceScope::All);
        }))
        .await;
    let ask = [("grant_type", "client_credentials"), ("data", "C")];
    let token = ok(&world.token(&ask).client(&machine).send().await).access_token.expose().to_owned();
    assert_eq!(kept(&world, &token).await, None);
    let (registrar, id) = (world.server.registrar().unwrap(), machine.client_id());
    for set in [Some(data("A")), Some(data("B")), None] {
        let version = registrar.version_now(&id).await;
        registrar.set_client_data(&id, version, set.clone()).await.unwrap();
        assert!(world.events.saw("Application") && kept(&world, &token).await == set, "a change holds at once");
        let stale = registrar.set_client_data(&id, version, None).await;
        assert!(matches!(stale, Err(RegistrarError::ChangedMeanwhile)), "{stale:?}");
    }
    let version = registrar.version_now(&id).await;
    registrar.set_client_data(&id, version, Some(data("B"))).await.unwrap();
    // The tokens of its users have those of their sign-ins.
    let code = code_with(&world, &machine, "own").await;
    let of_user = pair(&world.exchange_as(&machine, &code).await).access;
    assert_eq!(kept(&world, &of_user).await, Some(data("own")));
    let without = pair(&world.exchange_as(&machine, &world.code_for(&world.query_of(&machine, &PKCE)).await).await);
    assert_eq!(kept(&world, &without.access).await, None);
    // Its grants have none that could be set.
    let grant = grant_of(&world, &token).await;
    assert_eq!(world.server.set_grant_data(grant, None, Some(data("C"))).await.unwrap(), DataChange::NotLive);
    assert_eq!(kept(&world, &token).await, Some(data("B")));
}

/// OWN-04
#[tokio::test]
async fn a_described_client_has_its_data_and_one_that_registers_itself_none() {
    let world = rfc7591::world().await;
    let own =
        world.server.own_client("wiki").name("Wiki").scopes("repo-code:r").redirect_uri("https://wiki.example/cb");
    let own = own.secret("s".repeat(32)).with(|client| client.data(data(TENANT))).ensure().await.unwrap();
    assert_eq!(own.data(), Some(&data(TENANT)));
    let registrar = world.server.registrar().unwrap();
    let described = registrar.set_client_data(own.id(), own.version(), None).await;
    assert!(matches!(described, Err(RegistrarError::FirstParty)), "{described:?}");
    let metadata = rfc7591::with(rfc7591::public(), json!({"data": TENANT, "grant_data": TENANT}));
    let id = rfc7591::id(&rfc7591::register(&world, metadata).await);
    let client = registrar.client(&id).await.unwrap();
    assert_eq!(client.data(), None);
    registrar.set_client_data(&id, client.version(), Some(data("B"))).await.unwrap();
    assert_eq!(registrar.client(&id).await.unwrap().data(), Some(&data("B")));
}

/// OWN-05
#[tokio::test]
async fn data_is_replaced_if_it_is_what_the_caller_read() {
    let world = World::strict().await;
    let tokens = pair_with(&world, "A").await;
    let grant = grant_of(&world, &tokens.access).await;
    let set = async |seen: Option<&str>, next: Option<&str>| {
        let seen = seen.map(data);
        world.server.set_grant_data(grant, seen.as_ref(), next.map(data)).await.unwrap()
    };
    world.events.take();
    assert_eq!(set(Some("A"), Some(TENANT)).await, DataChange::Written);
    let event = world.events.take().join("\n");
    assert!(event.contains("GrantDataSet") && event.contains("bytes: 11") && !event.contains(TENANT), "{event}");
    assert_eq!(set(Some("A"), Some("C")).await, DataChange::Changed(Some(data(TENANT))));
    assert_eq!(world.events.take(), [""; 0]);
    assert_eq!(set(Some("A"), Some(TENANT)).await, DataChange::Written, "a repeated call");
    assert_eq!(world.events.take(), [""; 0], "nothing was written");
    assert_eq!(set(Some(TENANT), None).await, DataChange::Written);
    assert_eq!(set(Some(TENANT), Some("C")).await, DataChange::Changed(None));
    assert_eq!(set(None, Some("C")).await, DataChange::Written);
    let second = pair(&world.refresh(&tokens.refresh).await);
    assert_eq!(kept(&world, &second.access).await, Some(data("C")));
}

/// OWN-05
#[tokio::test]
async fn one_of_two_writers_wins_and_no_refresh_is_lost() {
    let world = World::with(Profile::Strict, |config| config.limits.grants = 50).await;
    let tokens = pair_with(&world, "A").await;
    let grant = grant_of(&world, &tokens.access).await;
    let slow = over(&world, Yielding);
    let seen = data("A");
    let write = |bytes: &str| slow.server.set_grant_data(grant, Some(&seen), Some(data(bytes)));
    let refreshes = futures::future::join_all((0..50).map(|_| slow.refresh(&tokens.refresh)));
    let (first, second, refreshed) = tokio::join!(write("B"), write("C"), refreshes);
    let (winner, loser) = match (first.unwrap(), second.unwrap()) {
        (DataChange::Written, loser) => ("B", loser),
        (loser, winner) => {
            assert_eq!(winner, DataChange::Written);
            ("C", loser)
        }
    };
    assert_eq!(loser, DataChange::Changed(Some(data(winner))));
    for tokens in refreshed.iter().map(pair) {
        assert_eq!(kept(&world, &tokens.access).await, Some(data(winner)));
    }
}

/// OWN-05
#[tokio::test]
async fn only_a_live_grant_gets_data() {
    let world = World::strict().await;
    let set = async |world: &World, grant| world.server.set_grant_data(grant, None, Some(data(TENANT))).await.unwrap();
    let code = world.code().await;
    let waiting = world.server.authorizations_of(&world.alice).await.unwrap()[0].id();
    assert_eq!(set(&world, waiting.into()).await, DataChange::NotLive, "a code");
    let tokens = pair(&world.exchange(&code).await);
    let revoked = grant_of(&world, &tokens.access).await;
    world.revoke(&tokens.refresh).await;
    assert_eq!(set(&world, revoked).await, DataChange::NotLive);
    assert_eq!(set(&world, GrantId::from_bytes([7; 16])).await, DataChange::NotLive);
    let expired = grant_of(&world, &world.pair().await.access).await;
    world.clock.advance(Duration::from_secs(400 * 86_400));
    assert_eq!(set(&world, expired).await, DataChange::NotLive);
    assert_eq!(is_stored(&world, TENANT).await, [false, false]);
}

/// OWN-05
#[tokio::test]
async fn a_lost_answer_of_the_store_is_found_out() {
    let world = World::strict().await;
    let grant = grant_of(&world, &pair_with(&world, "A").await.access).await;
    let seen = data("A");
    let broken = over(&world, every("tokens.replace", Fate::FailsBefore(Failure::Transient)));
    assert!(broken.server.set_grant_data(grant, Some(&seen), Some(data("B"))).await.is_err());
    let lost = over(&world, every("tokens.replace", Fate::FailsAfter(Failure::Transient)));
    for _ in 0..2 {
        let change = lost.server.set_grant_data(grant, Some(&seen), Some(data("B"))).await.unwrap();
        assert_eq!(change, DataChange::Written);
    }
}

/// OWN-07
#[tokio::test]
async fn a_revoked_grant_keeps_no_data_and_an_unused_code_until_the_purge() {
    let world = World::strict().await;
    for way in 0..5 {
        let code = code_with(&world, &world.client, TENANT).await;
        let tokens = pair(&world.exchange(&code).await);
        let grant = grant_of(&world, &tokens.access).await;
        assert!(is_stored(&world, TENANT).await[0], "{way}");
        match way {
            0 => assert!(world.server.revoke_grant(grant, &world.alice).await.unwrap()),
            1 => assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 1),
            2 => assert_eq!(world.server.revoke_application(&world.alice, &world.client.client_id()).await.unwrap(), 1),
            3 => assert_eq!(world.revoke(&tokens.refresh).await.status(), 200),
            _ => assert_eq!(world.exchange(&code).await.status(), 400, "a replay"),
        }
        assert!(!is_stored(&world, TENANT).await[0], "{way}");
    }
    code_with(&world, &world.client, "unused").await;
    assert_eq!(is_stored(&world, "unused").await, [false, true]);
    world.clock.advance(Duration::from_secs(86_400));
    while !world.purge(100).await.is_finished() {}
    assert_eq!(is_stored(&world, "unused").await, [false, false]);
}
