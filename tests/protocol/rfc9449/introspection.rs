//! What introspection reports of DPoP-bound tokens [RFC 9449 section 6.2].

use grantor::config::DpopBoundTokens;
use serde_json::{Value, json};

use crate::interleaved::reconfigured;
use crate::rfc9449::{bound, bound_pair_of, proven, refresh_form, world};
use support::keys::Signer;

/// 9449-6.2-01
#[tokio::test]
async fn introspection_names_the_key_of_a_bound_token() {
    let world = world().await;
    let (key, other) = (Signer::ed25519(), Signer::es256());
    let old = bound_pair_of(&world, &world.client, &key).await;
    let shown = world.introspect_as(&world.client, &old.access).await;
    assert_eq!((&shown["token_type"], &shown["cnf"]), (&json!("DPoP"), &json!({"jkt": key.thumbprint()})));

    let unbound = world.introspect_as(&world.client, &world.pair().await.access).await;
    assert_eq!((&unbound["token_type"], &unbound["cnf"]), (&json!("bearer"), &Value::Null));

    let newer = bound(&proven(&world, &world.client, &refresh_form(&old.refresh), &other).await);
    for (token, key) in [(&old.access, &key), (&newer.access, &other)] {
        let shown = world.introspect_as(&world.client, token).await;
        assert_eq!(shown["cnf"], json!({"jkt": key.thumbprint()}), "each token has its own");
    }
    world.revoke(&newer.refresh).await;
    assert_eq!(world.introspect_as(&world.client, &newer.access).await, json!({"active": false}));
}

/// 9449-6.2-01, FAPI-5.3.2.1-05
#[tokio::test]
async fn an_unbound_token_is_inactive_where_all_have_to_be_bound() {
    let mut world = world().await;
    let key = Signer::es256();
    let bound = bound_pair_of(&world, &world.client, &key).await;
    let unbound = world.pair().await;
    assert_eq!(world.introspect_as(&world.client, &unbound.access).await["active"], true);
    assert!(world.opens(&unbound.access).await);
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Required);
    assert_eq!(world.introspect_as(&world.client, &unbound.access).await, json!({"active": false}));
    assert!(!world.opens(&unbound.access).await, "the check at a resource says the same");
    assert_eq!(world.introspect_as(&world.client, &bound.access).await["cnf"], json!({"jkt": key.thumbprint()}));
}
