//! Clients with documents that await review.

use std::time::Duration;

use grantor::application::{ApplicationFilter, LogoSlot};
use grantor::client::ClientState;
use grantor::hooks::{QueueAll, RegistrationDecision};
use grantor::store::Page;
use grantor::{Application, Approval, Client, Consent, Decision, RegistrarError};
use serde_json::{Value, json};

use super::policy::Moody;
use super::{
    SESSION, URI, URL, Web, ask_for, bounds, client, document, id, on, pair_of, purge, query, queueing, refusal,
    refused, with,
};
use crate::rfc8707::{at, own_scopes, resource};
use support::world::{Reviewer, World, e401, logo, page, pair, wa};

const A: &str = "https://a.example/mcp";
const B: &str = "https://b.example/mcp";

pub(super) async fn awaiting(world: &World) -> Vec<String> {
    let filter = ApplicationFilter::AwaitingReview;
    let listed = world.server.registrar().unwrap().list(&filter, Page::first(99)).await.unwrap();
    listed.iter().map(|application| application.id().to_string()).collect()
}

async fn awaits(world: &World) {
    let shown = refused(world, URL).await;
    assert!(String::from_utf8_lossy(shown.body()).contains("awaits review"));
}

/// A person decided against the client as it is.
async fn refuses(world: &World) {
    let shown = refused(world, URL).await;
    assert!(!String::from_utf8_lossy(shown.body()).contains("awaits review"), "{shown:?}");
}

/// The document changes, and the next visit submits the change to the review.
async fn queue_change(world: &World, web: &Web, members: Value) {
    web.publish(URL, with(members));
    world.advance(3600);
    awaits(world).await;
}

fn approval() -> Approval {
    Approval::default().website("https://client.example/").logo(logo())
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_queued_document_awaits_review_and_is_used_then() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    assert_eq!(awaiting(&world).await, [URL]);
    let registrar = world.server.registrar().unwrap();
    let version = registrar.application(&id()).await.unwrap().version();
    awaits(&world).await;
    assert_eq!(registrar.application(&id()).await.unwrap().version(), version, "it is written once");
    e401(&world.refresh_as(&client(URL), "rt_x").await, "invalid_client");
    registrar.approve_now(&id(), approval()).await.unwrap();
    assert_eq!(awaiting(&world).await, [""; 0]);
    let pending = ask_for(&world, URL).await.unwrap();
    assert!(!pending.is_client_unreviewed() && pending.client_id_host() == Some("client.example"));
    pair_of(&world, URL).await;
    // A reviewed client stays, and its document is still read.
    world.advance(3 * 365 * 86_400);
    purge(&world).await;
    web.take();
    assert!(ask_for(&world, URL).await.is_ok());
    assert_eq!(web.count(), 1);
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_document_that_changes_while_it_awaits_review_is_reviewed_as_it_is() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    let registrar = world.server.registrar().unwrap();
    let seen = registrar.application(&id()).await.unwrap().version();
    queue_change(&world, &web, json!({"client_name": "Other"})).await;
    let outdated = registrar.approve(&id(), seen, approval()).await;
    assert!(matches!(outdated, Err(RegistrarError::ChangedMeanwhile)));
    assert_eq!(registrar.application(&id()).await.unwrap().form().name, "Other");
}

/// 7591-3.2.1-02
///
/// Nor does a request that is refused for itself. It goes to no client that nobody has approved.
#[tokio::test]
async fn a_check_of_a_request_submits_nothing_to_the_review() {
    let (world, _web) = queueing().await;
    let pending = ask_for(&world, URL).await.unwrap();
    assert!(pending.is_client_unreviewed());
    let without_page = world.server.step(&pending, Some(&world.alice), SESSION).await;
    assert!(without_page.unwrap().response().is_none());
    let wrong = query(&world, URL, URI).replace("response_type=code", "response_type=token");
    let shown = refusal(&world, &wrong).await;
    page(&shown);
    assert!(!String::from_utf8_lossy(shown.body()).contains("client.example"), "{shown:?}");
    assert!(world.server.client(&id()).await.unwrap().is_none(), "nothing is stored");
    assert_eq!(awaiting(&world).await, [""; 0]);
    awaits(&world).await;
    assert_eq!(awaiting(&world).await, [URL]);
}

/// CIMD-8.4-01
#[tokio::test]
async fn a_changed_document_awaits_review_and_grants_go_on() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    let registrar = world.server.registrar().unwrap();
    registrar.approve_now(&id(), approval()).await.unwrap();
    let tokens = pair_of(&world, URL).await;
    // Members that the server ignores change nothing.
    web.publish(URL, with(json!({"unknown": 1})));
    world.advance(3600);
    assert!(!ask_for(&world, URL).await.unwrap().is_client_unreviewed());

    let changed = json!({"redirect_uris": [URI, "https://client.example/new"], "scope": "repo-code:r"});
    queue_change(&world, &web, changed).await;
    assert_eq!(awaiting(&world).await, [URL]);
    let application = registrar.application(&id()).await.unwrap();
    assert_eq!((application.form().redirect_uris.len(), application.state()), (1, ClientState::Approved));
    assert_eq!(application.proposed.as_ref().unwrap().redirect_uris.len(), 2);
    let tokens = pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
    assert!(world.opens(&tokens.access).await);

    // After a rejection, the reviewer is not asked again until the document changes.
    registrar.reject_now(&id(), "another host").await.unwrap();
    refuses(&world).await;
    assert_eq!(awaiting(&world).await, [""; 0]);
    let changed = json!({"redirect_uris": [URI, "http://localhost/"], "scope": "repo-code:r"});
    queue_change(&world, &web, changed).await;
    registrar.approve_now(&id(), approval()).await.unwrap();
    let pending = ask_for(&world, URL).await.unwrap();
    assert!(!pending.is_client_unreviewed());
    assert_eq!((pending.client().form().redirect_uris.len(), pending.scopes().as_str()), (2, "repo-code:r"));
    world.advance(200 * 86_400);
    purge(&world).await;
    assert!(world.server.client(&id()).await.unwrap().is_some(), "it is reviewed again");
}

/// 7591-5-03, CIMD-8.4-01
///
/// The policy admits another resource for the changed document.
#[tokio::test]
async fn resources_of_a_change_count_from_its_approval() {
    let (world, web, policy) = moody().await;
    let admits = |own| queue_for(&policy, own);
    let registrar = world.server.registrar().unwrap();
    admits(A);
    awaits(&world).await;
    registrar.approve_now(&id(), approval()).await.unwrap();
    let mut tokens = pair_of(&world, URL).await;
    admits(B);
    for name in ["Other", "Another"] {
        queue_change(&world, &web, json!({ "client_name": name })).await;
        tokens = pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
        assert!(at(&world, A, &tokens.access).await.is_ok(), "{name}");
        let application = registrar.application(&id()).await.unwrap();
        assert_eq!(application.client().open().unwrap().resources, Some([A.into()].into()), "{name}");
        // The reviewer sees what the approval puts in force.
        assert_eq!(application.proposed_registration().unwrap().resources, Some([B.into()].into()), "{name}");
        if name == "Other" {
            registrar.reject_now(&id(), "no").await.unwrap();
            assert!(at(&world, A, &tokens.access).await.is_ok(), "rejected");
        }
    }
    registrar.approve_now(&id(), approval()).await.unwrap();
    wa(at(&world, A, &tokens.access).await.unwrap_err(), 401, "invalid_token");
    let token = pair_of(&world, URL).await.access;
    assert!(at(&world, B, &token).await.is_ok());
}

/// Returns a world whose policy a test changes, with two protected resources.
async fn moody() -> (World, Web, Moody) {
    let (web, policy) = (Web::with(URL, document()), Moody::new());
    let mut config = on();
    config.scopes = own_scopes();
    config.resources = [A, B].map(|identifier| resource(identifier, &[])).to_vec();
    let policies = policy.clone();
    let world = World::built(config, |builder| builder.registration_policy(policies).fetcher(web.clone())).await;
    (world, web, policy)
}

/// 7591-2-08, CIMD-8.4-01
#[tokio::test]
async fn default_scopes_and_links_of_a_change_await_approval() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    let registrar = world.server.registrar().unwrap();
    registrar.approve_now(&id(), approval()).await.unwrap();
    let read = async || registrar.application(&id()).await.unwrap();
    let open = |application: &Application| application.client().open().unwrap().clone();
    let before = read().await;
    assert_eq!((before.proposed_registration(), before.proposed_more_metadata()), (None, None));
    let terms = "https://elsewhere.example/terms";
    queue_change(&world, &web, json!({"scope": "repo-code:r", "tos_uri": terms})).await;
    let queued = read().await;
    assert_eq!((open(&queued), queued.more_metadata()), (open(&before), before.more_metadata()));
    let shown = queued.proposed_registration().unwrap();
    assert_eq!((shown.default_scopes.as_str(), shown.has_foreign_links), ("repo-code:r", true));
    assert_eq!(queued.proposed_more_metadata().unwrap().tos_uri.as_deref(), Some(terms));
    registrar.approve_now(&id(), approval()).await.unwrap();
    let approved = read().await;
    assert_eq!((open(&approved), approved.more_metadata()), (shown, queued.proposed_more_metadata()));
    assert_eq!((approved.proposed_registration(), approved.proposed_more_metadata()), (None, None));
    assert_eq!(ask_for(&world, URL).await.unwrap().scopes().as_str(), "repo-code:r");
}

fn queue_for(policy: &Moody, identifier: &str) {
    policy.set(true, RegistrationDecision::Queue(bounds().resources([identifier])));
}

/// 7591-5-03, CIMD-8.4-01
///
/// The policy queues the change for one request, and approves it for the next.
#[tokio::test]
async fn a_policy_puts_a_queued_change_wholly_in_force() {
    let (web, policy) = (Web::with(URL, document()), Moody::new());
    let policies = policy.clone();
    let world = World::built(on(), |builder| builder.registration_policy(policies).fetcher(web.clone())).await;
    pair_of(&world, URL).await;
    policy.set(true, RegistrationDecision::Queue(bounds()));
    let website = "https://elsewhere.example/";
    queue_change(&world, &web, json!({"client_name": "Other", "client_uri": website})).await;
    let shown = |client: &Client| {
        let (form, open) = (client.form(), client.open().unwrap());
        (form.name.clone(), form.website.clone(), open.has_foreign_links)
    };
    let stored = async || world.server.client(&id()).await.unwrap().unwrap();
    assert_eq!(shown(&*stored().await), ("App".to_owned(), String::new(), false));
    policy.set(true, RegistrationDecision::Approve(bounds()));
    let pending = ask_for(&world, URL).await.unwrap();
    let other = ("Other".to_owned(), website.to_owned(), true);
    assert_eq!(shown(pending.client()), other);
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    assert_eq!(shown(&*stored().await), other);
    assert_eq!(awaiting(&world).await, [""; 0]);
}

/// 7591-5-06, CIMD-8.4-01
///
/// The policy has a lifetime, and the reviewer takes longer.
#[tokio::test]
async fn a_queued_change_ends_no_reviewed_registration() {
    let web = Web::with(URL, document());
    let policy = QueueAll::new(bounds().lifetime(Duration::from_secs(30 * 86_400)));
    let world = World::built(on(), |builder| builder.registration_policy(policy).fetcher(web.clone())).await;
    awaits(&world).await;
    let registrar = world.server.registrar().unwrap();
    registrar.approve_now(&id(), approval()).await.unwrap();
    let tokens = pair_of(&world, URL).await;
    queue_change(&world, &web, json!({"client_name": "Other"})).await;
    world.advance(31 * 86_400);
    purge(&world).await;
    let tokens = pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
    registrar.approve_now(&id(), approval()).await.unwrap();
    assert!(world.opens(&tokens.access).await);
    assert_eq!(ask_for(&world, URL).await.unwrap().client().form().name, "Other");
}

/// CIMD-8.4-01
#[tokio::test]
async fn a_rejected_change_leaves_nothing_behind() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    let registrar = world.server.registrar().unwrap();
    registrar.approve_now(&id(), approval()).await.unwrap();
    let read = async || {
        let application = registrar.application(&id()).await.unwrap();
        let logo = registrar.logo(&id(), LogoSlot::InForce).await.unwrap();
        let more = application.more_metadata().cloned();
        (application.form().clone(), application.client().open().cloned(), more, logo)
    };
    let before = read().await;
    assert!(before.3.is_some());
    web.publish(URL, with(json!({"client_name": "Other", "tos_uri": "https://elsewhere.example/terms"})));
    world.advance(3600);
    for _ in 0..2 {
        awaits(&world).await;
        assert_eq!(read().await, before);
    }
    registrar.reject_now(&id(), "another host").await.unwrap();
    assert_eq!(read().await, before);
    refuses(&world).await;
    assert_eq!(awaiting(&world).await, [""; 0], "it is not proposed again");
    // The publisher returns to the version that the reviewer approved.
    web.publish(URL, document());
    world.advance(3600);
    assert!(!ask_for(&world, URL).await.unwrap().is_client_unreviewed());
}

/// 7591-5-03, CIMD-8.4-01
///
/// The owner of a client with a document submits a change while that of the document awaits review.
#[tokio::test]
async fn an_owners_change_is_approved_as_it_was_shown() {
    let (world, web, policy) = moody().await;
    let registrar = world.server.registrar().unwrap();
    queue_for(&policy, A);
    awaits(&world).await;
    registrar.approve_now(&id(), approval()).await.unwrap();
    let version = registrar.application(&id()).await.unwrap().version();
    registrar.transfer(&id(), version, world.alice.clone()).await.unwrap();
    queue_for(&policy, B);
    queue_change(&world, &web, json!({"client_name": "Other", "tos_uri": "https://elsewhere.example/terms"})).await;
    let application = registrar.application(&id()).await.unwrap();
    let mut own = application.form().to_form(&world.server.config().scopes);
    own.name = "Own".to_owned();
    registrar.change(&id(), &world.alice, own, None).await.unwrap();
    // The visit of another user does not put the document's change in its place.
    awaits(&world).await;
    registrar.approve_now(&id(), approval()).await.unwrap();
    let approved = registrar.application(&id()).await.unwrap();
    assert_eq!(approved.form().name, "Own");
    let open = approved.client().open().unwrap();
    assert_eq!(open.resources, Some([A.into()].into()));
    assert_eq!((open.has_foreign_links, approved.more_metadata().unwrap().tos_uri.as_deref()), (false, None));
    // The document still has to be reviewed.
    awaits(&world).await;
    assert_eq!(awaiting(&world).await, [URL]);
    assert_eq!(registrar.application(&id()).await.unwrap().proposed.as_ref().unwrap().name, "Other");
}

/// CIMD-8.4-01
///
/// A change that the publisher has taken back can no longer be approved, once a request is held.
#[tokio::test]
async fn a_change_that_was_taken_back_awaits_no_review() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    let registrar = world.server.registrar().unwrap();
    registrar.approve_now(&id(), approval()).await.unwrap();
    queue_change(&world, &web, json!({"client_name": "Other"})).await;
    let version = registrar.application(&id()).await.unwrap().version();
    web.publish(URL, document());
    world.advance(3600);
    let pending = ask_for(&world, URL).await.unwrap();
    assert!(!pending.is_client_unreviewed());
    assert_eq!(registrar.application(&id()).await.unwrap().version(), version, "a check of a request stores nothing");
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    assert_eq!(awaiting(&world).await, [""; 0]);
    let late = registrar.approve(&id(), version, approval()).await.unwrap_err();
    assert!(matches!(late, RegistrarError::NothingProposed), "{late:?}");
}

/// CIMD-8.4-01
///
/// What a person rejected is not put in force by a policy that approves it for someone else.
#[tokio::test]
async fn a_policy_does_not_overrule_a_rejection() {
    let (world, web, policy) = moody().await;
    let registrar = world.server.registrar().unwrap();
    queue_for(&policy, A);
    awaits(&world).await;
    registrar.approve_now(&id(), approval()).await.unwrap();
    queue_change(&world, &web, json!({"client_name": "Other"})).await;
    registrar.reject_now(&id(), "another name").await.unwrap();
    let before = registrar.application(&id()).await.unwrap();
    policy.set(true, RegistrationDecision::Approve(bounds().resources([A])));
    let pending = ask_for(&world, URL).await.unwrap();
    let refused = world.server.hold(&pending, &world.alice, SESSION).await.unwrap_err();
    page(&refused.response(Some(&world.alice)));
    assert_eq!(registrar.application(&id()).await.unwrap(), before);
}

/// CIMD-8.4-01
///
/// A policy that approves the next change must not find them.
#[tokio::test]
async fn privileges_end_with_the_review_that_gave_them() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    world.server.registrar().unwrap().approve_now(&id(), approval().trusted()).await.unwrap();
    assert!(world.server.client(&id()).await.unwrap().unwrap().privileges().trusted);
    queue_change(&world, &web, json!({"client_name": "Other"})).await;
    assert!(!world.server.client(&id()).await.unwrap().unwrap().privileges().trusted);
}

/// CIMD-8.4-01
#[tokio::test]
async fn a_client_that_lost_its_review_is_kept_while_its_grants_live() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    world.server.registrar().unwrap().approve_now(&id(), approval()).await.unwrap();
    world.advance(30 * 86_400);
    let tokens = pair_of(&world, URL).await;
    queue_change(&world, &web, json!({"client_name": "Other"})).await;
    world.advance(179 * 86_400);
    purge(&world).await;
    pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
}

/// CIMD-8.4-01
///
/// The policy's lifetime is shorter than the time since the registration.
#[tokio::test]
async fn a_client_that_lost_its_review_does_not_end_at_once() {
    let web = Web::with(URL, document());
    let policy = QueueAll::new(bounds().lifetime(Duration::from_secs(30 * 86_400)));
    let world = World::built(on(), |builder| builder.registration_policy(policy).fetcher(web.clone())).await;
    awaits(&world).await;
    world.server.registrar().unwrap().approve_now(&id(), approval()).await.unwrap();
    world.advance(40 * 86_400);
    let tokens = pair_of(&world, URL).await;
    for name in ["Other", "Another"] {
        queue_change(&world, &web, json!({ "client_name": name })).await;
    }
    let tokens = pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
    assert!(world.opens(&tokens.access).await);
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_rejected_document_stays_out_until_it_is_forgotten() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    world.server.registrar().unwrap().reject_now(&id(), "unknown company").await.unwrap();
    web.take();
    let shown = refused(&world, URL).await;
    assert!(!String::from_utf8_lossy(shown.body()).contains("awaits review"));
    assert_eq!(web.count(), 0);
    world.advance(7 * 86_400);
    awaits(&world).await;
    assert_eq!(awaiting(&world).await, [URL]);
}

/// CIMD-8.4-01
#[tokio::test]
async fn a_request_that_was_held_before_the_change_is_decided_as_it_was_shown() {
    let (world, web) = queueing().await;
    awaits(&world).await;
    world.server.registrar().unwrap().approve_now(&id(), approval()).await.unwrap();
    world.advance(3500);
    let pending = ask_for(&world, URL).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let new = "https://client.example/new";
    web.publish(URL, with(json!({"redirect_uris": [new]})));
    world.advance(100);
    let shown = refusal(&world, &query(&world, URL, new)).await;
    assert!(String::from_utf8_lossy(shown.body()).contains("awaits review"));
    assert_eq!(awaiting(&world).await, [URL]);
    let approve = Decision::Approve(Consent::to_everything());
    assert!(world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.is_ok());
}
