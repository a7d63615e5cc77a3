//! What the consent page shows about a client with a document.

use grantor::client_metadata::RegistrationBounds;
use grantor::scope::ResourceScope;
use serde_json::json;

use super::{URI, URL, ask, ask_for, client, pair_of, query, scopes, with, world};
use support::world::{REDIRECT_URI, World, pair};

/// CIMD-8.5-01
#[tokio::test]
async fn the_page_learns_hosts_and_that_the_name_is_a_claim() {
    let (world, web) = world().await;
    let url = "https://xn--bcher-kva.example/c";
    web.publish(
        url,
        with(json!({
            "client_id": url,
            "redirect_uris": ["http://127.0.0.1/cb", "http://localhost/cb"],
            "logo_uri": "https://cdn.example/logo.png",
        })),
    );
    let pending = ask(&world, &query(&world, url, "http://127.0.0.1:5000/cb")).await.unwrap();
    assert_eq!(pending.client_id_host(), Some("xn--bcher-kva.example"));
    assert_eq!(pending.redirect_host(), "127.0.0.1");
    assert!(pending.is_client_unreviewed() && pending.is_loopback_only() && !pending.is_client_identity_assured());
    let pending = ask_for(&world, URL).await.unwrap();
    assert_eq!((pending.client_id_host(), pending.redirect_host()), (Some("client.example"), "client.example"));
    assert!(pending.is_client_unreviewed() && !pending.is_loopback_only() && !pending.is_client_identity_assured());
    // Other clients have no such host.
    let pending = ask(&world, &query(&world, &world.client.id, REDIRECT_URI)).await.unwrap();
    assert_eq!(pending.client_id_host(), None);
}

/// CIMD-8.4-01
#[tokio::test]
async fn the_digest_changes_with_what_a_user_consented_to() {
    let (world, web) = world().await;
    let tokens = pair_of(&world, URL).await;
    let digest = async || ask_for(&world, URL).await.unwrap().client_digest();
    let first = digest().await;
    let mut seen = vec![first];
    for (members, is_changed) in [
        (json!({}), false),
        (json!({"client_name": "Renamed", "contacts": ["a@client.example"]}), false),
        (json!({"redirect_uris": [URI, "http://localhost/"]}), true),
        (json!({"redirect_uris": ["http://localhost/", URI]}), false),
        (json!({"redirect_uris": [URI]}), true),
        (json!({"scope": "repo-code:r"}), true),
    ] {
        web.publish(URL, with(members.clone()));
        world.advance(3600);
        let next = digest().await;
        assert_eq!(next != *seen.last().unwrap(), is_changed, "{members}");
        seen.push(next);
    }
    assert_eq!(seen[5], first, "the digest is unchanged");
    assert_ne!(ask(&world, &query(&world, &world.client.id, REDIRECT_URI)).await.unwrap().client_digest(), first);
    // Existing grants stay valid after the document has changed.
    let pending = ask_for(&world, URL).await.unwrap();
    world.server.hold(&pending, &world.alice, super::SESSION).await.unwrap();
    pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
}

/// CIMD-8.4-01
#[tokio::test]
async fn a_client_that_authenticates_in_another_way_has_another_digest() {
    let world = World::mcp().await;
    let public = world.register(support::world::public_form()).await;
    let digest = async |id: &str| world.authorize(&query(&world, id, REDIRECT_URI)).await.unwrap().client_digest();
    assert_ne!(digest(&public.id).await, digest(&world.client.id).await);
}

/// NEG-OC-05
#[tokio::test]
async fn a_document_of_another_ones_client_is_never_authenticated_by_a_key() {
    let (world, web) = world().await;
    // Anyone can use the document of a well-known client, and listen on its loopback URI.
    web.publish(URL, with(json!({"redirect_uris": ["http://localhost/callback"]})));
    let asked = query(&world, URL, "http://localhost:6666/callback");
    for _ in 0..2 {
        let pending = ask(&world, &asked).await.unwrap();
        assert!(!pending.is_client_identity_assured(), "an earlier consent must not count");
        assert!(pending.is_loopback_only());
        assert_eq!((pending.client_id_host(), pending.redirect_host()), (Some("client.example"), "localhost"));
        let handle = world.server.hold(&pending, &world.alice, super::SESSION).await.unwrap();
        let approve = grantor::Decision::Approve(grantor::Consent::to_everything());
        world.server.decide(handle.expose(), &world.alice, super::SESSION, &approve).await.unwrap();
    }
}

/// 7591-5-03
#[tokio::test]
async fn the_bounds_of_the_policy_hold_for_documents() {
    let web = super::Web::with(URL, with(json!({"scope": "repo-code:rw repo-issue:rw"})));
    let reduce = RegistrationBounds::new(scopes("repo-code:r"), ResourceScope::Public);
    let world = World::built(super::on(), |builder| {
        builder.registration_policy(grantor::hooks::ApproveWithin::new(reduce)).fetcher(web.clone())
    });
    let world = world.await;
    let pending = ask_for(&world, URL).await.unwrap();
    assert_eq!((pending.scopes().as_str(), pending.resource_scope()), ("repo-code:r", &ResourceScope::Public));
    assert_eq!(pair_of(&world, URL).await.scope, "repo-code:r");
}
