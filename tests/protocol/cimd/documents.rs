//! What a document may contain, and which requests it admits.

use grantor::client::AuthenticationMethod;
use serde_json::{Value, json};

use super::{URI, URL, Web, ask, ask_for, client, on, pair_of, query, refusal, refused, with, world, world_with};
use support::world::{PKCE, page, red_by_link};

/// CIMD-4.1-01
#[tokio::test]
async fn a_document_with_a_secret_or_another_id_is_refused() {
    let (world, web) = world().await;
    for members in [
        json!({"client_id": "https://client.example:443/oauth/client.json"}),
        json!({"client_id": null}),
        json!({"client_secret": "x"}),
        json!({"client_secret_expires_at": 0}),
        json!({"token_endpoint_auth_method": "client_secret_basic"}),
        json!({"token_endpoint_auth_method": "client_secret_post"}),
        json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        json!({"jwks": {"keys": [{"kty": "oct", "k": "x"}]}}),
        json!({"jwks": {"keys": [{"kty": "EC", "d": "x"}]}}),
    ] {
        web.publish(URL, with(members));
        refused(&world, URL).await;
    }
}

/// CIMD-4-03
#[tokio::test]
async fn a_document_makes_a_public_client_of_what_is_offered() {
    let (world, web) = world().await;
    for members in [json!({"redirect_uris": null}), json!({"redirect_uris": []}), json!({"client_name": null})] {
        web.publish(URL, with(members));
        refused(&world, URL).await;
    }
    web.publish(
        URL,
        with(json!({
            "redirect_uris": [URI, "cursor://x/cb"],
            "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
        })),
    );
    let pending = ask_for(&world, URL).await.unwrap();
    let methods: Vec<_> = pending.client().form().authentication_methods.iter().collect();
    assert_eq!(methods, [AuthenticationMethod::None]);
    assert_eq!(
        (pending.client().form().redirect_uris.len(), pending.client().form().grant_types.iter().count()),
        (1, 1)
    );
    page(&refusal(&world, &query(&world, URL, "cursor://x/cb")).await);
    let tokens = pair_of(&world, URL).await;
    assert_eq!(tokens.refresh, "", "it did not ask for refresh");
}

/// CIMD-4-03
#[tokio::test]
async fn no_decorative_member_refuses_a_document() {
    let (world, web) = world().await;
    web.publish(
        URL,
        with(json!({
            "client_name": format!(" {}", "x".repeat(58)),
            "client_uri": "/",
            "logo_uri": "data:image/png;base64,AA==",
            "contacts": "a@client.example",
            "software_version": 2,
        })),
    );
    let pending = ask_for(&world, URL).await.unwrap();
    let form = pending.client().form();
    assert_eq!((form.name.as_str(), form.website.as_str()), (&*format!("{}\u{2026}", "x".repeat(49)), ""));
    let other = "https://client.example/oauth/other.json";
    for dangerous in [json!({"client_name": "a\u{202e}b"}), json!({"tos_uri": "javascript:x"})] {
        let mut document = with(dangerous);
        document["client_id"] = json!(other);
        web.publish(other, document);
        refused(&world, other).await;
    }
}

/// CIMD-8.2-02, RC-GPT-01
#[tokio::test]
async fn a_document_that_asks_for_keys_is_refused() {
    let chatgpt = with(json!({
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "RS256",
        "jwks_uri": "https://client.example/jwks.json",
        "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
    }));
    let web = Web::with(URL, chatgpt);
    let mut config = on();
    config.registration.none_beside_private_key_jwt = false;
    refused(&world_with(config, &web).await, URL).await;
    pair_of(&world_with(on(), &web).await, URL).await;
    assert!(web.take().iter().all(|asked| asked == URL), "its keys are not fetched");
}

/// CIMD-4.4-01
#[tokio::test]
async fn redirect_uris_are_compared_exactly() {
    let (world, _) = world().await;
    for uri in ["https://client.example/other", "https://client.example/cb/", "https://client.example:443/cb"] {
        page(&refusal(&world, &query(&world, URL, uri)).await);
    }
}

/// CIMD-4.2-01
#[tokio::test]
async fn the_port_is_free_on_the_loopback() {
    let (world, web) = world().await;
    let uris = json!(["http://localhost/callback", "http://[::1]:33418/cb"]);
    web.publish(URL, with(json!({"redirect_uris": uris})));
    for uri in ["http://localhost/callback", "http://localhost:58135/callback", "http://[::1]:60005/cb"] {
        assert_eq!(ask(&world, &query(&world, URL, uri)).await.unwrap().redirect_uri().unwrap().as_str(), uri);
    }
    for uri in ["http://127.0.0.1:58135/callback", "http://localhost:58135/other"] {
        page(&refusal(&world, &query(&world, URL, uri)).await);
    }
}

/// RC-CL-01, NEG-OC-08
#[tokio::test]
async fn documents_of_known_clients_sign_in_with_any_port() {
    let shapes: [(Value, &str); 3] = [
        (
            json!({
                "client_name": "Claude Code",
                "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }),
            "http://localhost:58135/callback",
        ),
        (
            json!({
                "client_name": "opencode",
                "application_type": "native",
                "redirect_uris": ["http://127.0.0.1/mcp/oauth/callback"],
            }),
            "http://127.0.0.1:19876/mcp/oauth/callback",
        ),
        (
            json!({
                "client_name": "Codex",
                "client_uri": "https://client.example",
                "logo_uri": "https://client.example/logo.svg",
                "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
                "response_types": ["code"],
                "scope": "repo-code:r unknown",
            }),
            "http://127.0.0.1:1455/callback",
        ),
    ];
    for (number, (members, uri)) in shapes.into_iter().enumerate() {
        let (world, web) = world().await;
        let url = format!("https://client.example/{number}");
        let mut document = with(members);
        document["client_id"] = url.clone().into();
        web.publish(&url, document);
        let pending = ask(&world, &query(&world, &url, uri)).await.unwrap();
        for registered in &pending.client().form().redirect_uris {
            assert!(ask(&world, &query(&world, &url, registered.as_str())).await.is_ok(), "{registered:?}");
        }
        assert!(world.server.hold(&pending, &world.alice, super::SESSION).await.is_ok());
    }
}

/// CIMD-4-03, 7591-2-08
#[tokio::test]
async fn the_scope_of_a_document_is_what_a_request_without_one_asks_for() {
    let (world, web) = world().await;
    web.publish(URL, with(json!({"scope": "repo-code:r unknown"})));
    assert_eq!(ask_for(&world, URL).await.unwrap().scopes().as_str(), "repo-code:r");
    let asked = |scope: &str| world.query_of(&client(URL), &[&PKCE[..], &[("scope", scope)]].concat());
    assert_eq!(ask(&world, &asked("repo-issue:rw")).await.unwrap().scopes().as_str(), "repo-issue:rw");
    red_by_link(&refusal(&world, &asked("repo-delete:rw")).await, 400, "invalid_scope");
    // Every client with a document needs PKCE.
    let bare = world.query_of(&client(URL), &[("redirect_uri", URI)]);
    red_by_link(&refusal(&world, &bare).await, 400, "invalid_request");
}
