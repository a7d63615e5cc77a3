//! Clients that replace their keys.

use grantor::client::AuthenticationMethods;
use grantor::config::Profile;
use grantor::hooks::ApproveWithin;
use grantor::wire::Endpoint;
use serde_json::{Value, json};

use super::{confidential, get, information, managed, put, registered, update_of};
use crate::key_registration::{by_key, with_keys};
use crate::rfc7591::{bounds, credentials, refused};
use support::keys::Signer;
use support::world::{World, r401};

async fn world() -> World {
    let mut config = managed(Profile::Mcp);
    with_keys(&mut config);
    World::built(config, |builder| builder.registration_policy(ApproveWithin::new(bounds()))).await
}

fn key(signer: &Signer) -> Value {
    json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [signer.jwk()]}})
}

async fn is_let_in(world: &World, client: &Value, signer: &Signer) -> bool {
    let id = client["client_id"].as_str().unwrap();
    by_key(world, Endpoint::Revocation, id, signer, &[("token", "none")]).await.status() == 200
}

/// 7591-2-20, 7592-2.2-01
#[tokio::test]
async fn an_update_replaces_the_keys() {
    let world = world().await;
    let (old, new) = (Signer::es256(), Signer::es256().another());
    let client = registered(&world, key(&old)).await;
    assert!(is_let_in(&world, &client, &old).await);
    let mut members = key(&new);
    members["token_endpoint_auth_signing_alg"] = "ES256".into();
    let answer = information(&put(&world, &client, &update_of(&client, members)).await);
    assert_eq!(
        (&answer["jwks"], &answer["token_endpoint_auth_signing_alg"]),
        (&json!({"keys": [new.jwk()]}), &json!("ES256"))
    );
    assert_eq!(get(&world, &client).await, answer);
    assert!(!is_let_in(&world, &client, &old).await && is_let_in(&world, &client, &new).await);
    let answer = information(&put(&world, &client, &update_of(&client, key(&new))).await);
    assert!(answer.get("token_endpoint_auth_signing_alg").is_none(), "what an update leaves out is gone");
    for members in
        [json!({"jwks": {"keys": []}}), json!({"jwks": null}), json!({"jwks_uri": "https://app.example.com/k"})]
    {
        let mut update = update_of(&client, key(&new));
        update.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        refused(&put(&world, &client, &update).await, 400, "invalid_client_metadata");
    }
    assert!(is_let_in(&world, &client, &new).await);
}

/// 7591-2-20, 7592-2.2-01
#[tokio::test]
async fn a_secret_gives_way_to_keys_and_keys_to_nothing() {
    let world = world().await;
    let client = confidential(&world).await;
    let secret = credentials(&client);
    let signer = Signer::es256();
    let answer = information(&put(&world, &client, &update_of(&client, key(&signer))).await);
    assert!(answer.get("client_secret").is_none());
    assert!(is_let_in(&world, &client, &signer).await);
    r401(&world.revoke_as(&secret, "none").await);
    let stored = world.server.client(&secret.client_id()).await.unwrap().unwrap();
    assert_eq!((stored.has_secret(), stored.form().authentication_methods), (false, AuthenticationMethods::KEY));
    for method in ["client_secret_basic", "client_secret_post", "none"] {
        let update = update_of(&client, json!({"token_endpoint_auth_method": method}));
        refused(&put(&world, &client, &update).await, 400, "invalid_client_metadata");
    }
    let public = registered(&world, json!({})).await;
    refused(&put(&world, &public, &update_of(&public, key(&signer))).await, 400, "invalid_client_metadata");
}
