//! pending → approved | rejected, approved ↔ suspended: the possible steps, and the effect of each state.

use std::slice;

use grantor::application::ApplicationFilter;
use grantor::client::{ClientState, Privileges};
use grantor::registration::Reduction;
use grantor::wire::Endpoint;
use grantor::{Approval, ClientId, Consent, Decision, Subject};

use crate::registration::{developer, registrar, submitted, submitted_as};
use support::world::{
    Credentials, PKCE, Reviewer as _, SESSION, With as _, World, code, e401, empty, form, ok, page, pair, public_form,
    r401, text, wa,
};

/// Brings a new application into a state.
async fn in_state(world: &World, state: ClientState) -> ClientId {
    let registrar = registrar(world);
    let id = submitted(world).await;
    if state == ClientState::Rejected {
        registrar.reject_now(&id, "no").await.unwrap();
    }
    if matches!(state, ClientState::Approved | ClientState::Suspended) {
        let _ = registrar.approve_now(&id, Approval::default()).await.unwrap();
    }
    if state == ClientState::Suspended {
        registrar.suspend(&id).await.unwrap();
    }
    assert_eq!(registrar.client(&id).await.unwrap().state(), state);
    id
}

const STATES: [ClientState; 4] =
    [ClientState::Pending, ClientState::Approved, ClientState::Rejected, ClientState::Suspended];

/// D-25, 7591-3.2.1-02, SVC-2.1-08
#[tokio::test]
async fn before_approval_an_application_can_neither_authorize_nor_get_tokens() {
    let world = World::platform().await;
    for form in [form(), public_form()] {
        let id = submitted_as(&world, form).await;
        let client = Credentials { id: id.to_string(), secret: String::new() };
        for rejected in [false, true] {
            if rejected {
                registrar(&world).reject_now(&id, "no").await.unwrap();
            }
            page(&world.refused(&world.query_of(&client, &PKCE)).await);
            e401(&world.exchange_as(&client, &world.code().await).await, "invalid_client");
            e401(&world.refresh_as(&client, &world.pair().await.refresh).await, "invalid_client");
            r401(&world.revoke_as(&client, "token").await);
        }
    }
}

/// What a client holds when it is suspended.
struct Held {
    pair: support::world::Pair,
    code: String,
    handle: String,
}

/// D-25, 6749-6-07, 6750-3.1-01
#[tokio::test]
async fn a_suspended_application_is_refused_everywhere_until_it_is_resumed() {
    let world = World::platform().await;
    let form = form().with(|form| form.grant_types = grantor::client::GrantTypes::NONE);
    let resource_server = world.register_as(form, Approval::default().may_introspect()).await;
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap().expose().to_owned();
    let held = Held { pair: world.pair().await, code: world.code().await, handle };
    let agree = async || {
        let agreed = Decision::Approve(Consent::to_everything());
        world.server.decide(&held.handle, &world.alice, SESSION, &agreed).await
    };

    registrar(&world).suspend(&world.client.client_id()).await.unwrap();
    page(&world.refused(&world.query(&PKCE)).await);
    page(&agree().await.unwrap_err().response(Some(&world.alice)));
    e401(&world.exchange(&held.code).await, "invalid_client");
    e401(&world.refresh(&held.pair.refresh).await, "invalid_client");
    r401(&world.revoke(&held.pair.access).await);
    r401(&world.revoke(&held.pair.refresh).await);
    let call = world.post(Endpoint::Introspection, &[("token", &held.pair.access)]);
    e401(&call.client(&world.client).send().await, "invalid_client");
    wa(world.access(&held.pair.access).await.unwrap_err(), 401, "invalid_token");
    let body = world.introspect_as(&resource_server, &held.pair.access).await;
    assert_eq!(body, serde_json::json!({ "active": false }));

    registrar(&world).resume(&world.client.client_id()).await.unwrap();
    code(&world.approve(&world.query(&PKCE)).await);
    let code = text(&code(&agree().await.unwrap()), "code");
    ok(&world.exchange(&code).await);
    ok(&world.exchange(&held.code).await);
    assert!(world.opens(&held.pair.access).await);
    let body = world.introspect_as(&resource_server, &held.pair.access).await;
    assert_eq!(body["active"], true);
    let next = pair(&world.refresh(&held.pair.refresh).await);
    empty(&world.revoke(&next.access).await);
    assert!(!world.opens(&next.access).await);
}

/// D-25
#[tokio::test]
async fn applications_are_listed_under_what_they_are() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let mut of_state = Vec::new();
    for state in STATES {
        of_state.push(in_state(&world, state).await);
    }
    let [pending, _, rejected, suspended] = &of_state[..] else { panic!() };
    let listed = async |filter: ApplicationFilter| {
        let applications = registrar.list(&filter, grantor::store::Page::first(100)).await.unwrap();
        applications.iter().map(|application| application.id().clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(ApplicationFilter::AwaitingReview).await, slice::from_ref(pending));
    assert_eq!(listed(ApplicationFilter::InState(ClientState::Rejected)).await, slice::from_ref(rejected));
    assert_eq!(listed(ApplicationFilter::InState(ClientState::Suspended)).await, slice::from_ref(suspended));
    assert_eq!(listed(ApplicationFilter::InState(ClientState::Approved)).await.len(), 2);
    let developer = ApplicationFilter::OwnedBy(Subject::new("developer").unwrap());
    assert_eq!(listed(developer).await, listed(ApplicationFilter::All).await);
    assert_eq!(listed(ApplicationFilter::OwnedBy(world.alice.clone())).await, []);

    registrar.change_now(suspended, form(), None).await.unwrap();
    let mut awaiting = [pending.clone(), suspended.clone()];
    awaiting.sort();
    assert_eq!(listed(ApplicationFilter::AwaitingReview).await, awaiting);
}

/// D-31, D-25, D-26, ADM-14
#[tokio::test]
async fn every_step_raises_its_event_and_a_refused_step_none() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    world.events.take();
    let id = submitted(&world).await;
    registrar.reject_now(&id, "no").await.unwrap();
    assert!(registrar.reject_now(&id, "no").await.is_err());
    registrar.change_now(&id, form(), None).await.unwrap();
    let _ = registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(registrar.approve_now(&id, Approval::default()).await.is_err());
    registrar.change_now(&id, form(), None).await.unwrap();
    registrar.reject_now(&id, "no").await.unwrap();
    registrar.change_now(&id, form(), None).await.unwrap();
    let _ = registrar.approve_now(&id, Approval::default()).await.unwrap();
    registrar.claim_now(&id).await.unwrap();
    assert!(registrar.claim_now(&id).await.is_err());
    registrar.rotate_now(&id).await.unwrap();
    registrar.retire_now(&id).await.unwrap();
    registrar.suspend(&id).await.unwrap();
    let acting = registrar.clone().with_actor(Subject::new("root").unwrap());
    acting.resume(&id).await.unwrap();
    assert!(registrar.resume(&id).await.is_err());
    registrar.revoke_grants(&id).await.unwrap();
    let version = async || registrar.client(&id).await.unwrap().version();
    let mut privileges = Privileges::default();
    privileges.trusted = true;
    acting.set_privileges(&id, version().await, privileges).await.unwrap();
    assert!(acting.set_privileges(&id, version().await.wrapping_add(1), privileges).await.is_err());
    acting.reduce(&id, version().await, Reduction::default().scopes("repo-code:r")).await.unwrap();
    assert!(acting.reduce(&id, version().await, Reduction::default().scopes("repo-code:rw")).await.is_err());
    acting.end_secrets(&id).await.unwrap();
    acting.transfer(&id, version().await, world.alice.clone()).await.unwrap();
    assert!(registrar.delete_own(&id, &developer(), version().await).await.is_err());
    registrar.delete_own(&id, &world.alice, version().await).await.unwrap();
    assert!(registrar.delete(&id, 1).await.is_err());
    let changes = [
        "Submitted",
        "Rejected",
        "Submitted",
        "Approved",
        "ChangeProposed",
        "ChangeRejected",
        "ChangeProposed",
        "ChangeApproved",
        "SecretClaimed",
        "SecretRotated",
        "PreviousSecretRevoked",
        "Suspended",
        "Resumed",
        "GrantsRevoked",
        "PrivilegesSet { old: Privileges { trusted: false, may_introspect: false, require_pkce: false, \
         refresh_rotation: None, ask_consent: Always }, new: Privileges { trusted: true, may_introspect: false, \
         require_pkce: false, refresh_rotation: None, ask_consent: Always } }",
        "Reduced",
        "SecretsEnded",
        "Transferred { from: Some(\"developer\"), to: \"alice\" }",
        "Deleted",
    ];
    let of_the_owner = ["Submitted", "ChangeProposed", "SecretClaimed", "SecretRotated", "PreviousSecretRevoked"];
    let expected: Vec<_> = changes
        .iter()
        .map(|change| {
            let actor = match *change {
                "Deleted" => "Some(\"alice\")",
                change if of_the_owner.contains(&change) => "Some(\"developer\")",
                "Resumed" | "Reduced" | "SecretsEnded" => "Some(\"root\")",
                change if change.starts_with("PrivilegesSet") || change.starts_with("Transferred") => "Some(\"root\")",
                _ => "None",
            };
            format!("Application {{ client: {id}, actor: {actor}, change: {change} }}")
        })
        .collect();
    assert_eq!(world.events.take(), expected);
}
