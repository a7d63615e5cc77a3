//! What a protected resource publishes about proofs [RFC 9728 section 2], and which URLs it may have.

use grantor::config::{DpopBoundTokens, Profile};
use grantor::protected_resource::ProtectedResource;
use grantor::wire::{Endpoint, Request};
use grantor::{AuthorizationServer, MemoryStore};
use serde_json::{Value, json};

use support::world::{ISSUER, config_of};

/// 9728-2-11
#[tokio::test]
async fn the_metadata_of_a_resource_names_the_algorithms_of_proofs() {
    let algorithms = json!(["ES256", "PS256", "EdDSA", "Ed25519"]);
    for (setting, expected) in [
        (DpopBoundTokens::Off, [Value::Null, Value::Null]),
        (DpopBoundTokens::Optional, [algorithms.clone(), Value::Null]),
        (DpopBoundTokens::Required, [algorithms.clone(), json!(true)]),
    ] {
        let mut config = config_of(Profile::Platform);
        config.dpop.tokens = setting;
        config.resources = vec![ProtectedResource::new(format!("{ISSUER}/api"), "API")];
        let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
        let request = Request::new("GET").path("/.well-known/oauth-protected-resource/api");
        let answer = server.serve(Endpoint::ResourceMetadata, &request).await;
        let document: Value = serde_json::from_slice(answer.body()).unwrap();
        let members = ["dpop_signing_alg_values_supported", "dpop_bound_access_tokens_required"];
        assert_eq!(members.map(|name| document[name].clone()), expected, "{setting:?}");
    }
}
