//! The key set, and how keys change [RFC 7517 section 5].

use grantor::Timestamp;
use grantor::config::Profile;

use super::*;
use support::world::{ISSUER, START};

fn second() -> SigningKey {
    SigningKey::from_pkcs8(SigningAlgorithm::EdDsa, include_bytes!("../../data/keys/ed25519-1.pk8")).unwrap()
}

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_seconds(START + seconds)
}

async fn metadata(world: &World) -> Value {
    let response = world.server.serve(Endpoint::Metadata, &Request::new("GET")).await;
    serde_json::from_slice(response.body()).unwrap()
}

/// 7517-5-01
#[tokio::test]
async fn the_public_keys_are_published() {
    let rsa = SigningKey::from_pkcs8(SigningAlgorithm::Rs256, include_bytes!("../../data/keys/rsa-1.pk8")).unwrap();
    let world = built(config(), |builder| builder.signing_keys([es256(), second(), rsa])).await;
    for method in ["GET", "HEAD"] {
        let response = world.server.serve(Endpoint::Jwks, &Request::new(method)).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.header("Content-Type"), Some("application/jwk-set+json"));
        assert_eq!(response.header("Cache-Control"), Some("public, max-age=300"));
        let set: Value = serde_json::from_slice(response.body()).unwrap();
        let expected = [Signer::es256(), Signer::ed25519(), Signer::rs256()].map(|signer| {
            let kid = signer.thumbprint();
            let mut key = signer.named(&kid).jwk_with_algorithm();
            key["use"] = "sig".into();
            key
        });
        assert_eq!(set, json!({ "keys": expected }));
    }
    let response = world.server.serve(Endpoint::Jwks, &Request::new("POST")).await;
    assert_eq!((response.status(), response.header("Allow")), (405, Some("GET, HEAD")));
    assert_eq!(metadata(&world).await["jwks_uri"], format!("{ISSUER}/oauth2/jwks"));
    assert_eq!(world.server.paths(Endpoint::Jwks), ["/oauth2/jwks"]);
}

/// 7517-5-01
#[tokio::test]
async fn without_jwts_there_is_no_key_set() {
    let world = World::with(Profile::Mcp, |_| {}).await;
    assert_eq!(key_set(&world).await.status(), 404);
    assert!(metadata(&world).await["jwks_uri"].is_null());
    assert!(world.server.paths(Endpoint::Jwks).is_empty());
}

/// 7517-5-02
#[tokio::test]
async fn servers_switch_to_the_next_key_by_the_clock() {
    // Published from the start, signs from 600 s on; the old one is published until its last token has expired.
    let old = es256().published_until(at(600 + 300 + 60));
    let keys = [old, second().signs_from(at(600))];
    let [old_id, new_id] = keys.clone().map(|key| key.key_id().to_owned());
    let world = built(config(), |builder| builder.signing_keys(keys)).await;
    // An API that keeps the key set for 300 s, and all tokens.
    let mut kept = (0, published(&world).await);
    let mut tokens: Vec<(u32, String)> = Vec::new();
    for second in (0..1200).step_by(20) {
        let token = token(&world).await;
        let kid = parts(&token)[0]["kid"].as_str().unwrap().to_owned();
        assert_eq!(kid, if second < 600 { &*old_id } else { &*new_id }, "{second}");
        tokens.push((second, token));
        if second >= kept.0 + 300 {
            kept = (second, published(&world).await);
        }
        for (issued, token) in tokens.iter().filter(|(issued, _)| second < issued + 300) {
            let kid = parts(token)[0]["kid"].as_str().unwrap().to_owned();
            assert!(kept.1.contains(&kid), "issued at {issued}, at {second}");
            assert!(opens(&world, A, token).await, "issued at {issued}, at {second}");
        }
        world.advance(20);
    }
    assert_eq!(published(&world).await, [new_id]);
}

/// 7517-5-02
#[tokio::test]
async fn a_dropped_key_is_refused_at_once() {
    let keys = [es256(), second().signs_from(at(600))];
    let [old_id, new_id] = keys.clone().map(|key| key.key_id().to_owned());
    let world = built(config(), |builder| builder.signing_keys(keys)).await;
    let first = pair(&world.exchange(&world.code().await).await);
    assert!(!world.server.drop_key("another") && opens(&world, A, &first.access).await);
    assert!(world.server.clone().drop_key(&old_id), "clones share it");
    assert!(!world.server.drop_key(&old_id), "it was dropped before");
    assert_eq!(published(&world).await, std::slice::from_ref(&new_id));
    assert!(!opens(&world, A, &first.access).await);
    assert_eq!(introspected(&world, &world.client, &first.access).await, inactive());
    // Nothing signs until the next key begins. The refresh token is not lost by that.
    assert_eq!(world.refresh(&first.refresh).await.status(), 503);
    world.advance(600);
    let second = pair(&world.refresh(&first.refresh).await);
    assert_eq!(parts(&second.access)[0]["kid"], new_id);
    assert!(opens(&world, A, &second.access).await);
}

/// 7517-5-02, 9068-SVC-01
#[tokio::test]
async fn a_log_out_with_a_token_of_a_dropped_key_ends_it() {
    let mut config = config();
    config.revocation.access_token = grantor::config::AccessTokenRevocation::WholeGrant;
    let world = built(config, |builder| builder.signing_keys([es256(), second().signs_from(at(600))])).await;
    let first = pair(&world.exchange(&world.code().await).await);
    assert!(world.server.drop_key(es256().key_id()));
    assert_eq!(world.revoke(&first.access).await.status(), 200);
    support::world::e400(&world.refresh(&first.refresh).await, "invalid_grant");
}

/// 7517-5-02
#[tokio::test]
async fn a_key_signs_nothing_that_outlives_its_publication() {
    let world = built(config(), |builder| builder.signing_keys([es256().published_until(at(1000))])).await;
    world.advance(640);
    let last = token(&world).await;
    world.advance(1);
    let code = world.code().await;
    assert_eq!(world.exchange(&code).await.status(), 503);
    world.advance(298);
    assert!(opens(&world, A, &last).await);
    world.advance(61);
    assert!(published(&world).await.is_empty());
}

/// 7517-5-01, 7517-5-02, 9068-2.1-01
#[test]
fn sets_that_could_not_work_are_refused() {
    let build = |keys: Vec<SigningKey>| {
        let clock = grantor::testing::ManualClock::new(at(0));
        let builder = grantor::AuthorizationServer::builder(config(), grantor::MemoryStore::new()).clock(clock);
        builder.signing_keys(keys).build().map(drop).map_err(|error| error.to_string())
    };
    let fresh = || SigningKey::with_signer(&Signer::fresh().jwk_with_algorithm().to_string(), Unused).unwrap();
    assert_eq!(build((0..4).map(|_| fresh()).collect()), Ok(()));
    let error = build((0..5).map(|_| fresh()).collect()).unwrap_err();
    assert_eq!(error, "signing_keys is a list of 5 keys; at most 4 keys are accepted");
    let error = build(vec![es256(), es256().signs_from(at(900))]).unwrap_err();
    assert!(error.contains(es256().key_id()) && error.contains("twice"), "{error}");
    for keys in [vec![], vec![es256().signs_from(at(1))], vec![es256().published_until(at(359))]] {
        let error = build(keys).unwrap_err();
        assert!(error.contains("none of which signs now") && error.contains("signing_keys"), "{error}");
    }
    // The old key leaves before its last token has expired.
    let rotation = |until| vec![es256().published_until(at(until)), second().signs_from(at(600))];
    assert_eq!(build(rotation(960)), Ok(()));
    let error = build(rotation(959)).unwrap_err();
    assert!(error.contains(es256().key_id()) && error.contains("published_until"), "{error}");
    // Keys without a resource that reads JWTs do no harm.
    let server = grantor::AuthorizationServer::builder(config_of(Profile::Mcp), grantor::MemoryStore::new());
    assert!(server.signing_keys([es256().signs_from(at(900))]).build().is_ok());
}

#[derive(Debug)]
struct Unused;

#[async_trait::async_trait]
impl grantor::hooks::Signer for Unused {
    async fn sign(&self, _: &[u8]) -> Result<Vec<u8>, grantor::hooks::SignerError> {
        unreachable!("nothing is signed");
    }
}
