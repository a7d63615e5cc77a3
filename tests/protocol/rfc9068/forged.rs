//! Tokens that the server did not issue, or not as access tokens [RFC 9068 section 4].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ring::hmac;

use super::*;
use support::intercepted::{Fate, Intercepted};
use support::world::{START, empty, wa};

fn encode_part(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

/// Signs these parts with the server's key.
fn signed(header: &Value, claims: &Value) -> String {
    Signer::es256().sign(header.to_string(), claims.to_string())
}

async fn refused(world: &World, token: &str, case: &str) {
    let error = at(world, A, token).await.expect_err(case);
    wa(error, 401, "invalid_token");
    assert_eq!(introspected(world, &world.client, token).await, inactive(), "{case}");
    empty(&world.revoke(token).await);
}

/// 9068-4-01, 9068-4-02, 9068-2.1-02
#[tokio::test]
async fn only_what_the_server_signed_as_an_access_token_is_one() {
    let world = world().await;
    let token = token(&world).await;
    let [header, claims] = parts(&token);
    assert!(opens(&world, A, &signed(&header, &claims)).await, "the forger's tools work");
    let mut in_any_case = header.clone();
    in_any_case["typ"] = "Application/AT+JWT".into();
    assert!(opens(&world, A, &signed(&in_any_case, &claims)).await);

    let headers: [(&str, Value); 14] = [
        ("typ", "JWT".into()),
        ("typ", "dpop+jwt".into()),
        ("typ", "token-introspection+jwt".into()),
        ("typ", "client-authentication+jwt".into()),
        ("typ", Value::Null),
        ("alg", "none".into()),
        ("alg", "HS256".into()),
        ("alg", "RS256".into()),
        ("kid", "another".into()),
        ("kid", Value::Null),
        ("jku", "https://evil.example/keys".into()),
        ("jwk", Signer::es256().jwk()),
        ("x5u", "https://evil.example/chain".into()),
        ("crit", json!(["exp"])),
    ];
    for (name, value) in headers {
        let mut forged = header.clone();
        if value.is_null() {
            forged.as_object_mut().unwrap().remove(name);
        } else {
            forged[name] = value.clone();
        }
        refused(&world, &signed(&forged, &claims), &format!("{name} {value}")).await;
    }
    for name in ["iss", "iat", "jti"] {
        for value in [Value::Null, json!("another"), json!(7), json!([])] {
            let mut forged = claims.clone();
            if value.is_null() {
                forged.as_object_mut().unwrap().remove(name);
            } else {
                forged[name] = value.clone();
            }
            refused(&world, &signed(&header, &forged), &format!("{name} {value}")).await;
        }
    }
    // The row decides, and not the claims.
    let mut longer = claims.clone();
    longer["exp"] = (START + 90_000).into();
    longer["scope"] = "everything".into();
    let longer = signed(&header, &longer);
    assert_eq!(at(&world, A, &longer).await.unwrap().expires().unwrap().seconds(), START + 300);
    world.advance(300);
    refused(&world, &longer, "expired").await;
}

/// 9068-4-01
#[tokio::test]
async fn a_changed_token_is_none() {
    let world = world().await;
    let token = token(&world).await;
    for place in (0..token.len()).step_by(7) {
        let mut changed = token.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        refused(&world, std::str::from_utf8(&changed).unwrap(), &place.to_string()).await;
    }
    for text in
        ["..", "a.b.c", &token[..token.len() - 1], &format!("{token}."), &format!("{token}A"), &"a".repeat(5000)]
    {
        refused(&world, text, text).await;
    }
    let [mut header, claims] = parts(&token);
    header["alg"] = "HS256".into();
    let signed = format!("{}.{}", encode_part(&header), encode_part(&claims));
    let public = Signer::es256().jwk_with_algorithm().to_string();
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, public.as_bytes()), signed.as_bytes());
    refused(&world, &format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac)), "an HMAC with the public key").await;
    let [header, _] = parts(&token);
    let by_another = Signer::es256().another().sign(header.to_string(), claims.to_string());
    refused(&world, &by_another, "another key under the same kid").await;
    assert!(opens(&world, A, &token).await);
}

/// 9068-4-01
#[tokio::test]
async fn a_token_is_for_its_own_resource() {
    let world = world().await;
    let token = token(&world).await;
    let [header, mut claims] = parts(&token);
    assert!(!opens(&world, B, &token).await && !opens(&world, C, &token).await);
    claims["aud"] = json!([A, B]);
    assert!(!opens(&world, B, &signed(&header, &claims)).await, "the record has the audience");
}

/// 9068-4-01
#[tokio::test]
async fn no_record_is_read_before_the_signature_is_verified() {
    let mut world = world().await;
    let token = token(&world).await;
    let [header, claims] = parts(&token);
    let by_another = Signer::es256().another().sign(header.to_string(), claims.to_string());
    let reads = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&reads);
    let script = move |call: &'static str| {
        counted.fetch_add(u32::from(call.starts_with("tokens.")), Ordering::Relaxed);
        Fate::Done
    };
    let store = Intercepted::new(world.store.clone(), script);
    world.server = world.builder(config(), store).signing_keys([es256()]).build().unwrap();
    refused(&world, &by_another, "another key").await;
    assert_eq!(reads.swap(0, Ordering::Relaxed), 0);
    assert!(opens(&world, A, &token).await);
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}
