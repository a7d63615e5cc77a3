//! What an access token in the form of a JWT says.

use grantor::hooks::SigningKey;
use grantor::jose::SigningAlgorithm;
use grantor::{Consent, Decision, Reason, Subject};
use serde_json::json;

use super::*;
use crate::rfc9449::bound_pair_of;
use support::world::{ISSUER, START, e400};

/// 9068-2.1-01, 9068-2.1-02
#[tokio::test]
async fn the_header_says_type_algorithm_and_key_and_nothing_else() {
    let keys: [(SigningAlgorithm, &[u8], Signer); 3] = [
        (SigningAlgorithm::Es256, P256, Signer::es256()),
        (SigningAlgorithm::Rs256, include_bytes!("../../data/keys/rsa-1.pk8"), Signer::rs256()),
        (SigningAlgorithm::EdDsa, include_bytes!("../../data/keys/ed25519-1.pk8"), Signer::ed25519()),
    ];
    for (algorithm, pkcs8, signer) in keys {
        let key = SigningKey::from_pkcs8(algorithm, pkcs8).unwrap();
        assert_eq!(key.key_id(), signer.thumbprint());
        let world = built(config(), |builder| builder.signing_keys([key])).await;
        let token = token(&world).await;
        let [header, _] = parts(&token);
        assert_eq!(header, json!({"typ": "at+jwt", "alg": signer.algorithm(), "kid": signer.thumbprint()}));
        assert!(is_signed_by(&token, &signer), "{algorithm}");
        assert!(opens(&world, A, &token).await);
    }
}

/// 9068-2.2-01
#[tokio::test]
async fn the_claims_are_those_of_the_record() {
    let world = world().await;
    let response = world.exchange(&world.code().await).await;
    let first = pair(&response);
    let [_, claims] = parts(&first.access);
    let jti = claims["jti"].as_str().unwrap();
    assert_eq!(
        claims,
        json!({
            "iss": ISSUER, "sub": "alice", "aud": A, "client_id": world.client.id, "iat": START, "exp": START + 300,
            "jti": jti, "scope": first.scope, "resource_scope": "all",
        })
    );
    // It is no credential: neither it nor its bytes open anything.
    assert_eq!(URL_SAFE_NO_PAD.decode(jti).unwrap().len(), 32);
    for guess in [jti.to_owned(), format!("at_{jti}"), format!("{jti}{jti}")] {
        assert!(!opens(&world, A, &guess).await, "{guess}");
    }
}

/// 9068-2.2-01
#[tokio::test]
async fn every_signature_of_one_pair_has_the_same_claims() {
    let world = world().await;
    let first = pair(&world.exchange(&world.code().await).await);
    world.advance(100);
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(20);
    // In grace, the newest pair is returned again: signed again.
    let again = pair(&world.refresh(&first.refresh).await);
    assert_eq!(parts(&second.access), parts(&again.access));
    assert_ne!(second.access, again.access, "a signature of ES256 is never the same");
    assert_ne!(parts(&first.access)[1]["jti"], parts(&second.access)[1]["jti"]);
    assert_eq!(parts(&second.access)[1]["exp"], START + 100 + 300);
    for token in [&first.access, &second.access, &again.access] {
        assert!(opens(&world, A, token).await);
    }
    // Either signature ends with the pair.
    assert_eq!(world.revoke(&second.access).await.status(), 200);
    assert!(!opens(&world, A, &again.access).await && !opens(&world, A, &second.access).await);
}

/// 9068-2.2-02
#[tokio::test]
async fn a_client_that_acts_for_itself_is_no_user() {
    let world = world().await;
    let machine = machine(&world).await;
    let response = own_token(&world, &machine, &[]).await;
    let token = pair(&response).access;
    let [_, claims] = parts(&token);
    assert_eq!(claims["sub"], format!("client:{}", machine.id));
    assert_eq!((&claims["client_id"], &claims["aud"]), (&json!(machine.id), &json!(A)));
    assert_eq!(claims["scope"], "repo-code:rw");
    let seen = at(&world, A, &token).await.unwrap();
    assert!(seen.subject().is_none());
    assert_eq!(seen.client_id().as_str(), machine.id);
    assert!(introspected(&world, &machine, &token).await["sub"].is_null());
}

/// 9068-2.2-02
#[tokio::test]
async fn a_user_whose_name_reads_like_a_clients_is_refused() {
    let world = world().await;
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    let user = Subject::new("client:x").unwrap();
    let error = world.server.hold(&pending, &user, b"session").await.unwrap_err();
    assert!(error.reason().to_string().contains("\"client:\""), "{}", error.reason());
    assert!(world.server.step(&pending, Some(&user), b"session").await.is_ok_and(|next| next.response().is_none()));
    for name in ["client", "Client:x", "xclient:"] {
        world.server.hold(&pending, &Subject::new(name).unwrap(), b"session").await.unwrap();
    }
    // Without JWTs, the name is a name.
    let opaque = World::mcp().await;
    let pending = opaque.authorize(&opaque.query(&PKCE)).await.unwrap();
    opaque.server.hold(&pending, &user, b"session").await.unwrap();
}

/// 9068-2.2-02
/// The grant was made before its resource had JWTs.
#[tokio::test]
async fn a_grant_for_such_a_name_gets_opaque_tokens() {
    let mut before = config();
    before.resources.iter_mut().for_each(|own| own.access_tokens = AccessTokenFormat::Opaque);
    let mut world = World::built(before, |builder| builder).await;
    world.alice = Subject::new("client:x").unwrap();
    let first = pair(&world.exchange(&world.code().await).await);
    world.server = world.builder(config(), world.store.clone()).signing_keys([es256()]).build().unwrap();
    let second = pair(&world.refresh(&first.refresh).await);
    assert!(!is_jwt(&second.access));
    assert_eq!(at(&world, A, &second.access).await.unwrap().subject(), Some(&world.alice));
}

/// 9068-SVC-02
/// The grant was made before its resource had JWTs.
#[tokio::test]
async fn an_opaque_token_never_becomes_a_long_jwt() {
    let mut before = config();
    before.resources.iter_mut().for_each(|own| own.access_tokens = AccessTokenFormat::Opaque);
    let mut world = World::built(before, |builder| builder).await;
    let first = pair(&world.exchange(&world.code().await).await);
    world.advance(10);
    let second = pair(&world.refresh(&first.refresh).await);
    world.server = world.builder(config(), world.store.clone()).signing_keys([es256()]).build().unwrap();
    // In grace the client gets the same pair again, in the same form.
    let again = pair(&world.refresh(&first.refresh).await);
    assert_eq!((again.access, again.refresh), (second.access, second.refresh.clone()));
    let third = pair(&world.refresh(&second.refresh).await);
    assert_eq!(parts(&third.access)[1]["exp"], START + 10 + 300);
    // Nor does a JWT outlive a shorter setting.
    let mut shorter = config();
    shorter.tokens.jwt_lifetime = std::time::Duration::from_secs(60);
    world.server = world.builder(shorter, world.store.clone()).signing_keys([es256()]).build().unwrap();
    assert!(!is_jwt(&pair(&world.refresh(&second.refresh).await).access));
}

/// 9068-2.2-03
#[tokio::test]
async fn a_token_that_would_be_too_long_is_opaque() {
    for (names, fits) in [(3, true), (100, false)] {
        let world = world().await;
        let names: Vec<String> =
            (100..100 + names).map(|number| format!("project/a-name-of-some-length-{number:04}")).collect();
        let consent = Consent::to_everything().resources(names.iter().map(String::as_str));
        let response = world.decide(&world.query(&PKCE), Decision::Approve(consent)).await;
        let code = support::world::text(&support::world::code(&response), "code");
        let response = world.exchange(&code).await;
        let token = pair(&response).access;
        assert_eq!(is_jwt(&token), fits, "{}", names.len());
        if fits {
            let [_, claims] = parts(&token);
            assert_eq!((&claims["resource_scope"], &claims["resources"]), (&json!("specified"), &json!(names)));
            assert!(token.len() <= 4096);
        }
        // Either form is known here, with the same lifetime.
        let described = introspected(&world, &world.client, &token).await;
        assert_eq!((&described["active"], &described["exp"]), (&json!(true), &json!(START + 300)));
        assert_eq!(described["resources"], json!(names));
        assert!(opens(&world, A, &token).await);
    }
}

/// 9068-3-01
#[tokio::test]
async fn a_jwt_is_for_one_resource() {
    let world = world().await;
    assert_eq!(parts(&token(&world).await)[1]["aud"], A);
    let exchange = async |code: &str, resources: &[&str]| {
        let call = world.token(&[("grant_type", "authorization_code"), ("code", code), PKCE_VERIFIER]);
        let call = resources.iter().fold(call, |call, resource| call.field("resource", resource));
        call.client(&world.client).send().await
    };
    for several in [[A, B], [A, C], [C, B]] {
        let code = code_for(&world, &several).await;
        e400(&exchange(&code, &several).await, "invalid_target");
        // The code is not spent: the client may name one of them.
        let response = exchange(&code, &several[1..]).await;
        assert_eq!(is_jwt(&pair(&response).access), several[1] != C);
        let machine = machine(&world).await;
        e400(&own_token(&world, &machine, &several).await, "invalid_target");
    }
    // Without a name it is the default one, if the user granted that.
    let first = exchange(&code_for(&world, &[B, A]).await, &[]).await;
    assert_eq!(parts(&pair(&first).access)[1]["aud"], A);
    e400(&exchange(&code_for(&world, &[B, C]).await, &[]).await, "invalid_target");
    // The refresh token is still for both.
    let refresh = pair(&first).refresh;
    let call = world.token(&[("grant_type", "refresh_token"), ("refresh_token", &refresh), ("resource", B)]);
    let second = pair(&call.client(&world.client).send().await);
    assert_eq!(parts(&second.access)[1]["aud"], B);
    assert!(opens(&world, B, &second.access).await && !opens(&world, A, &second.access).await);
}

const PKCE_VERIFIER: (&str, &str) = ("code_verifier", support::world::VERIFIER);

/// 9068-3-01
#[tokio::test]
async fn opaque_stays_the_default() {
    assert_eq!(ProtectedResource::new(A, "").access_tokens, AccessTokenFormat::Opaque);
    let world = world().await;
    let code = code_for(&world, &[C]).await;
    let response = world.exchange(&code).await;
    let token = ok_with_lifetime(&response, 28_800);
    assert!(!is_jwt(&token) && opens(&world, C, &token).await);
}

fn ok_with_lifetime(response: &Response, seconds: u64) -> String {
    let token = support::world::ok(response);
    assert_eq!(token.expires_in, Some(seconds));
    token.access_token.expose().to_owned()
}

/// 9068-SVC-02
#[tokio::test]
async fn a_jwt_is_valid_for_its_own_lifetime() {
    for (seconds, expected) in [(None, 300), (Some(900), 900), (Some(60), 60)] {
        let mut config = config();
        if let Some(seconds) = seconds {
            config.tokens.jwt_lifetime = std::time::Duration::from_secs(seconds);
        }
        let world = built(config, |builder| builder.signing_keys([es256()])).await;
        let token = ok_with_lifetime(&world.exchange(&world.code().await).await, expected);
        let machine = machine(&world).await;
        ok_with_lifetime(&own_token(&world, &machine, &[]).await, expected);
        let [_, claims] = parts(&token);
        assert_eq!(claims["exp"], u64::from(START) + expected);
        world.advance(expected - 1);
        assert!(opens(&world, A, &token).await);
        world.advance(1);
        assert!(!opens(&world, A, &token).await);
    }
    // Never longer than other tokens.
    let mut short = config();
    short.tokens.access_lifetime = std::time::Duration::from_secs(120);
    let world = built(short, |builder| builder.signing_keys([es256()])).await;
    ok_with_lifetime(&world.exchange(&world.code().await).await, 120);
}

/// 9068-2.2-01
#[tokio::test]
async fn a_token_that_is_bound_to_a_key_names_it() {
    let mut config = config();
    config.dpop.tokens = grantor::config::DpopBoundTokens::Optional;
    let world = built(config, |builder| builder.signing_keys([es256()])).await;
    let signer = Signer::ed25519();
    let bound = bound_pair_of(&world, &world.client, &signer).await;
    assert_eq!(parts(&bound.access)[1]["cnf"], json!({"jkt": signer.thumbprint()}));
    let refused = at(&world, A, &bound.access).await.unwrap_err();
    assert!(matches!(refused.reason(), Reason::WrongTokenScheme), "{refused}");
}
