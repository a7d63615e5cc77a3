//! What is stored of a document. Everything after the consent reads only that.

use grantor::Subject;
use grantor::application::ApplicationFilter;
use grantor::client::{ClientOrigin, ClientState};
use grantor::fetch::FetchErrorKind;
use grantor::store::Page;
use grantor::wire::Endpoint;
use serde_json::json;

use super::{SESSION, URI, URL, World, ask_for, client, id, pair_as, pair_of, query, refused, with, world};
use support::world::{e400, empty, form, pair};

async fn rows(world: &World) -> usize {
    let all = world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(100)).await.unwrap();
    all.iter().filter(|application| application.id().as_str().starts_with("https://")).count()
}

/// CIMD-5-04
#[tokio::test]
async fn the_row_is_written_when_the_request_is_held() {
    let (world, _) = world().await;
    let pending = ask_for(&world, URL).await.unwrap();
    assert_eq!(rows(&world).await, 0, "a request that is not held stores nothing");
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    assert_eq!(rows(&world).await, 1);
    assert!(world.events.saw("Application"));
    let stored = world.server.client(&id()).await.unwrap().unwrap();
    assert_eq!((stored.id(), stored.form().name.as_str(), stored.state()), (&id(), "App", ClientState::Approved));
    assert_eq!(stored.open().unwrap().origin, ClientOrigin::MetadataDocument);
    assert!(stored.is_unreviewed() && !stored.has_secret());
    // Once the client has a grant, a request writes nothing.
    pair_of(&world, URL).await;
    let version = async || world.server.client(&id()).await.unwrap().unwrap().version();
    let used = version().await;
    let pending = ask_for(&world, URL).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    assert_eq!(version().await, used);
}

/// CIMD-5-04
#[tokio::test]
async fn nothing_after_the_consent_fetches_the_document() {
    let (world, web) = world().await;
    let tokens = pair_of(&world, URL).await;
    web.take();
    let resource_server = world.register_as(form(), grantor::Approval::default().may_introspect()).await;
    web.fail(URL, FetchErrorKind::Connection);
    world.advance(7200);
    assert!(world.opens(&tokens.access).await);
    let next = pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
    web.publish(URL, with(json!({"redirect_uris": ["https://other.example/cb"], "scope": "repo-code:r"})));
    let next = pair(&world.refresh_as(&client(URL), &next.refresh).await);
    assert_eq!(next.scope, tokens.scope);
    assert_eq!(world.introspect_as(&resource_server, &next.access).await["client_id"], URL);
    empty(&world.revoke_as(&client(URL), &next.refresh).await);
    assert!(!world.opens(&next.access).await);
    e400(&world.refresh_as(&client(URL), &next.refresh).await, "invalid_grant");
    assert_eq!(web.count(), 0);
}

/// CIMD-5-04
#[tokio::test]
async fn a_changed_document_counts_from_the_next_request_on() {
    let (world, web) = world().await;
    let tokens = pair_of(&world, URL).await;
    let before = world.server.client(&id()).await.unwrap().unwrap();
    web.publish(URL, with(json!({"client_name": "Renamed", "redirect_uris": [URI, "http://localhost/"]})));
    world.advance(3600);
    let pending = ask_for(&world, URL).await.unwrap();
    assert_eq!((pending.client().form().name.as_str(), pending.client().form().redirect_uris.len()), ("Renamed", 2));
    assert_eq!(world.server.client(&id()).await.unwrap().unwrap(), before, "it is not held yet");
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let after = world.server.client(&id()).await.unwrap().unwrap();
    assert_eq!((after.form().name.as_str(), after.epoch()), ("Renamed", before.epoch()));
    assert_eq!(after.open().unwrap().registered, before.open().unwrap().registered);
    assert!(world.opens(&tokens.access).await);
    pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
}

/// CIMD-5-04
#[tokio::test]
async fn a_request_that_was_held_ends_with_the_redirect_uri_that_it_names() {
    let (world, web) = world().await;
    let mut response = super::web::json(super::document().to_string());
    response.cache_control = Some("no-store".to_owned());
    web.answer(URL, response);
    let pending = ask_for(&world, URL).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    world.advance(1000);
    let mut response = super::web::json(with(json!({"redirect_uris": ["https://client.example/new"]})).to_string());
    response.cache_control = Some("max-age=300".to_owned());
    web.answer(URL, response);
    // Another user's request replaces the row while the first user reads the page.
    let bob = Subject::new("bob").unwrap();
    world.advance(200);
    let query = query(&world, URL, "https://client.example/new");
    let asked = super::ask_as(&world, &bob, &query).await.unwrap();
    world.server.hold(&asked, &bob, SESSION).await.unwrap();
    let approve = grantor::Decision::Approve(grantor::Consent::to_everything());
    let error = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap_err();
    support::world::page(&error.response(Some(&world.alice)));
}

/// CIMD-8.3-01
#[tokio::test]
async fn what_one_device_does_ends_no_grant_of_another() {
    let (world, _) = world().await;
    let first = pair_of(&world, URL).await;
    let second = pair_of(&world, URL).await;
    assert!(world.opens(&first.access).await);
    let next = pair(&world.refresh_as(&client(URL), &second.refresh).await);
    world.advance(300);
    // The second device uses an old token, and then revokes what is left.
    e400(&world.refresh_as(&client(URL), &second.refresh).await, "invalid_grant");
    empty(&world.revoke_as(&client(URL), &next.refresh).await);
    assert!(!world.opens(&next.access).await);
    assert!(world.opens(&first.access).await);
    let first = pair(&world.refresh_as(&client(URL), &first.refresh).await);
    // A withdrawal does not affect another user of the same client.
    let bob = Subject::new("bob").unwrap();
    let of_bob = pair_as(&world, &bob, URL).await;
    world.server.revoke_application(&bob, &id()).await.unwrap();
    assert!(!world.opens(&of_bob.access).await && world.opens(&first.access).await);
    // Only an administrator ends all of them.
    world.server.registrar().unwrap().revoke_grants(&id()).await.unwrap();
    assert!(!world.opens(&first.access).await);
}

/// ADM-08
#[tokio::test]
async fn administrators_suspend_and_delete_what_a_document_brought() {
    let (world, web) = world().await;
    let tokens = pair_of(&world, URL).await;
    let registrar = world.server.registrar().unwrap();
    registrar.suspend(&id()).await.unwrap();
    web.take();
    refused(&world, URL).await;
    assert!(!world.opens(&tokens.access).await);
    registrar.resume(&id()).await.unwrap();
    assert!(world.opens(&tokens.access).await && ask_for(&world, URL).await.is_ok());
    let version = registrar.application(&id()).await.unwrap().version();
    registrar.delete(&id(), version).await.unwrap();
    refused(&world, URL).await;
    assert_eq!(rows(&world).await, 0);
    // The id is reserved until the last token would have expired. Then it is a new client.
    world.advance(181 * 86_400);
    let again = pair_of(&world, URL).await;
    assert!(world.opens(&again.access).await);
    e400(&world.refresh_as(&client(URL), &tokens.refresh).await, "invalid_grant");
    assert_eq!(web.take().iter().filter(|asked| *asked != URL).count(), 0);
}

/// ADM-08
#[tokio::test]
async fn a_suspension_outlasts_the_registration() {
    let (world, _) = world().await;
    pair_of(&world, URL).await;
    let registrar = world.server.registrar().unwrap();
    registrar.suspend(&id()).await.unwrap();
    world.advance(3 * 365 * 86_400);
    for _ in 0..2 {
        let pending = ask_for(&world, URL).await.unwrap();
        let error = world.server.hold(&pending, &world.alice, SESSION).await.unwrap_err();
        support::world::page(&error.response(Some(&world.alice)));
        super::purge(&world).await;
    }
    assert_eq!(registrar.application(&id()).await.unwrap().state(), ClientState::Suspended);
}

/// CIMD-5-04
#[tokio::test]
async fn a_suspension_meanwhile_keeps_the_request_from_being_held() {
    let (world, _) = world().await;
    pair_of(&world, URL).await;
    let pending = ask_for(&world, URL).await.unwrap();
    world.server.registrar().unwrap().suspend(&id()).await.unwrap();
    let error = world.server.hold(&pending, &world.alice, SESSION).await.unwrap_err();
    support::world::page(&error.response(Some(&world.alice)));
}

/// CIMD-5-04
#[tokio::test]
async fn requests_that_are_held_at_once_store_one_row() {
    let (world, _) = world().await;
    let pending = ask_for(&world, URL).await.unwrap();
    let users: Vec<_> = (0..8).map(|number| Subject::new(format!("user-{number}")).unwrap()).collect();
    world.events.take();
    let held = users.iter().map(|user| world.server.hold(&pending, user, SESSION));
    assert!(futures::future::join_all(held).await.iter().all(Result::is_ok));
    assert_eq!(rows(&world).await, 1);
    let writes = world.events.take().iter().filter(|event| event.contains("DocumentStored")).count();
    assert_eq!(writes, 1);
    let response = world.post(Endpoint::Token, &[("grant_type", "refresh_token")]).client(&client(URL)).send().await;
    e400(&response, "invalid_request");
}
