//! Clients that register and manage themselves.

use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, Profile};
use grantor::hooks::ApproveWithin;
use grantor::scope::{ResourceScope, ScopeCatalog};
use serde_json::{Value, json};

use crate::adapters::trio::Trio;
use support::world::{SCOPES, World, config_of};
use support_servers::http::Request;

async fn world() -> World {
    let mut config = config_of(Profile::Platform);
    config.public_clients = true;
    config.registration.dynamic = DynamicRegistration::Open;
    config.registration.management = true;
    let scopes = ScopeCatalog::platform().parse(SCOPES.as_bytes()).unwrap();
    let policy = ApproveWithin::new(RegistrationBounds::new(scopes, ResourceScope::All));
    World::built(config, |builder| builder.registration_policy(policy)).await
}

fn json_to(method: &str, path: &str, body: &Value) -> Request {
    Request::new(method, path).header("Content-Type", "application/json").body(body.to_string())
}

/// HTTP-02, 7592-2-01
#[tokio::test]
async fn a_registration_is_made_and_managed() {
    let trio = Trio::of(world).await;
    let metadata = json!({"redirect_uris": ["https://app.example.com/cb"], "client_name": "App"});
    trio.answers(400, &Request::post("/oauth2/register", &[("x", "y")])).await;
    trio.answers(400, &json_to("POST", "/oauth2/register", &json!({}))).await;
    let client = trio.answers(201, &json_to("POST", "/oauth2/register", &metadata)).await.json();
    let path = client["registration_client_uri"].as_str().unwrap().strip_prefix("https://auth.example").unwrap();
    let token = client["registration_access_token"].as_str().unwrap();
    let mut update = metadata;
    update["client_id"] = client["client_id"].clone();
    trio.answer_all(&[
        (401, Request::get(path)),
        (401, Request::get(path).bearer("wrong")),
        (400, Request::get(path).header("Authorization", "Bearer a b")),
        (401, Request::get(format!("{path}x")).bearer(token)),
        (401, Request::get(format!("{path}%00")).bearer(token)),
        (401, Request::get("/oauth2/register/%2e").bearer(token)),
        (404, Request::get("/oauth2/register/").bearer(token)),
        (404, Request::get(format!("{path}/")).bearer(token)),
        (404, Request::get(format!("{path}/x")).bearer(token)),
        (200, Request::get(path).bearer(token)),
        (200, Request::get(path).query("x=%ff").bearer(token)),
        (400, json_to("PUT", path, &json!({})).bearer(token)),
        (413, json_to("PUT", path, &json!({"x": "y".repeat(trio.body_limit())})).bearer(token)),
        (200, json_to("PUT", path, &update).bearer(token)),
        (401, json_to("PUT", path, &update).bearer("wrong")),
    ])
    .await;
    for method in ["POST", "PATCH", "OPTIONS", "BREW"] {
        trio.answers(405, &Request::new(method, path).bearer(token)).await;
    }
    trio.answers(204, &Request::new("DELETE", path).bearer(token)).await;
    trio.answers(401, &Request::get(path).bearer(token)).await;
}
