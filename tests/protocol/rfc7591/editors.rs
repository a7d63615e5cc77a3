//! The registrations that editors send, with the members that matter here.

use grantor::config::Profile;
use grantor::redirect_uri::PrivateUseSchemes;
use serde_json::{Value, json};

use super::{bounds, credentials, open, post, query, refused, register, with, world, world_with};
use support::world::{VERIFIER, World, ok, page};

const CURSOR: &str = "cursor://anysphere.cursor-mcp/oauth/callback";

/// The registration of VS Code, which then uses another port.
fn vs_code() -> Value {
    json!({
        "client_name": "Visual Studio Code",
        "client_uri": "https://code.visualstudio.com",
        "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        "response_types": ["code"],
        "redirect_uris": [
            "https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect",
            "http://127.0.0.1/", "http://127.0.0.1:33418/",
        ],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    })
}

/// The registration of Cursor: on the desktop only with its own scheme, elsewhere with other URIs too.
fn cursor(redirect_uris: Value) -> Value {
    json!({
        "client_name": "Cursor",
        "redirect_uris": redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })
}

fn both() -> Value {
    json!([CURSOR, "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"])
}

/// RC-IDE-01
#[tokio::test]
async fn vs_code_comes_with_another_port() {
    let world = world().await;
    let answer = register(&world, vs_code()).await;
    assert_eq!(answer["redirect_uris"], vs_code()["redirect_uris"]);
    assert_eq!(answer["grant_types"], json!(["authorization_code", "refresh_token"]));
    for uri in ["http://127.0.0.1:59656/", "http://127.0.0.1:33418/", "https://vscode.dev/redirect"] {
        signs_in(&world, &answer, uri).await;
    }
    page(&world.refused(&query(&world, &answer, "http://127.0.0.1:59656/other", &[])).await);
}

/// RC-IDE-01
#[tokio::test]
async fn cursor_signs_in_where_its_scheme_is_named() {
    let mut config = open(Profile::Mcp);
    config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()]);
    let world = world_with(config, bounds()).await;
    for (uris, sent) in [(json!([CURSOR]), json!("web")), (json!([CURSOR]), Value::Null), (both(), json!("web"))] {
        let answer = register(&world, with(cursor(uris.clone()), json!({ "application_type": sent }))).await;
        assert_eq!((&answer["redirect_uris"], &answer["application_type"]), (&uris, &json!("native")));
        signs_in(&world, &answer, CURSOR).await;
        page(&world.refused(&query(&world, &answer, "cursor://anysphere.cursor-mcp/other", &[])).await);
    }
}

/// RC-IDE-01, NEG-OC-07
#[tokio::test]
async fn cursor_keeps_its_other_redirect_uris_where_its_scheme_is_not_named() {
    let world = world().await;
    refused(&post(&world, cursor(json!([CURSOR])).to_string()).await, 400, "invalid_redirect_uri");
    let answer = register(&world, cursor(both())).await;
    assert_eq!(answer["redirect_uris"].as_array().unwrap().len(), 2);
    assert!(!answer["redirect_uris"].as_array().unwrap().contains(&json!(CURSOR)));
    page(&world.refused(&query(&world, &answer, CURSOR, &[])).await);
    signs_in(&world, &answer, "http://localhost:8787/callback").await;
}

/// The whole flow with that redirect URI.
async fn signs_in(world: &World, answer: &Value, uri: &str) {
    let code = world.code_for(&query(world, answer, uri, &[])).await;
    let form = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
    ok(&world.token(&form).field("redirect_uri", uri).client(&credentials(answer)).send().await);
}
