//! JWTs of a server at an API in a separate process.

use grantor::config::DpopBoundTokens;
use grantor::resource::{JwtSettings, JwtVerifier};
use grantor::wire::Request;
use grantor::{Config, MemoryStore, ResourceServer};

use super::{API, config};
use crate::rfc9449::at_resource::{PATH, proof_for};
use crate::rfc9449::{bound, bound_pair_of, proven, refresh_form};
use support::keys::Signer;
use support::to_server::ToServer;
use support::world::{World, pair};

/// A world whose server issues JWTs for the API by default.
async fn world(change: impl FnOnce(&mut Config)) -> World {
    let mut config = config();
    config.resources[0].is_default = true;
    change(&mut config);
    World::built(config, |builder| builder.signing_keys([Signer::es256().signing_key()])).await
}

fn verifier(world: &World) -> JwtVerifier {
    let settings = JwtSettings::of_server(world.server.config(), API);
    JwtVerifier::new(settings, ToServer(world.server.clone())).unwrap().with_clock(world.clock.clone())
}

/// 200, or the status of the response to a request with that scheme, token and proof.
async fn status(resource: &ResourceServer, scheme: &str, token: &str, proof: Option<&str>) -> u16 {
    let header = format!("{scheme} {token}");
    let bare = Request::new("GET").path(PATH).header("Authorization", header.as_bytes());
    let request = proof.iter().fold(bare, |request, proof| request.header("DPoP", proof.as_bytes()));
    resource.authenticate(&request).await.map_or_else(|error| error.into_response().status(), |_| 200)
}

/// 9068-SVC-02: with a lifetime of 300 s, a replaced token ends with the grace even where no store is asked.
#[tokio::test]
async fn a_replaced_token_is_refused_offline_after_300_s() {
    let world = world(|_| {}).await;
    let api = ResourceServer::jwt(world.server.config().clone(), verifier(&world)).unwrap();
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    for (at, expected) in [(0, 200), (299, 200), (300, 401)] {
        world.clock.set(grantor::Timestamp::from_seconds(support::world::START + at));
        assert_eq!(status(&api, "Bearer", &first.access, None).await, expected, "{at}");
    }
    let third = pair(&world.refresh(&second.refresh).await);
    assert_eq!(status(&api, "Bearer", &third.access, None).await, 200);
}

/// 9068-SVC-01, 9449-7.1-02: a proof is for one text of a token, and a pair in grace is signed again.
#[tokio::test]
async fn each_text_of_a_pair_needs_its_proof() {
    let world = world(|config| config.dpop.tokens = DpopBoundTokens::Optional).await;
    let config = world.server.config().clone();
    let api = ResourceServer::jwt_with_proofs(config, verifier(&world), MemoryStore::new()).unwrap();
    let key = Signer::fresh();
    let first = bound_pair_of(&world, &world.client, &key).await;
    let mut texts = Vec::new();
    for _ in 0..2 {
        let form = refresh_form(&first.refresh);
        texts.push(bound(&proven(&world, &world.client, &form, &key).await).access);
    }
    let [second, again] = &texts[..] else { panic!("two texts") };
    assert_ne!(second, again);
    let url = format!("{API}{PATH}");
    let proof = |key: &Signer, token: &str| proof_for(&world, key, token, "GET", &url);
    for (token, proof, expected) in [
        (again, Some(proof(&key, second)), 401),
        (second, Some(proof(&key, again)), 401),
        (again, Some(proof(&key.another(), again)), 401),
        (again, None, 401),
        (again, Some(proof(&key, again)), 200),
        (second, Some(proof(&key, second)), 200),
    ] {
        assert_eq!(status(&api, "DPoP", token, proof.as_deref()).await, expected, "{proof:?}");
    }
}

/// 9068-SVC-01, 9449-7.1-02
#[tokio::test]
async fn a_jwt_without_a_key_is_refused_where_proofs_are_required() {
    let world = world(|config| config.dpop.tokens = DpopBoundTokens::Optional).await;
    let unbound = world.pair().await.access;
    let key = Signer::fresh();
    let bound = bound_pair_of(&world, &world.client, &key).await.access;
    for (tokens, expected) in [(DpopBoundTokens::Optional, 200), (DpopBoundTokens::Required, 401)] {
        let mut config = world.server.config().clone();
        config.dpop.tokens = tokens;
        let api = ResourceServer::jwt_with_proofs(config, verifier(&world), MemoryStore::new()).unwrap();
        assert_eq!(status(&api, "Bearer", &unbound, None).await, expected, "{tokens:?}");
        let url = format!("{API}{PATH}");
        let proof = |token: &str| proof_for(&world, &key, token, "GET", &url);
        assert_eq!(status(&api, "DPoP", &unbound, Some(&proof(&unbound))).await, 401, "{tokens:?}");
        assert_eq!(status(&api, "DPoP", &bound, Some(&proof(&bound))).await, 200, "{tokens:?}");
    }
}
