//! What the server says about itself.

use serde_json::{Value, json};
use support_servers::http::Request;

use crate::fapi::fixture::{ISSUER, all};

/// FAPI-SUITE-01, FAPI-5.3.2.1-01, FAPI-5.3.2.1-03, FAPI-5.3.2.1-06, FAPI-CC-01
/// `discovery-end-point-verification`
#[tokio::test]
async fn the_metadata_has_what_the_profile_asks_for() {
    all(async |fixture| {
        let answer = Request::get("/.well-known/oauth-authorization-server").send_to(fixture.address).await;
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").unwrap().starts_with("application/json"));
        let metadata = answer.json();
        let endpoints = [
            ("authorization_endpoint", "/oauth2/auth"),
            ("token_endpoint", "/oauth2/token"),
            ("pushed_authorization_request_endpoint", "/oauth2/par"),
        ];
        for (member, path) in endpoints {
            assert_eq!(metadata[member], format!("{ISSUER}{path}"));
        }
        let algorithms = json!(["ES256", "PS256", "EdDSA", "Ed25519"]);
        for (member, value) in [
            ("issuer", json!(ISSUER)),
            ("response_types_supported", json!(["code"])),
            ("code_challenge_methods_supported", json!(["S256"])),
            ("authorization_response_iss_parameter_supported", json!(true)),
            ("require_pushed_authorization_requests", json!(true)),
            ("token_endpoint_auth_methods_supported", json!(["private_key_jwt"])),
            ("token_endpoint_auth_signing_alg_values_supported", algorithms.clone()),
            ("dpop_signing_alg_values_supported", algorithms),
            ("grant_types_supported", json!(["authorization_code", "refresh_token", "client_credentials"])),
            ("jwks_uri", Value::Null),
            ("request_parameter_supported", Value::Null),
        ] {
            assert_eq!(metadata[member], value, "{member}");
        }
        for (member, value) in metadata.as_object().unwrap() {
            let is_url = value.as_str().filter(|text| text.contains("://"));
            assert!(is_url.is_none_or(|url| url.starts_with(ISSUER)), "{member}: {value}");
        }
    })
    .await;
}
