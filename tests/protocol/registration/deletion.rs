//! A deleted application: nothing of it works, nothing of it is left, and its id is not assigned again.

use grantor::application::{ApplicationFilter, LogoSlot};
use grantor::store::{Insertion, Page, RecordStore};
use grantor::wire::Endpoint;
use grantor::{Application, Approval, Consent, Decision, RegistrarError};

use crate::registration::{developer, registrar};
use support::world::{PKCE, Reviewer as _, SESSION, START, World, e401, form, page, r401, wa};

/// ADM-07
#[tokio::test]
async fn everything_of_a_deleted_application_is_dead_and_erased() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let resource_server = world.register_as(form(), Approval::default().may_introspect()).await;
    let (live, code) = (world.pair().await, world.code().await);
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    registrar.change_now(&id, form(), Some(support::world::logo())).await.unwrap();
    let before = registrar.application(&id).await.unwrap();

    let stale = registrar.delete(&id, before.version().wrapping_add(1)).await;
    assert!(matches!(stale, Err(RegistrarError::ChangedMeanwhile)), "{stale:?}");
    registrar.delete(&id, before.version()).await.unwrap();

    wa(world.access(&live.access).await.unwrap_err(), 401, "invalid_token");
    assert_eq!(world.introspect_as(&resource_server, &live.access).await, serde_json::json!({ "active": false }));
    e401(&world.refresh(&live.refresh).await, "invalid_client");
    e401(&world.exchange(&code).await, "invalid_client");
    r401(&world.revoke(&live.access).await);
    let call = world.post(Endpoint::Introspection, &[("token", &live.access)]);
    e401(&call.client(&world.client).send().await, "invalid_client");
    page(&world.refused(&world.query(&PKCE)).await);
    let agreed = Decision::Approve(Consent::to_everything());
    let decided = world.server.decide(handle.expose(), &world.alice, SESSION, &agreed).await;
    page(&decided.unwrap_err().response(Some(&world.alice)));
    let held = world.server.hold(&pending, &world.alice, SESSION).await;
    page(&held.unwrap_err().response(Some(&world.alice)));
    assert!(world.server.grants_of(&world.alice).await.unwrap().is_empty());

    for slot in [LogoSlot::InForce, LogoSlot::Proposed] {
        assert_eq!(registrar.logo(&id, slot).await.unwrap(), None);
    }
    for filter in [ApplicationFilter::All, ApplicationFilter::OwnedBy(developer()), ApplicationFilter::AwaitingReview] {
        let listed = registrar.list(&filter, Page::first(10)).await.unwrap();
        assert!(listed.iter().all(|listed| *listed.id() != id), "{filter:?}");
    }
    let left = RecordStore::<Application>::find(&world.store, &id).await.unwrap().unwrap();
    let shown = format!("{left:?}");
    assert!(["developer", "Example App", "app.example.com", "repo-"].iter().all(|erased| !shown.contains(erased)));

    // No step finds it.
    for outcome in [
        registrar.application(&id).await.map(drop),
        registrar.client(&id).await.map(drop),
        registrar.suspend(&id).await,
        registrar.revoke_grants(&id).await,
        registrar.end_secrets(&id).await,
        registrar.delete(&id, before.version()).await,
        registrar.rotate_secret(&id, &developer(), before.version()).await.map(drop),
    ] {
        assert!(matches!(outcome, Err(RegistrarError::NotFound)), "{outcome:?}");
    }
}

/// ADM-07
#[tokio::test]
async fn the_id_of_a_deleted_application_is_kept_until_its_last_token_has_ended() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let description = crate::registration::first_party::described(&world, "wiki");
    let first = registrar.ensure_client(&description).await.unwrap();
    let id = description.id();
    registrar.revoke_grants(id).await.unwrap();
    registrar.delete(id, registrar.application(id).await.unwrap().version()).await.unwrap();

    let left = async || RecordStore::<Application>::find(&world.store, id).await.unwrap();
    let inserted = RecordStore::<Application>::insert(&world.store, left().await.unwrap()).await.unwrap();
    assert_eq!(inserted, Insertion::Exists);
    let config = world.server.config();
    let longest = config.tokens.refresh_lifetime + config.authorization.code_lifetime;
    let until = left().await.unwrap().reserved_until.unwrap();
    assert_eq!(u64::from(until.seconds()), u64::from(START) + longest.as_secs() + 3600);
    let refused = registrar.ensure_client(&description).await;
    assert!(matches!(refused, Err(RegistrarError::Reserved { until: reserved }) if reserved == until), "{refused:?}");
    world.advance(longest.as_secs() + 3599);
    assert!(registrar.ensure_client(&description).await.is_err());
    let _ = world.purge(1000).await;
    assert!(left().await.is_some());
    world.advance(1);
    let client = registrar.ensure_client(&description).await.unwrap();
    // Grants from before the deletion stay invalid.
    assert_eq!(client.epoch(), first.epoch() + 2);

    registrar.delete(id, client.version()).await.unwrap();
    world.advance(longest.as_secs() + 3600);
    let _ = world.purge(1000).await;
    assert!(left().await.is_none());
    // Its epochs begin above the earlier ones, so that no earlier token becomes valid again, whenever it expires.
    let again = registrar.ensure_client(&description).await.unwrap();
    assert!(again.epoch() > client.epoch() + 1, "{} after {}", again.epoch(), client.epoch());
}
