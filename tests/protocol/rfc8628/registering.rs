//! Clients of devices that register themselves.

use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, Profile};
use grantor::hooks::ApproveWithin;
use grantor::wire::Endpoint;
use serde_json::{Value, json};

use super::{DEVICE_CODE, approved, asked_by, device_config, poll_call, typed};
use crate::rfc7591::bounds;
use support::attempts::Attempts;
use support::world::{Credentials, World, ok};

async fn open(on: bool, bounds: RegistrationBounds) -> World {
    let mut config = device_config(Profile::Mcp);
    config.registration.dynamic = DynamicRegistration::Open;
    config.devices.on = on;
    let policy = ApproveWithin::new(bounds);
    World::built(config, |builder| builder.throttle(Attempts::default()).registration_policy(policy)).await
}

async fn registered(world: &World, metadata: Value) -> (u16, Value) {
    let call = world.post(Endpoint::Registration, &[]).without_header("Content-Type");
    let call = call.header("Content-Type", b"application/json").raw_body(metadata.to_string());
    let response = call.send().await;
    (response.status(), serde_json::from_slice(response.body()).unwrap())
}

/// 8628-3.1-02, 7591-2-01
#[tokio::test]
async fn a_client_of_devices_registers_itself_without_a_redirect_uri() {
    let world = open(true, bounds().devices()).await;
    let metadata = json!({
        "client_name": "TV", "grant_types": [DEVICE_CODE, "refresh_token"], "response_types": [],
        "token_endpoint_auth_method": "none",
    });
    let (status, answer) = registered(&world, metadata.clone()).await;
    assert_eq!(status, 201, "{answer}");
    assert_eq!(answer["grant_types"], json!(["refresh_token", DEVICE_CODE]));
    assert!(answer.get("redirect_uris").is_none_or(|uris| uris == &json!([])), "{answer}");
    assert!(answer.get("response_types").is_none_or(|types| types == &json!([])), "{answer}");
    let client = Credentials { id: answer["client_id"].as_str().unwrap().to_owned(), secret: String::new() };
    let device = asked_by(&world, &client, &[]).await;
    let consent = typed(&world, &device.user_code).await;
    assert!(consent.pending().is_client_unreviewed() && !consent.pending().is_loopback_only());
    approved(&world, &consent).await;
    ok(&poll_call(&world, &client, &device.device_code).send().await);
    // With codes too, it needs one.
    let both = json!({"grant_types": [DEVICE_CODE, "authorization_code"], "token_endpoint_auth_method": "none"});
    let (status, answer) = registered(&world, both).await;
    assert_eq!((status, answer["error"].as_str()), (400, Some("invalid_redirect_uri")));
    // Where devices are off, or the policy does not admit them, nothing is left of it.
    let of_policy = (open(true, bounds()).await, "invalid_client_metadata");
    for (world, error) in [(open(false, bounds().devices()).await, "invalid_redirect_uri"), of_policy] {
        let (status, answer) = registered(&world, metadata.clone()).await;
        assert_eq!((status, &answer["error"]), (400, &json!(error)), "{answer}");
        let both = json!({
            "grant_types": [DEVICE_CODE, "authorization_code"], "token_endpoint_auth_method": "none",
            "redirect_uris": ["https://app.example.com/cb"],
        });
        let (status, answer) = registered(&world, both).await;
        assert_eq!((status, &answer["grant_types"]), (201, &json!(["authorization_code"])), "{answer}");
    }
}
