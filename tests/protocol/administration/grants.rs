//! The grants of a user, one by one, and all grants of a client.

use grantor::client::GrantTypes;
use grantor::config::Profile;
use grantor::id::GrantId;
use grantor::scope::ResourceScope;
use grantor::store::{Grant, RecordStore, RevocationReason};
use grantor::wire::Endpoint;
use grantor::{Consent, Decision, Subject};

use support::world::{PKCE, SCOPES, SESSION, START, With as _, World, code, e400, empty, form, ok, pair, text, wa};

async fn listed(world: &World) -> Vec<GrantId> {
    world.server.grants_of(&world.alice).await.unwrap().iter().map(|grant| grant.id()).collect()
}

/// The grant that a live access token belongs to.
async fn grant_of(world: &World, access: &str) -> GrantId {
    world.access(access).await.unwrap().grant().unwrap()
}

/// D-29, 9700-4.14.2-04
#[tokio::test]
async fn a_user_can_be_shown_what_was_granted_to_whom() {
    let world = World::platform().await;
    assert_eq!(listed(&world).await, []);
    let first = world.pair().await;
    world.advance(1);
    let mut form = form();
    form.scopes = "repo-code:r".into();
    form.resource_scope = Some(ResourceScope::Public);
    let other = world.register(form).await;
    let second = world.pair_of(&other).await;
    world.advance(10);
    let _ = pair(&world.refresh(&first.refresh).await);

    let grants = world.server.grants_of(&world.alice).await.unwrap();
    let [oldest, newest] = &grants[..] else { panic!("{grants:?}") };
    assert_eq!((oldest.id(), oldest.client()), (grant_of(&world, &first.access).await, &world.client.client_id()));
    assert_eq!((newest.id(), newest.client()), (grant_of(&world, &second.access).await, &other.client_id()));
    assert_eq!((oldest.scopes().as_str(), newest.scopes().as_str()), (SCOPES, "repo-code:r"));
    assert_eq!(*oldest.resource_scope(), ResourceScope::All);
    assert_eq!(*newest.resource_scope(), ResourceScope::Public);
    assert_eq!((oldest.created().seconds(), oldest.refreshed().seconds()), (START, START + 11));
    assert_eq!((newest.created().seconds(), newest.refreshed().seconds()), (START + 1, START + 1));
    assert_eq!(oldest.ends().seconds(), START + 11 + 15_552_000);
    assert!(grants.iter().all(|grant| grant.subject() == Some(&world.alice) && grant.revoked().is_none()));

    let bob = Subject::new("bob").unwrap();
    assert!(world.server.grants_of(&bob).await.unwrap().is_empty());
}

/// 9700-4.14.2-04
#[tokio::test]
async fn only_live_grants_are_listed() {
    let world = World::platform().await;
    let form = form().with(|form| form.grant_types = GrantTypes::CODE_ONLY);
    let code_only = world.register(form.clone()).await;
    let suspended = world.register(form.clone()).await;
    let withdrawn = world.register(form).await;
    let registrar = world.server.registrar().unwrap();
    world.code().await;

    let revoked = world.pair().await;
    let live = grant_of(&world, &world.pair().await.access).await;
    let access_alone = world.pair_of(&code_only).await;
    let access_revoked = world.pair_of(&code_only).await;
    let of_suspended = grant_of(&world, &world.pair_of(&suspended).await.access).await;
    world.pair_of(&withdrawn).await;
    empty(&world.revoke(&revoked.refresh).await);
    empty(&world.revoke_as(&code_only, &access_revoked.access).await);
    registrar.suspend(&suspended.client_id()).await.unwrap();
    registrar.revoke_grants(&withdrawn.client_id()).await.unwrap();
    let sorted = |mut ids: Vec<GrantId>| {
        ids.sort();
        ids
    };
    // A suspended client may be resumed, and its grants remain valid.
    let expected = sorted(vec![live, grant_of(&world, &access_alone.access).await, of_suspended]);
    assert_eq!(sorted(listed(&world).await), expected);

    world.advance(28_799);
    assert_eq!(listed(&world).await.len(), 3);
    world.advance(1);
    assert_eq!(listed(&world).await, [live]);
    world.advance(15_552_000 - 28_800 - 1);
    assert_eq!(listed(&world).await, [live]);
    world.advance(1);
    assert_eq!(listed(&world).await, []);
}

/// 9700-4.14.2-04
#[tokio::test]
async fn a_list_of_any_length_comes_whole_and_the_oldest_first() {
    let world = World::with(Profile::Platform, |config| config.limits.grants = 1000).await;
    let mut made = Vec::new();
    for number in 0..230 {
        let pair = world.pair().await;
        made.push(grant_of(&world, &pair.access).await);
        if number % 2 == 1 {
            empty(&world.revoke(&pair.refresh).await);
        }
        world.advance(1);
    }
    let expected: Vec<_> = made.iter().step_by(2).copied().collect();
    assert_eq!(listed(&world).await, expected);
}

/// 9700-4.14.2-04, 6749-6-07, django-oauth-toolkit #1510
#[tokio::test]
async fn withdrawing_a_grant_ends_all_its_tokens_and_no_others() {
    let world = World::platform().await;
    let old = world.pair().await;
    let new = pair(&world.refresh(&old.refresh).await);
    let other = world.pair().await;
    let id = grant_of(&world, &new.access).await;
    world.events.take();
    world.advance(5);

    assert!(world.server.revoke_grant(id, &world.alice).await.unwrap());
    let client = &world.client.id;
    let revoked = format!(
        "GrantRevoked {{ grant: {id:?}, client: {client}, subject: {:?}, reason: RevokedByUser }}",
        Some(&world.alice)
    );
    assert_eq!(world.events.take(), [revoked]);
    for pair in [&old, &new] {
        wa(world.access(&pair.access).await.unwrap_err(), 401, "invalid_token");
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
        empty(&world.revoke(&pair.refresh).await);
        assert_eq!(world.introspect_as(&world.client, &pair.access).await["active"], false);
    }
    let kept = RecordStore::<Grant>::find(&world.store, &id).await.unwrap().unwrap();
    let revocation = kept.revoked().unwrap();
    assert_eq!((revocation.at.seconds(), revocation.reason), (START + 5, RevocationReason::RevokedByUser));
    assert_eq!(kept.ends(), revocation.at);
    assert!(world.opens(&other.access).await);
    ok(&world.refresh(&other.refresh).await);
    assert!(!world.events.saw("RefreshTokenReused"));
}

/// 9700-4.14.2-04
#[tokio::test]
async fn a_grant_is_withdrawn_by_its_own_user_and_once() {
    let world = World::platform().await;
    let live = world.pair().await;
    let id = grant_of(&world, &live.access).await;
    let bob = Subject::new("bob").unwrap();
    assert!(!world.server.revoke_grant(id, &bob).await.unwrap());
    assert!(!world.server.revoke_grant(GrantId::from_bytes([7; 16]), &world.alice).await.unwrap());
    assert!(world.opens(&live.access).await);
    assert!(world.server.revoke_grant(id, &world.alice).await.unwrap());
    let after = RecordStore::<Grant>::find(&world.store, &id).await.unwrap().unwrap();
    assert!(!world.server.revoke_grant(id, &world.alice).await.unwrap());
    let again = RecordStore::<Grant>::find(&world.store, &id).await.unwrap().unwrap();
    assert_eq!(again, after, "it is not revoked again");

    // A grant that has expired was not live.
    let live = world.pair().await;
    let id = grant_of(&world, &live.access).await;
    world.advance(15_552_000);
    assert!(!world.server.revoke_grant(id, &world.alice).await.unwrap());
}

/// 6749-6-07, D-31
#[tokio::test]
async fn all_grants_of_a_client_are_withdrawn_at_once() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    let id = world.client.client_id();
    let other = world.register(form()).await;
    let old = world.pair().await;
    let new = pair(&world.refresh(&old.refresh).await);
    let unredeemed = world.code().await;
    let unaffected = world.pair_of(&other).await;
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let stored = world.store.grant_count().await;
    world.events.take();

    registrar.revoke_grants(&id).await.unwrap();
    assert_eq!(registrar.client(&id).await.unwrap().epoch(), 1);
    for pair in [&old, &new] {
        wa(world.access(&pair.access).await.unwrap_err(), 401, "invalid_token");
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
        empty(&world.revoke(&pair.access).await);
        empty(&world.revoke(&pair.refresh).await);
        assert_eq!(world.introspect_as(&world.client, &pair.access).await["active"], false);
        // The token is invalid for another client too.
        empty(&world.post(Endpoint::Revocation, &[("token", &pair.refresh)]).client(&other).send().await);
    }
    e400(&world.exchange(&unredeemed).await, "invalid_grant");
    assert_eq!(world.store.grant_count().await, stored);
    let events = world.events.take();
    let raised = |name: &str| events.iter().any(|event| event.starts_with(name));
    assert!(raised("Application") && !raised("GrantRevoked") && !raised("RefreshTokenReused"), "{events:?}");
    let left = world.server.grants_of(&world.alice).await.unwrap();
    assert!(left.len() == 1 && *left[0].client() == other.client_id());
    assert!(world.opens(&unaffected.access).await);

    // The secret is unchanged, and new consents are accepted.
    let agreed = Decision::Approve(Consent::to_everything());
    let response = world.server.decide(handle.expose(), &world.alice, SESSION, &agreed).await.unwrap();
    let again = pair(&world.exchange(&text(&code(&response), "code")).await);
    assert!(world.opens(&again.access).await && world.opens(&world.pair().await.access).await);
    registrar.revoke_grants(&id).await.unwrap();
    assert!(!world.opens(&again.access).await);
}
