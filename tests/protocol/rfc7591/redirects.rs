//! Errors for clients that nobody reviewed: a page comes before the redirect [RFC 9700 section 4.11.2].

use grantor::config::Profile;
use grantor::{Approval, Decision};
use serde_json::{Value, json};

use super::{bounds, credentials, id, open, public, query, register, with, world_with};
use support::world::{Credentials, PKCE, Reviewer as _, World, logo, red, red_by_link, text};

const URI: &str = "https://app.example.com/cb";

/// Faulty requests of the client, each with its error.
fn faulty(world: &World, client: &Credentials, uri: &str) -> Vec<(String, &'static str)> {
    let of = |more: &[(&str, &str)]| world.query_of(client, &[&[("redirect_uri", uri)], more].concat());
    let with_pkce = |more: &[(&str, &str)]| of(&[&PKCE[..], more].concat());
    vec![
        (with_pkce(&[("scope", "unknown:r")]), "invalid_scope"),
        (with_pkce(&[]).replace("response_type=code", "response_type=token"), "unsupported_response_type"),
        (of(&[]), "invalid_request"),
        (of(&[("code_challenge", "x")]), "invalid_request"),
    ]
}

async fn client(world: &World, uri: &str) -> Value {
    let website = json!({"redirect_uris": [uri], "client_uri": "https://app.example.com/"});
    register(world, with(public(), website)).await
}

/// 6749-4.1.2.1-01, 6749-4.1.2.1-03, 7591-5-03, 9700-4.11.2-01
#[tokio::test]
async fn an_error_of_an_unreviewed_client_is_a_page_with_one_link() {
    let world = world_with(open(Profile::Mcp), bounds()).await;
    let own = client(&world, URI).await;
    for (query, error) in faulty(&world, &credentials(&own), URI) {
        let page = world.refused(&query).await;
        red_by_link(&page, 400, error);
        assert!(String::from_utf8_lossy(page.body()).contains("<strong>app.example.com</strong>"));
        assert!(page.header("Content-Security-Policy").unwrap().contains("default-src 'none'"));
        // Without a user there is no link.
        let error = world.authorize(&query).await.unwrap_err();
        assert!(error.needs_sign_in());
        assert!(!String::from_utf8_lossy(error.response(None).body()).contains("href"));
    }
    let state = "<script>\"'&amp;</script>";
    let denied = world.decide(&query(&world, &own, URI, &[("state", state)]), Decision::Deny).await;
    assert_eq!(text(&red_by_link(&denied, 200, "access_denied"), "state"), state);
    let page = String::from_utf8_lossy(denied.body()).into_owned();
    assert!(
        !page.contains("<script") && page.contains("&amp;state=") && page.contains(">Continue to app.example.com<")
    );
    // A code goes to the client without a page: its user has just allowed that.
    assert_eq!(
        world.approve(&query(&world, &own, URI, &[])).await.header("Location").map(|to| to.starts_with(URI)),
        Some(true)
    );
}

/// 9700-4.11.2-01
#[tokio::test]
async fn loopback_and_reviewed_clients_get_their_errors_at_once() {
    let world = world_with(open(Profile::Mcp), bounds()).await;
    let loopback = "http://127.0.0.1:51004/cb";
    let native = client(&world, loopback).await;
    for (query, error) in faulty(&world, &credentials(&native), loopback) {
        red(&world.refused(&query).await, error);
    }
    red(&world.decide(&query(&world, &native, loopback, &[]), Decision::Deny).await, "access_denied");

    let own = client(&world, URI).await;
    let approval = Approval::default().logo(logo());
    world.server.registrar().unwrap().approve_now(&id(&own), approval).await.unwrap();
    for (query, error) in faulty(&world, &credentials(&own), URI) {
        red(&world.refused(&query).await, error);
    }
    red(&world.decide(&query(&world, &own, URI, &[]), Decision::Deny).await, "access_denied");
}
