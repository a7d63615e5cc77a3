//! What an update replaces, and what it cannot.

use grantor::Approval;
use grantor::application::ApplicationFilter;
use grantor::client_metadata::RegistrationBounds;
use grantor::registration::Reduction;
use grantor::scope::ResourceScope;
use grantor::store::Page;
use serde_json::{Value, json};

use super::{
    confidential, get, information, own, put, queueing, queueing_updates, registered, token, update_of, world,
    world_with,
};
use crate::rfc7591::{credentials, id, purge, query, refused, scopes};
use support::world::{Reviewer, World, logo, page, pair, red_by_link};

const URI: &str = "https://app.example.com/cb";
const NEW: &str = "https://app.example.com/new";

async fn awaiting(world: &World) -> usize {
    let registrar = world.server.registrar().unwrap();
    registrar.list(&ApplicationFilter::AwaitingReview, Page::first(99)).await.unwrap().len()
}

/// 7592-2.2-01
#[tokio::test]
async fn an_update_replaces_all_metadata() {
    let world = world().await;
    let more =
        json!({"client_uri": "https://app.example.com/", "contacts": ["ops@app.example.com"], "scope": "repo-code:r"});
    let client = registered(&world, more).await;
    let token_before = world.pair_of(&credentials(&client)).await;
    world.advance(10);
    world.events.take();
    let update = update_of(&client, json!({"client_name": "New", "redirect_uris": [NEW], "software_id": "x"}));
    let answer = information(&put(&world, &client, &update).await);
    assert!(world.events.take().iter().any(|event| event.contains("Updated")));
    let expected = json!({
        "client_id": client["client_id"],
        "client_id_issued_at": client["client_id_issued_at"],
        "registration_client_uri": client["registration_client_uri"],
        "registration_access_token": client["registration_access_token"],
        "client_name": "New",
        "redirect_uris": [NEW],
        "software_id": "x",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "web",
        "scope": "repo-code:rw repo-issue:rw account-profile:r",
    });
    assert_eq!(answer, expected);
    assert_eq!(get(&world, &client).await, expected);
    page(&world.refused(&query(&world, &client, URI, &[])).await);
    assert!(world.authorize(&query(&world, &client, NEW, &[])).await.is_ok());
    // Existing grants stay valid, and the client's end is unchanged.
    assert!(world.opens(&token_before.access).await);
    pair(&world.refresh_as(&credentials(&client), &token_before.refresh).await);
    world.advance(8 * 86_400);
    purge(&world).await;
    assert_eq!(get(&world, &client).await, expected);
}

/// 7592-2.2-01
#[tokio::test]
async fn an_update_names_its_client_and_proves_its_secret() {
    let world = world().await;
    let client = confidential(&world).await;
    let of = |members: Value| {
        let mut update =
            update_of(&client, json!({"token_endpoint_auth_method": "client_secret_post", "client_name": "New"}));
        update.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        update
    };
    for fault in [
        json!({"client_id": "another"}),
        json!({"client_id": null}),
        json!({"registration_access_token": token(&client)}),
        json!({"registration_client_uri": client["registration_client_uri"]}),
        json!({"client_secret_expires_at": 0}),
        json!({"client_id_issued_at": 1}),
        json!({"client_secret": "chosen by the client, and 32 characters long"}),
    ] {
        refused(&put(&world, &client, &of(fault)).await, 400, "invalid_request");
    }
    assert_eq!(get(&world, &client).await["client_name"], "App");
    let answer = information(&put(&world, &client, &of(json!({"client_secret": client["client_secret"]}))).await);
    assert_eq!(
        (&answer["client_name"], &answer["token_endpoint_auth_method"]),
        (&json!("New"), &json!("client_secret_post"))
    );
    assert!(answer.get("client_secret").is_none());
    // The secret stays valid.
    let code = world.code_for(&query(&world, &client, URI, &[])).await;
    let form = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", support::world::VERIFIER)];
    pair(&world.token(&form).form_secret(&credentials(&client)).send().await);
}

/// 7592-2.2-02
#[tokio::test]
async fn an_update_is_judged_as_a_registration() {
    let world = world().await;
    let client = registered(&world, json!({})).await;
    for (fault, status, error) in [
        (json!({"redirect_uris": ["javascript:alert(1)"]}), 400, "invalid_redirect_uri"),
        (json!({"redirect_uris": []}), 400, "invalid_redirect_uri"),
        (json!({"grant_types": ["password"]}), 400, "invalid_client_metadata"),
        (json!({"client_name": "a\u{202e}b"}), 400, "invalid_client_metadata"),
        (json!({"scope": "repo-delete:rw"}), 400, "invalid_client_metadata"),
        // A public client cannot get a secret, and a confidential one cannot drop its secret.
        (json!({"token_endpoint_auth_method": "client_secret_basic"}), 400, "invalid_client_metadata"),
        (json!({"token_endpoint_auth_method": null}), 400, "invalid_client_metadata"),
        (json!({"x": "y".repeat(17_000)}), 413, "invalid_request"),
    ] {
        refused(&put(&world, &client, &update_of(&client, fault)).await, status, error);
    }
    let before = get(&world, &client).await;
    let body = update_of(&client, json!({})).to_string();
    let header = format!("Bearer {}", token(&client));
    let path = format!("/oauth2/register/{}", client["client_id"].as_str().unwrap());
    let form = grantor::wire::Request::new("PUT").path(&path).header("Authorization", header.as_bytes());
    let form = form.header("Content-Type", b"application/x-www-form-urlencoded");
    let form = form.body(grantor::wire::Body::Bytes(body.as_bytes()));
    refused(
        &world.server.serve(grantor::wire::Endpoint::ClientConfiguration, &form).await,
        400,
        "invalid_client_metadata",
    );
    assert_eq!(get(&world, &client).await, before);
    // A name that looks like a reviewed one is flagged again.
    let named = update_of(&client, json!({"client_name": "Ex\u{430}mple App", "client_uri": "https://other.example/"}));
    information(&put(&world, &client, &named).await);
    let stored = world.server.client(&id(&client)).await.unwrap().unwrap();
    assert!(stored.open().unwrap().looks_like_another && stored.open().unwrap().has_foreign_links);
    assert!(stored.is_unreviewed());
}

/// 7592-2.2-02, 7591-5-03
#[tokio::test]
async fn an_update_extends_no_bound() {
    let reduce = RegistrationBounds::new(scopes("repo-code:r"), ResourceScope::Public).without_loopback();
    let mut world = world_with(reduce.resources(["https://a.example"])).await;
    let client = registered(&world, json!({})).await;
    // The operator has extended the policy after the registration.
    let builder =
        grantor::AuthorizationServer::builder(super::managed(grantor::config::Profile::Mcp), world.store.clone());
    let policy = grantor::hooks::ApproveWithin::new(crate::rfc7591::bounds());
    let entropy = grantor::testing::SeededEntropy::new(9);
    world.server = builder.clock(world.clock.clone()).entropy(entropy).registration_policy(policy).build().unwrap();
    let wide = json!({"scope": "repo-code:rw repo-issue:rw", "redirect_uris": [URI, "http://127.0.0.1/"]});
    let answer = information(&put(&world, &client, &update_of(&client, wide)).await);
    assert_eq!((&answer["scope"], &answer["redirect_uris"]), (&json!("repo-code:r"), &json!([URI])));
    red_by_link(
        &world.refused(&query(&world, &client, URI, &[("scope", "repo-issue:rw")])).await,
        400,
        "invalid_scope",
    );
    let stored = world.server.client(&id(&client)).await.unwrap().unwrap();
    assert_eq!(stored.form().resource_scope, ResourceScope::Public);
    assert_eq!(stored.open().unwrap().resources, Some(["https://a.example"].map(Box::from).into()));
}

/// 7592-2.2-02
#[tokio::test]
async fn an_update_does_not_postpone_the_end() {
    let bounds = crate::rfc7591::bounds().lifetime(std::time::Duration::from_secs(3600));
    let world = world_with(bounds).await;
    let client = registered(&world, json!({})).await;
    world.advance(3000);
    information(&put(&world, &client, &update_of(&client, json!({"client_name": "New"}))).await);
    world.advance(599);
    assert_eq!(get(&world, &client).await["client_name"], "New");
    world.advance(1);
    super::unauthorized(&own(&world, "GET", &client, &Value::Null).await, Some("invalid_token"));
}

/// 7592-2.2-02
#[tokio::test]
async fn the_approved_version_stays_in_force_while_an_update_is_queued() {
    let world = queueing_updates().await;
    let client = registered(&world, json!({"scope": "repo-code:r"})).await;
    let before = get(&world, &client).await;
    let update = |name: &str| {
        let members = json!({"client_name": name, "redirect_uris": [NEW], "scope": "repo-issue:r", "software_id": "x"});
        update_of(&client, members)
    };
    let answer = information(&put(&world, &client, &update("New")).await);
    assert_eq!((&answer, awaiting(&world).await), (&before, 1));
    assert!(world.authorize(&query(&world, &client, URI, &[])).await.is_ok());
    page(&world.refused(&query(&world, &client, NEW, &[])).await);
    // Another update replaces the first one.
    information(&put(&world, &client, &update("Newer")).await);
    let registrar = world.server.registrar().unwrap();
    let application = registrar.application(&id(&client)).await.unwrap();
    assert_eq!(application.proposed.as_ref().unwrap().name, "Newer");

    // A rejected update changes nothing.
    registrar.reject_now(&id(&client), "no").await.unwrap();
    assert_eq!((get(&world, &client).await, awaiting(&world).await), (before, 0));
    information(&put(&world, &client, &update("Newest")).await);
    let approval = Approval::default().logo(logo()).website("https://app.example.com/");
    registrar.approve_now(&id(&client), approval).await.unwrap();
    let after = get(&world, &client).await;
    assert_eq!((&after["client_name"], &after["redirect_uris"]), (&json!("Newest"), &json!([NEW])));
    assert_eq!((&after["scope"], &after["software_id"]), (&json!("repo-issue:r"), &json!("x")));
    page(&world.refused(&query(&world, &client, URI, &[])).await);
    let pending = world.authorize(&query(&world, &client, NEW, &[])).await.unwrap();
    assert!(!pending.is_client_unreviewed());
    refused(&put(&world, &client, &update("Refused")).await, 400, "invalid_client_metadata");
    assert_eq!(awaiting(&world).await, 0);
}

/// 7592-2.2-02
#[tokio::test]
async fn the_submission_of_a_queued_client_can_be_replaced() {
    let world = queueing().await;
    let client = registered(&world, json!({})).await;
    let answer = information(&put(&world, &client, &update_of(&client, json!({"client_name": "New"}))).await);
    assert_eq!((&answer["client_name"], awaiting(&world).await), (&json!("New"), 1));
    page(&world.refused(&query(&world, &client, URI, &[])).await);
    let registrar = world.server.registrar().unwrap();
    let approval = Approval::default().logo(logo()).website("https://app.example.com/");
    registrar.approve_now(&id(&client), approval).await.unwrap();
    assert_eq!(registrar.client(&id(&client)).await.unwrap().form().name, "New");
    assert_eq!(own(&world, "DELETE", &client, &Value::Null).await.status(), 204);
}

/// 7592-2.2-02
/// The policy approves immediately, but a person has reviewed or reduced these clients before.
#[tokio::test]
async fn what_a_person_decided_is_changed_with_a_person_alone() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let reviewed = registered(&world, json!({"client_uri": "https://app.example.com/"})).await;
    registrar.approve_now(&id(&reviewed), Approval::default().logo(logo())).await.unwrap();
    let reduced = registered(&world, json!({"redirect_uris": [URI, NEW]})).await;
    let reducing = Reduction::default().redirect_uris([URI]).scopes("repo-code:r");
    registrar.reduce(&id(&reduced), registrar.version_now(&id(&reduced)).await, reducing).await.unwrap();
    for client in [&reviewed, &reduced] {
        let name = registrar.client(&id(client)).await.unwrap().form().name.to_owned();
        let before = awaiting(&world).await;
        let members = json!({"client_name": "Other", "redirect_uris": [NEW], "client_uri": "https://app.example.com/"});
        information(&put(&world, client, &update_of(client, members)).await);
        assert_eq!(
            (registrar.client(&id(client)).await.unwrap().form().name.as_str(), awaiting(&world).await),
            (&*name, before + 1)
        );
        page(&world.refused(&query(&world, client, NEW, &[])).await);
    }
    // A person can approve the update, and scopes that an administrator removed are not restored.
    registrar.approve_now(&id(&reviewed), Approval::default()).await.unwrap();
    assert!(world.authorize(&query(&world, &reviewed, NEW, &[])).await.is_ok());
    registrar.approve_now(&id(&reduced), Approval::default().logo(logo())).await.unwrap();
    let left = registrar.client(&id(&reduced)).await.unwrap();
    assert_eq!(left.form().scopes.as_str(), "repo-code:r");
    // A reviewed client keeps its application type.
    let native = update_of(&reviewed, json!({"redirect_uris": ["http://127.0.0.1/"]}));
    refused(&put(&world, &reviewed, &native).await, 400, "invalid_client_metadata");
}

/// 7592-2.2-02
/// A use that is recorded meanwhile is not a conflict.
#[tokio::test]
async fn an_update_and_a_use_are_both_kept() {
    let world = world().await;
    let client = registered(&world, json!({})).await;
    let update = update_of(&client, json!({"client_name": "New"}));
    let own = credentials(&client);
    let (updated, _) = futures::join!(put(&world, &client, &update), world.pair_of(&own));
    information(&updated);
    world.advance(8 * 86_400);
    purge(&world).await;
    assert_eq!(get(&world, &client).await["client_name"], "New");
}

/// 7592-2.2-02, NEG-OC-08
#[tokio::test]
async fn an_update_of_any_bytes_is_refused_or_works() {
    let world = world().await;
    let client = registered(&world, json!({"scope": "repo-code:r"})).await;
    let uris = json!([URI, "http://127.0.0.1:8787/cb", "com.example.app:/cb"]);
    let full =
        update_of(&client, json!({"redirect_uris": uris, "scope": "repo-issue:rw", "contacts": ["a@b.example"]}));
    let (mut draws, mut updated) = (crate::rfc7591::answer::Draws(7), 0);
    for _ in 0..2000 {
        let mut body = full.to_string().into_bytes();
        draws.vary(&mut body);
        let address = &client["registration_client_uri"];
        let response = super::call(&world, "PUT", address, token(&client), &body).await;
        if response.status() == 400 {
            let error: Value = serde_json::from_slice(response.body()).unwrap();
            let known = ["invalid_request", "invalid_redirect_uri", "invalid_client_metadata"];
            assert!(known.iter().any(|code| error["error"] == *code), "{error}");
            continue;
        }
        let answer = information(&response);
        assert_eq!(get(&world, &client).await, answer);
        assert_eq!(answer["client_id"], client["client_id"]);
        for uri in answer["redirect_uris"].as_array().unwrap() {
            let query = query(&world, &client, uri.as_str().unwrap(), &[]);
            assert!(world.authorize(&query).await.is_ok(), "{uri} of {}", body.escape_ascii());
        }
        updated += 1;
    }
    assert!(updated > 200, "{updated}");
}
