//! What is a JWT access token, and what else is signed.

use grantor::config::Profile;
use grantor::jose::SigningAlgorithm;
use grantor::resource::JwtSettings;
use ring::hmac;
use serde_json::{Value, json};

use super::{API, Api, KEYS_URL, changed, config, header};
use support::keys::{Signer, encode, new_id};
use support::world::{ISSUER, START, config_of};

/// The token with a changed header. The text `(none)` leaves a member out.
fn headed(api: &Api, changes: Value) -> String {
    let token = api.token(json!({}));
    let claims = token.split('.').nth(1).unwrap();
    let claims = base64_decode(claims);
    api.signer.sign(changed(header(&api.signer), changes).to_string(), claims)
}

fn base64_decode(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// 9068-4-01, 9068-2.1-02
#[tokio::test]
async fn the_header_has_type_algorithm_and_key_id_alone() {
    let api = Api::new();
    for (changes, status) in [
        (json!({"typ": "at+jwt"}), 200),
        (json!({"typ": "AT+JWT"}), 200),
        (json!({"typ": "application/at+jwt"}), 200),
        (json!({"typ": "Application/AT+jwt"}), 200),
        (json!({"typ": "(none)"}), 401),
        (json!({"typ": "JWT"}), 401),
        (json!({"typ": "jwt"}), 401),
        (json!({"typ": "at-jwt"}), 401),
        (json!({"typ": "text/at+jwt"}), 401),
        (json!({"typ": 7}), 401),
        (json!({"kid": "(none)"}), 401),
        (json!({"kid": 7}), 401),
        (json!({"alg": "none"}), 401),
        (json!({"alg": "HS256"}), 401),
        (json!({"alg": "RS256"}), 401),
        (json!({"alg": "ES384"}), 401),
        (json!({"alg": "es256"}), 401),
        (json!({"alg": "(none)"}), 401),
        (json!({"jku": KEYS_URL}), 401),
        (json!({"jwk": api.signer.jwk()}), 401),
        (json!({"x5u": "https://auth.example/certificate"}), 401),
        (json!({"x5c": ["AA"]}), 401),
        (json!({"crit": ["exp"]}), 401),
        (json!({"b64": false}), 401),
        (json!({"cty": "JWT"}), 401),
    ] {
        assert_eq!(api.status(&headed(&api, changes.clone())).await, status, "{changes}");
    }
    // One request for the key set, and none to an address in a token.
    assert_eq!(api.script.requests().iter().map(|sent| &*sent.url).collect::<Vec<_>>(), [KEYS_URL]);
}

/// 9068-4-01
#[tokio::test]
async fn a_token_is_signed_by_the_key_that_it_names() {
    let api = Api::new();
    let token = api.token(json!({}));
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let unsigned = encode(changed(header(&api.signer), json!({"alg": "none"})).to_string());
    let shared = encode(changed(header(&api.signer), json!({"alg": "HS256"})).to_string());
    let claims = signed.split_once('.').unwrap().1;
    // The public key as the secret of an HMAC.
    let public = api.signer.jwk_with_algorithm().to_string();
    let shared = format!("{shared}.{claims}");
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, public.as_bytes()), shared.as_bytes());
    for forged in [
        format!("{unsigned}.{claims}."),
        format!("{unsigned}.{claims}.{signature}"),
        format!("{shared}.{}", encode(mac)),
        format!("{signed}."),
        format!("{signed}.{}", encode([0; 64])),
        format!("{signed}.{signature}.{signature}"),
        signed.to_owned(),
        format!("{token}x"),
        format!(" {token}").replace(' ', "."),
        api.signed_by(&api.signer.another().named("one"), json!({})),
        api.signed_by(&Signer::ed25519().named("one"), json!({})),
        format!("{}.{}.{signature}", encode(header(&api.signer).to_string()), encode("{}")),
    ] {
        assert_eq!(api.status(&forged).await, 401, "{forged}");
    }
    // A token of the server's key with other claims.
    let other = api.token(json!({"sub": "mallory"}));
    let mixed = format!("{}.{signature}", other.rsplit_once('.').unwrap().0);
    assert_eq!([api.status(&mixed).await, api.status(&other).await, api.status(&token).await], [401, 200, 200]);
    assert_eq!(api.script.sent(), 1);
}

/// 9068-4-01: the key decides about the algorithm.
#[tokio::test]
async fn three_algorithms_are_accepted() {
    for (signer, status) in
        [(Signer::es256(), 200), (Signer::ed25519(), 200), (Signer::rs256(), 200), (Signer::ps256(), 401)]
    {
        let api = Api::with(signer.named("one"));
        assert_eq!(api.status(&api.token(json!({}))).await, status, "{}", api.signer.algorithm());
    }
    let newer = Api::with(Signer::ed25519().named("one"));
    assert_eq!(newer.status(&headed(&newer, json!({"alg": "Ed25519"}))).await, 200);
    // An RSA key that does not say for which algorithm it is.
    let api = Api::with(Signer::rs256().named("one"));
    let mut response = super::key_set(&[]);
    response.body = api.signer.key_set().into_bytes();
    api.answer_always(Ok(response));
    assert_eq!(api.status(&api.token(json!({}))).await, 401);
}

/// 9068-4-01: a key of another algorithm is as unknown as one that is not published.
#[tokio::test]
async fn the_settings_decide_about_the_algorithm() {
    let mut fapi = config_of(Profile::Fapi);
    fapi.resources = config().resources;
    let of_fapi = JwtSettings::of_server(&fapi, API).algorithms;
    for (algorithms, accepted) in [
        (JwtSettings::of_server(&config(), API).algorithms, [200, 200, 200]),
        (of_fapi, [200, 200, 401]),
        (vec![SigningAlgorithm::Rs256], [401, 401, 200]),
        (vec![SigningAlgorithm::EdDsa], [401, 200, 401]),
    ] {
        for (signer, status) in [Signer::es256(), Signer::ed25519(), Signer::rs256()].into_iter().zip(accepted) {
            let api = Api::built(signer.named("one"), |settings| settings.algorithms = algorithms.clone());
            let case = format!("{algorithms:?} {}", api.signer.algorithm());
            assert_eq!(api.status(&api.token(json!({}))).await, status, "{case}");
            let refusal = "AccessTokenRefused { client: None, refusal: UnknownKey }";
            assert_eq!(api.events.take(), vec![refusal; usize::from(status == 401)], "{case}");
        }
    }
}

/// 9068-4-02: each with a right signature, `iss` and `aud`.
#[tokio::test]
async fn nothing_else_that_is_signed_passes() {
    let api = Api::new();
    let now = u64::from(START);
    let named = api.signer.jwk()["kid"].clone();
    let id_token = headed(&api, json!({"typ": "JWT"}));
    let assertion = api.signer.assertion("app", API, now, |_, claims| claims["iss"] = ISSUER.into());
    let typed = api.signer.assertion("app", API, now, |header, claims| {
        header["typ"] = "client-authentication+jwt".into();
        claims["iss"] = ISSUER.into();
    });
    let proof = |with_key: bool| {
        api.signer.proof("GET", API, now, |header, claims| {
            header["kid"] = named.clone();
            if !with_key {
                header.as_object_mut().unwrap().remove("jwk");
            }
            let more = json!({"iss": ISSUER, "aud": API, "sub": "alice", "client_id": "app", "exp": now + 60});
            claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        })
    };
    let introspection = api.signer.sign(
        json!({"typ": "token-introspection+jwt", "alg": "ES256", "kid": named}).to_string(),
        json!({"iss": ISSUER, "aud": API, "iat": now, "token_introspection": {"active": true, "sub": "alice"}})
            .to_string(),
    );
    let logout = headed(&api, json!({"typ": "logout+jwt"}));
    // An access token that lacks what the type promises.
    let untyped = api.signer.assertion("app", API, now, |header, claims| {
        header["typ"] = "at+jwt".into();
        claims["iss"] = ISSUER.into();
    });
    let all = [id_token, assertion, typed, proof(true), proof(false), introspection, logout, untyped];
    for (place, other) in all.iter().enumerate() {
        assert_eq!(api.status(other).await, 401, "{place}");
        let events = api.events.take();
        assert!(events[0].contains("NotJwt") || events[0].contains("MalformedClaim(\"client_id\")"), "{events:?}");
    }
    assert_eq!(api.script.sent(), 0);
}

/// 9068-4-01
#[tokio::test]
async fn a_token_has_at_most_4096_bytes() {
    let api = Api::new();
    let of_length = |length: usize| {
        let shortest = api.token(json!({"jti": ""})).len();
        // Four characters encode three bytes.
        (0..4096)
            .map(|more| api.token(json!({"jti": "x".repeat((length - shortest) * 3 / 4 + more)})))
            .take(4)
            .collect::<Vec<_>>()
    };
    let tokens = of_length(4096);
    let (short, long): (Vec<_>, Vec<_>) = tokens.iter().partition(|token| token.len() <= 4096);
    assert!(!short.is_empty() && !long.is_empty(), "{:?}", tokens.iter().map(String::len).collect::<Vec<_>>());
    for token in short {
        assert_eq!(api.status(token).await, 200, "{}", token.len());
    }
    api.events.take();
    for token in long {
        assert_eq!(api.status(token).await, 401, "{}", token.len());
        assert_eq!(api.events.take(), ["AccessTokenRefused { client: None, refusal: TooLong }"]);
    }
}

/// 9068-4-01
#[tokio::test]
async fn no_text_shows_a_token() {
    let api = Api::new();
    let token = api.token(json!({"jti": new_id()}));
    let mut shown = format!("{:?} {:?}", api.verifier, api.resource);
    shown += &format!("{:?}", api.check(&token).await.unwrap());
    shown += &format!("{:?}", api.check(&format!("{token}x")).await.unwrap_err());
    shown.extend(api.events.take());
    assert!(shown.contains(KEYS_URL) && shown.contains("NotJwt"), "{shown}");
    for part in token.split('.') {
        assert!(!shown.contains(part), "{shown}");
    }
}
