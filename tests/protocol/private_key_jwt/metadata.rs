//! What the server publishes about assertions.

use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::config::PushedRequests;
use grantor::wire::{Endpoint, Request};
use serde_json::{Value, json};

use super::Scene;

async fn metadata(scene: &Scene) -> Value {
    let response = scene.world.server.serve(Endpoint::Metadata, &Request::new("GET")).await;
    serde_json::from_slice(response.body()).unwrap()
}

const ENDPOINTS: [&str; 3] = ["token", "revocation", "introspection"];

/// 8414-2-05
#[tokio::test]
async fn methods_and_algorithms_come_and_go_together() {
    let both = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
    let three = json!(["client_secret_basic", "client_secret_post", "private_key_jwt"]);
    for (methods, rs256, published) in [
        (AuthenticationMethods::SECRET, false, json!(["client_secret_basic", "client_secret_post"])),
        (AuthenticationMethods::SECRET, true, json!(["client_secret_basic", "client_secret_post"])),
        (both, false, three.clone()),
        (both, true, three),
        (AuthenticationMethods::KEY, false, json!(["private_key_jwt"])),
    ] {
        let scene = Scene::with(|config| {
            (config.client_authentication.methods, config.client_authentication.rs256) = (methods, rs256)
        })
        .await;
        let document = metadata(&scene).await;
        for endpoint in ENDPOINTS {
            assert_eq!(document[format!("{endpoint}_endpoint_auth_methods_supported")], published);
            let algorithms = &document[format!("{endpoint}_endpoint_auth_signing_alg_values_supported")];
            let expected = match (methods.contains(AuthenticationMethod::PrivateKeyJwt), rs256) {
                (false, _) => Value::Null,
                (true, false) => json!(["ES256", "PS256", "EdDSA", "Ed25519"]),
                (true, true) => json!(["ES256", "PS256", "EdDSA", "Ed25519", "RS256"]),
            };
            assert_eq!(*algorithms, expected);
        }
        let lists = document.as_object().unwrap().keys().filter(|name| name.contains("_auth_signing_alg_values_"));
        assert_eq!(lists.count(), if methods.contains(AuthenticationMethod::PrivateKeyJwt) { 3 } else { 0 });
    }
}

/// 8414-2-05
///
/// With public clients, `none` is a method of endpoints that need only a `client_id`, and never an algorithm.
#[tokio::test]
async fn none_is_no_algorithm() {
    let scene = Scene::with(|config| config.public_clients = true).await;
    let document = metadata(&scene).await;
    let methods = json!(["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]);
    assert_eq!(document["token_endpoint_auth_methods_supported"], methods);
    for endpoint in ENDPOINTS {
        let algorithms = document[format!("{endpoint}_endpoint_auth_signing_alg_values_supported")].to_string();
        assert!(!algorithms.contains("none"), "{algorithms}");
    }
}

/// 8414-2-05
///
/// The lists of the token endpoint apply to the endpoint for pushed requests.
#[tokio::test]
async fn pushed_requests_have_no_list_of_their_own() {
    let scene = Scene::with(|config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let document = metadata(&scene).await;
    let of_pushes: Vec<_> = document.as_object().unwrap().keys().filter(|name| name.contains("pushed")).collect();
    assert_eq!(of_pushes, ["pushed_authorization_request_endpoint"]);
    let with_methods = |name: &&String| name.contains("_endpoint_auth_");
    assert_eq!(document.as_object().unwrap().keys().filter(with_methods).count(), 2 * ENDPOINTS.len());
}
