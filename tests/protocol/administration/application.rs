//! What a user granted to one application, before and after its code was exchanged.

use grantor::client::{GrantType, GrantTypes};
use grantor::config::Profile;
use grantor::id::GrantId;
use grantor::scope::ResourceScope;
use grantor::store::{Grant, Page, RecordStore, RevocationReason, StoreError};
use grantor::{ClientId, Consent, Decision, Subject};

use crate::unreliable::{Fault, Unreliable};
use support::world::{Credentials, PKCE, SCOPES, SESSION, START, World, code, e400, empty, form, ok, pair, text, wa};

/// Returns the id of the record that a handle or a code belongs to.
fn id_in(secret: &str) -> GrantId {
    secret[3..25].parse().unwrap()
}

fn agreed() -> Decision {
    Decision::Approve(Consent::to_everything())
}

async fn held(world: &World, client: &Credentials, subject: &Subject) -> String {
    let pending = world.authorize(&world.query_of(client, &PKCE)).await.unwrap();
    world.server.hold(&pending, subject, SESSION).await.unwrap().expose().to_owned()
}

async fn code_of(world: &World, client: &Credentials, subject: &Subject) -> String {
    let handle = held(world, client, subject).await;
    text(&code(&world.server.decide(&handle, subject, SESSION, &agreed()).await.unwrap()), "code")
}

/// Submitting the form of a request that has ended shows the error page and does not redirect.
async fn shows_the_page(world: &World, handle: &str, subject: &Subject) {
    let refused = world.server.decide(handle, subject, SESSION, &agreed()).await.unwrap_err();
    let response = refused.response(Some(subject));
    assert_eq!((response.status(), response.header("Location")), (400, None));
}

async fn listed(world: &World, subject: &Subject) -> Vec<GrantId> {
    let found = world.server.authorizations_of(subject).await.unwrap();
    found.iter().map(|authorization| authorization.id().into()).collect()
}

/// ADM-01, ADM-04
#[tokio::test]
async fn an_application_is_withdrawn_whole_and_nothing_else() {
    let world = World::platform().await;
    let (alice, bob) = (&world.alice, Subject::new("bob").unwrap());
    let other = world.register(form()).await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let waiting = held(&world, &world.client, alice).await;
    let unredeemed = world.code().await;
    let of_other = world.pair_of(&other).await;
    let (code_of_other, waiting_of_other) = (code_of(&world, &other, alice).await, held(&world, &other, alice).await);
    let (code_of_bob, waiting_of_bob) =
        (code_of(&world, &world.client, &bob).await, held(&world, &world.client, &bob).await);
    world.events.take();

    let client = world.client.client_id();
    assert_eq!(world.server.revoke_application(alice, &client).await.unwrap(), 3);
    let events = world.events.take();
    assert!(events.len() == 1 && events[0].contains("reason: ApplicationRevoked"), "{events:?}");
    for pair in [&first, &second] {
        wa(world.access(&pair.access).await.unwrap_err(), 401, "invalid_token");
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
    }
    e400(&world.exchange(&unredeemed).await, "invalid_grant");
    shows_the_page(&world, &waiting, alice).await;
    let events = world.events.take();
    assert!(!events.iter().any(|event| event.starts_with("CodeReplayed") || event.starts_with("RefreshTokenReused")));

    assert!(world.opens(&of_other.access).await);
    ok(&world.refresh_as(&other, &of_other.refresh).await);
    ok(&world.exchange_as(&other, &code_of_other).await);
    code(&world.server.decide(&waiting_of_other, alice, SESSION, &agreed()).await.unwrap());
    ok(&world.exchange(&code_of_bob).await);
    code(&world.server.decide(&waiting_of_bob, &bob, SESSION, &agreed()).await.unwrap());

    assert_eq!(world.server.revoke_application(alice, &client).await.unwrap(), 0);
    let unknown = ClientId::new("nobody").unwrap();
    assert_eq!(world.server.revoke_application(alice, &unknown).await.unwrap(), 0);
    // A later approval is valid.
    assert!(world.opens(&world.pair().await.access).await);
}

/// ADM-01
#[tokio::test]
async fn a_withdrawal_that_failed_can_be_repeated() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let pairs = [world.pair().await, world.pair().await];
    let unredeemed = world.code().await;
    let waiting = held(&world, &world.client, &world.alice).await;
    let client = world.client.client_id();

    store.fail(Fault::Writes);
    let failed: StoreError = world.server.revoke_application(&world.alice, &client).await.unwrap_err();
    assert!(failed.is_transient());
    // Codes and grants are in another store: the request was denied.
    shows_the_page(&world, &waiting, &world.alice).await;
    store.fail(Fault::None);
    assert_eq!(world.server.revoke_application(&world.alice, &client).await.unwrap(), 3);
    for pair in &pairs {
        assert!(!world.opens(&pair.access).await);
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
    }
    e400(&world.exchange(&unredeemed).await, "invalid_grant");

    // Reads of this store are not settled: the withdrawal is confirmed before the call succeeds.
    store.fail(Fault::Writes);
    assert!(world.server.revoke_application(&world.alice, &client).await.is_err());
    store.fail(Fault::None);
    assert_eq!(world.server.revoke_application(&world.alice, &client).await.unwrap(), 0);
}

/// ADM-01, NEG-16, GitLab #222829, fxa-oauth-server #578
#[tokio::test]
async fn a_code_is_dead_however_it_was_withdrawn() {
    for way in 0..4 {
        let world = World::platform().await;
        let (alice, client) = (&world.alice, world.client.client_id());
        let code = world.code().await;
        let registrar = world.server.registrar().unwrap();
        world.events.take();
        match way {
            0 => assert_eq!(world.server.revoke_application(alice, &client).await.unwrap(), 1),
            1 => assert!(world.server.revoke_grant(id_in(&code), alice).await.unwrap()),
            2 => assert_eq!(world.server.revoke_subject(alice).await.unwrap(), 1),
            _ => registrar.revoke_grants(&client).await.unwrap(),
        }
        assert_eq!(listed(&world, alice).await, [], "way {way}");
        for _ in 0..2 {
            e400(&world.exchange(&code).await, "invalid_grant");
        }
        assert!(!world.events.saw("CodeReplayed"), "way {way}");
        assert!(world.server.grants_of(alice).await.unwrap().is_empty());
    }
}

/// ADM-02
#[tokio::test]
async fn the_id_of_a_code_or_a_held_request_withdraws_it() {
    let world = World::platform().await;
    let bob = Subject::new("bob").unwrap();
    let code = world.code().await;
    let waiting = held(&world, &world.client, &world.alice).await;
    let issued = world.events.take().into_iter().find(|event| event.starts_with("CodeIssued")).unwrap();
    assert!(issued.contains(&id_in(&code).to_string()), "{issued}");

    for secret in [&code, &waiting] {
        assert!(!world.server.revoke_grant(id_in(secret), &bob).await.unwrap());
    }
    assert_eq!(world.store.grant_count().await, 0, "another subject changes nothing");
    assert!(world.server.revoke_grant(id_in(&code), &world.alice).await.unwrap());
    assert!(world.server.revoke_grant(id_in(&waiting), &world.alice).await.unwrap());
    e400(&world.exchange(&code).await, "invalid_grant");
    shows_the_page(&world, &waiting, &world.alice).await;
    assert!(!world.events.saw("CodeReplayed"));
    let killed = RecordStore::<Grant>::find(&world.store, &id_in(&code)).await.unwrap().unwrap();
    assert_eq!(killed.revoked().unwrap().reason, RevocationReason::RevokedByUser);
    for secret in [&code, &waiting] {
        assert!(!world.server.revoke_grant(id_in(secret), &world.alice).await.unwrap(), "it was live once");
    }

    // An expired code or request can be withdrawn too, but was not live.
    let (code, waiting) = (world.code().await, held(&world, &world.client, &world.alice).await);
    world.advance(1800);
    for secret in [&code, &waiting] {
        assert!(!world.server.revoke_grant(id_in(secret), &world.alice).await.unwrap());
    }
}

/// ADM-03
#[tokio::test]
async fn an_approved_request_is_listed_until_its_code_is_exchanged() {
    let world = World::platform().await;
    let alice = &world.alice;
    let mut form = form();
    form.scopes = "repo-code:r".into();
    form.resource_scope = Some(ResourceScope::Public);
    form.grant_types = GrantTypes::CODE_ONLY;
    let other = world.register(form).await;
    held(&world, &world.client, alice).await;
    let denied = held(&world, &world.client, alice).await;
    let _ = world.server.decide(&denied, alice, SESSION, &Decision::Deny).await.unwrap();
    assert_eq!(listed(&world, alice).await, [], "what is not approved is not listed");

    let first = world.code().await;
    world.advance(1);
    let second = code_of(&world, &other, alice).await;
    let found = world.server.authorizations_of(alice).await.unwrap();
    let [oldest, newest] = &found[..] else { panic!("{found:?}") };
    assert_eq!((oldest.client(), newest.client()), (&world.client.client_id(), &other.client_id()));
    assert_eq!((oldest.scopes().as_str(), newest.scopes().as_str()), (SCOPES, "repo-code:r"));
    assert_eq!(*newest.resource_scope(), ResourceScope::Public);
    assert_eq!(oldest.ends().seconds(), START + 600);
    assert_eq!(listed(&world, alice).await, [id_in(&first), id_in(&second)]);
    assert_eq!(listed(&world, &Subject::new("bob").unwrap()).await, []);

    ok(&world.exchange(&first).await);
    assert_eq!(listed(&world, alice).await, [id_in(&second)]);
    assert_eq!(world.server.grants_of(alice).await.unwrap().len(), 1, "its grant is listed instead");
    assert_eq!(world.server.revoke_application(alice, &other.client_id()).await.unwrap(), 1);
    assert_eq!(listed(&world, alice).await, []);
    e400(&world.exchange_as(&other, &second).await, "invalid_grant");

    // It expires with its code.
    world.code().await;
    world.advance(599);
    assert_eq!(listed(&world, alice).await.len(), 1);
    world.advance(1);
    assert_eq!(listed(&world, alice).await, []);
}

/// ADM-03
#[tokio::test]
async fn what_is_listed_follows_the_client() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.client.client_id();
    for _ in 0..130 {
        world.code().await;
    }
    registrar.suspend(&client).await.unwrap();
    // A suspended client may be resumed and then exchange its codes.
    assert_eq!(listed(&world, &world.alice).await.len(), 130);
    registrar.resume(&client).await.unwrap();
    registrar.revoke_grants(&client).await.unwrap();
    assert_eq!(listed(&world, &world.alice).await, []);
}

/// ADM-01, ADM-02, 9700-4.15-02, CC-03
#[tokio::test]
async fn no_withdrawal_touches_what_the_client_got_for_itself() {
    let world = World::with(Profile::Platform, |config| config.client_credentials.on = true).await;
    let mut form = form();
    form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
    form.client_scopes = "repo-code:r".into();
    form.client_resources = Some(ResourceScope::All);
    let machine = world.register(form).await;
    let response = world.token(&[("grant_type", "client_credentials")]).client(&machine).send().await;
    let access = ok(&response).access_token.expose().to_owned();
    let grant = world.access(&access).await.unwrap().grant().unwrap();
    let same = Subject::new(&machine.id).unwrap();

    for subject in [&same, &world.alice] {
        assert_eq!(world.server.revoke_application(subject, &machine.client_id()).await.unwrap(), 0);
        assert!(!world.server.revoke_grant(grant, subject).await.unwrap());
        assert!(world.server.authorizations_of(subject).await.unwrap().is_empty());
        assert!(world.server.grants_of(subject).await.unwrap().is_empty());
    }
    assert!(world.opens(&access).await);
    assert_eq!(world.server.client_credentials_tokens_of(&machine.client_id()).await.unwrap().len(), 1);
    // Its own revocation ends it.
    empty(&world.revoke_as(&machine, &access).await);
    assert!(!world.opens(&access).await);
    assert!(RecordStore::<Grant>::list(&world.store, same.as_str(), Page::first(10)).await.unwrap().is_empty());
}
