//! Values that are no signed token at all, over HTTP. The unit tests of `jose` cover the rest.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::{ID, Scene};
use support::keys::encode;
use support::world::ISSUER;

/// Returns the three parts of a valid assertion.
fn parts(scene: &Scene) -> [String; 3] {
    let good = scene.good();
    let parts: Vec<_> = good.split('.').map(str::to_owned).collect();
    parts.try_into().unwrap()
}

/// 7515-3.1-01
#[tokio::test]
async fn an_assertion_has_a_bounded_size() {
    const MAX: usize = 8192;

    let scene = Scene::new().await;
    // The padding is in the claims, so the length grows by four characters for three bytes.
    let sized = |length: usize| {
        let base = scene.claiming(json!({"pad": ""})).len();
        (0..length).rev().map(|pad| "x".repeat(pad)).find_map(|pad| {
            let about = base + pad.len() * 4 / 3;
            if about > length + 8 {
                return None;
            }
            let assertion = scene.claiming(json!({"pad": pad}));
            (assertion.len() <= length).then_some(assertion)
        })
    };
    let longest = sized(MAX).unwrap();
    assert!(longest.len() > MAX - 4);
    assert!(scene.accepts(&longest).await, "{}", longest.len());
    let longer = sized(MAX + 4).unwrap();
    assert!(longer.len() > MAX && !scene.accepts(&longer).await);
}

/// 7515-3.1-01, 7515-2-01, 7515-4-01, 7515-4.1.11-01, 7518-3.1-01, NEG-JOSE-01, NEG-JOSE-02, NEG-JOSE-03
#[tokio::test]
async fn what_is_no_signed_token_is_refused() {
    let scene = Scene::with(|config| config.limits.body_bytes = 1 << 17).await;
    let [header, claims, signature] = parts(&scene);
    let signed = format!("{header}.{claims}");
    let claiming = |more: &str| {
        let (exp, jti) = (scene.now() + 60, support::keys::new_id());
        format!(r#"{{"iss":"{ID}","sub":"{ID}","aud":"{ISSUER}","jti":"{jti}","exp":{exp}{more}}}"#)
    };
    let by_key = |header: &str, claims: String| scene.signer.sign(header, claims);
    // The public key as the secret of an HMAC.
    let hmac = by_key(r#"{"alg":"HS256","kid":"one"}"#, claiming(""));
    let (shared, _) = hmac.rsplit_once('.').unwrap();
    let public = scene.signer.jwk().to_string();
    let tag = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes()), shared.as_bytes());
    let deep = format!("{}{}", "[".repeat(1500), "]".repeat(1500));
    let bytes = URL_SAFE_NO_PAD.decode(&signature).unwrap();
    for bad in [
        signed.clone(),
        format!("{signed}.{signature}.x"),
        format!("{signed}."),
        format!("{signed}.{signature}="),
        format!("{signed}.{}", encode(&bytes[1..])),
        format!("{signed}.{}", encode([&bytes[..], &[0]].concat())),
        format!("{signed}.{}", encode([0; 64])),
        format!("{signed}.{}", encode([7; 64])),
        format!("{shared}.{}", encode(tag)),
        by_key(r#"{"alg":"none","kid":"one"}"#, claiming("")),
        by_key(r#"{"alg":"ES256","alg":"ES256","kid":"one"}"#, claiming("")),
        by_key(r#"{"alg":"ES256","kid":"one","crit":["exp"],"exp":1}"#, claiming("")),
        by_key(r#"{"alg":"ES256","kid":"one","b64":false}"#, claiming("")),
        by_key(r#"{"alg":"ES256","kid":"one"}"#, claiming(r#","iss":"app""#)),
        by_key(r#"{"alg":"ES256","kid":"one"}"#, format!("[{}]", claiming(""))),
        by_key(r#"{"alg":"ES256"}"#, deep),
        ".".repeat(8000),
        "a.".repeat(4000),
        json!({"payload": claims, "protected": header, "signature": signature}).to_string(),
    ] {
        assert!(!scene.accepts(&bad).await, "{bad}");
    }
    assert!(scene.accepts(&by_key(r#"{"alg":"ES256","kid":"one"}"#, claiming(""))).await);
    assert!(scene.accepts(&format!("{signed}.{signature}")).await);
}
