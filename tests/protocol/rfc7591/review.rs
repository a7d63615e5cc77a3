//! Clients that await the review of a person.

use grantor::application::{ApplicationFilter, Field};
use grantor::client::ClientState;
use grantor::store::Page;
use grantor::{Approval, RegistrarError, Subject};
use serde_json::json;

use super::{credentials, id, public, purge, query, queueing, register, with, world};
use support::world::{PKCE, Reviewer, World, e401, logo, page, red};

const URI: &str = "https://app.example.com/cb";

async fn awaiting(world: &World) -> Vec<String> {
    let filter = ApplicationFilter::AwaitingReview;
    let listed = world.server.registrar().unwrap().list(&filter, Page::first(99)).await.unwrap();
    listed.iter().map(|application| application.id().to_string()).collect()
}

#[track_caller]
fn fields<T>(outcome: Result<T, RegistrarError>) -> Vec<Field> {
    match outcome {
        Err(RegistrarError::Invalid(errors)) => errors.iter().map(grantor::application::FieldError::field).collect(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// 7591-5-01
#[tokio::test]
async fn clients_without_an_owner_are_compared_with_each_other() {
    let world = queueing().await;
    let more = json!({"client_uri": "https://app.example.com/"});
    let described = || with(public(), more.clone());
    let [first, second] = [register(&world, described()).await, register(&world, described()).await];
    let registrar = world.server.registrar().unwrap();
    registrar.approve_now(&id(&first), Approval::default().logo(logo())).await.unwrap();
    for (asked, expected) in [(&first, vec![]), (&second, vec![id(&first)])] {
        let application = registrar.application(&id(asked)).await.unwrap();
        let alike = registrar.look_alikes(&application).await.unwrap();
        assert_eq!(alike.iter().map(|other| other.id().clone()).collect::<Vec<_>>(), expected);
    }
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_queued_client_awaits_the_review_of_all_applications() {
    let world = queueing().await;
    let more = json!({"client_uri": "https://app.example.com/", "contacts": ["ops@app.example.com"]});
    let answer = register(&world, with(public(), more)).await;
    let client = credentials(&answer);
    let refused = world.refused(&query(&world, &answer, URI, &[])).await;
    page(&refused);
    assert!(String::from_utf8_lossy(refused.body()).contains("awaits review"));
    e401(&world.refresh_as(&client, "rt_x").await, "invalid_client");

    assert_eq!(awaiting(&world).await.join(" "), client.id);
    let registrar = world.server.registrar().unwrap();
    let application = registrar.application(&id(&answer)).await.unwrap();
    assert_eq!(
        (application.form().name.as_str(), application.form().website.as_str()),
        ("App", "https://app.example.com/")
    );
    assert_eq!(application.more_metadata().unwrap().contacts, ["ops@app.example.com"]);
    assert!(application.is_unreviewed() && application.owner.as_ref().is_none());

    // The reviewer supplies what the form lacks.
    assert_eq!(fields(registrar.approve_now(&id(&answer), Approval::default()).await), [Field::Logo]);
    registrar.approve_now(&id(&answer), Approval::default().logo(logo())).await.unwrap();
    assert_eq!(awaiting(&world).await.join(" "), "");
    let pending = world.authorize(&query(&world, &answer, URI, &[])).await.unwrap();
    assert!(!pending.is_client_unreviewed() && pending.client().open().unwrap().is_reviewed);
    let token = world.pair_of(&client).await;
    assert!(world.opens(&token.access).await);
    // A reviewed client stays.
    world.advance(3 * 365 * 86_400);
    purge(&world).await;
    assert!(world.authorize(&query(&world, &answer, URI, &[])).await.is_ok());
}

/// 7591-3.2.1-02
#[tokio::test]
async fn the_reviewer_supplies_name_website_and_logo() {
    let world = queueing().await;
    let nameless = register(&world, json!({"redirect_uris": [URI]})).await;
    let registrar = world.server.registrar().unwrap();
    let approve = async |approval: Approval| registrar.approve_now(&id(&nameless), approval).await;
    assert_eq!(fields(approve(Approval::default()).await), [Field::Name, Field::Logo, Field::Website]);
    let named = Approval::default().name("Known App").logo(logo());
    assert_eq!(fields(approve(named.clone()).await), [Field::Website]);
    approve(named.website("https://app.example.com/").scopes("repo-code:r")).await.unwrap();
    let client = registrar.client(&id(&nameless)).await.unwrap();
    assert_eq!(
        (client.form().name.as_str(), client.form().website.as_str()),
        ("Known App", "https://app.example.com/")
    );
    // Fewer scopes than the bound were approved, and a request without `scope` asks for no more than those.
    let pending = world.authorize(&query(&world, &nameless, URI, &[])).await.unwrap();
    assert_eq!(pending.scopes().as_str(), "repo-code:r");
    red(&world.refused(&query(&world, &nameless, URI, &[("scope", "repo-issue:r")])).await, "invalid_scope");
    // The secret of the registration stays valid.
    world.exchange_as(&credentials(&nameless), &world.code_for(&query(&world, &nameless, URI, &[])).await).await;
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_client_that_a_policy_approved_can_be_reviewed_later() {
    let world = world().await;
    let answer = register(&world, with(public(), json!({"client_uri": "https://app.example.com/"}))).await;
    let token = world.pair_of(&credentials(&answer)).await;
    let registrar = world.server.registrar().unwrap();
    let approved = registrar.approve_now(&id(&answer), Approval::default().logo(logo())).await.unwrap();
    assert_eq!(approved.client_id, id(&answer));
    let pending = world.authorize(&query(&world, &answer, URI, &[])).await.unwrap();
    assert!(!pending.is_client_unreviewed());
    assert!(world.opens(&token.access).await);
    let again = registrar.approve_now(&id(&answer), Approval::default().logo(logo())).await;
    assert!(matches!(again, Err(RegistrarError::NothingProposed)));
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_rejected_client_stays_out() {
    let world = queueing().await;
    let answer = register(&world, public()).await;
    let registrar = world.server.registrar().unwrap();
    registrar.reject_now(&id(&answer), "unknown company").await.unwrap();
    assert_eq!(registrar.application(&id(&answer)).await.unwrap().state(), ClientState::Rejected);
    page(&world.refused(&world.query_of(&credentials(&answer), &PKCE)).await);
    world.advance(7 * 86_400);
    purge(&world).await;
    assert!(matches!(registrar.application(&id(&answer)).await, Err(RegistrarError::NotFound)));
}

/// ADM-08
#[tokio::test]
async fn administrators_take_their_steps_on_clients_that_registered_themselves() {
    let world = world().await;
    let answer = register(&world, public()).await;
    let (client, registrar) = (credentials(&answer), world.server.registrar().unwrap());
    let token = world.pair_of(&client).await;
    registrar.suspend(&id(&answer)).await.unwrap();
    assert!(!world.opens(&token.access).await);
    registrar.resume(&id(&answer)).await.unwrap();
    assert!(world.opens(&token.access).await);
    let version = registrar.application(&id(&answer)).await.unwrap().version();
    registrar.transfer(&id(&answer), version, Subject::new("developer").unwrap()).await.unwrap();
    assert!(registrar.application(&id(&answer)).await.unwrap().is_unreviewed());
    registrar.delete(&id(&answer), registrar.version_now(&id(&answer)).await).await.unwrap();
    assert!(!world.opens(&token.access).await);
    page(&world.refused(&query(&world, &answer, URI, &[])).await);
}
