//! Values that are no signed token at all, over HTTP. The unit tests of `jose` cover the rest.

use grantor::jose::JwkSet;
use grantor::wire::Endpoint;
use serde_json::json;

use super::{ID, Scene};
use support::keys::{Signer, encode};
use support::world::ISSUER;

/// Returns the three parts of a valid assertion.
fn parts(scene: &Scene) -> [String; 3] {
    let good = scene.good();
    let parts: Vec<_> = good.split('.').map(str::to_owned).collect();
    parts.try_into().unwrap()
}

/// 7515-3.1-01
#[tokio::test]
async fn only_the_compact_form_is_read() {
    let scene = Scene::new().await;
    let [header, claims, signature] = parts(&scene);
    let json = json!({"payload": claims, "protected": header, "signature": signature}).to_string();
    for bad in [
        format!("{header}.{claims}"),
        format!("{header}.{claims}.{signature}."),
        format!("{header}.{claims}.{signature}.x"),
        format!("{header}.{claims}."),
        format!(".{claims}.{signature}"),
        format!("{header}..{signature}"),
        "..".to_owned(),
        ".".repeat(8000),
        json,
        format!("{header}.{claims}.{signature}\u{e4}"),
    ] {
        assert!(!scene.accepts(&bad).await, "{bad}");
        assert!(scene.reason().contains("MalformedAssertion"));
    }
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

/// The characters of base64url in their order.
const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns other spellings of a base64url text, which a lax decoder decodes to the same bytes.
fn spellings(text: &str) -> Vec<String> {
    let mut bent = vec![
        format!("{text}="),
        format!("{text}=="),
        format!("{text} "),
        format!(" {text}"),
        format!("{text}\n"),
        format!("{}\r\n{}", &text[..4], &text[4..]),
        format!("{text}%41"),
        text.replace('-', "+"),
        text.replace('_', "/"),
    ];
    match text.len() % 4 {
        // One extra character has six bits, less than a byte.
        0 => bent.push(format!("{text}A")),
        // Two or four bits of the last character are unused, so the next character decodes to the same bytes.
        _ => {
            let last = ALPHABET.find(&text[text.len() - 1..]).unwrap();
            bent.push(format!("{}{}", &text[..text.len() - 1], &ALPHABET[last + 1..last + 2]));
        }
    }
    bent.retain(|bent| bent != text);
    bent
}

/// 7515-2-01
/// Header and claims are signed in their altered spelling, so nothing but the spelling is wrong.
#[tokio::test]
async fn base64url_has_one_spelling() {
    let scene = Scene::new().await;
    let signature_of = |header: &str, claims: &str| {
        let made = || encode(scene.signer.signature(format!("{header}.{claims}").as_bytes()));
        std::iter::repeat_with(made).find(|made| made.contains('-') && made.contains('_')).unwrap()
    };
    for padding in ["", "z", "zz"] {
        // Both contain `-` and `_`, and have every length except 4n+1.
        let text = format!("~~~~~~??????{padding}");
        let header = encode(json!({"alg": "ES256", "kid": "one", "x": text}).to_string());
        let claims = json!({"iss": ID, "sub": ID, "aud": ISSUER, "jti": support::keys::new_id(),
            "exp": scene.now() + 60, "x": text});
        let claims = encode(claims.to_string());
        let signature = signature_of(&header, &claims);
        let good = [header.clone(), claims.clone(), signature.clone()].join(".");
        let of_header = spellings(&header).into_iter().map(|bent| (bent, claims.clone()));
        let of_claims = spellings(&claims).into_iter().map(|bent| (header.clone(), bent));
        for (header, claims) in of_header.chain(of_claims) {
            let bent = format!("{header}.{claims}.{}", signature_of(&header, &claims));
            assert!(!scene.accepts(&bent).await, "{bent:?}");
        }
        for bent in spellings(&signature) {
            assert!(!scene.accepts(&format!("{header}.{claims}.{bent}")).await, "{bent:?}");
        }
        assert!(scene.accepts(&good).await);
    }
}

/// 7515-2-01
/// The members of a key have one spelling too.
#[test]
fn the_members_of_a_key_have_one_spelling() {
    for signer in Signer::all() {
        let good = signer.jwk();
        assert!(JwkSet::parse(json!({"keys": [good]}).to_string()).is_ok());
        for member in ["x", "y", "n", "e"] {
            let Some(text) = good[member].as_str() else { continue };
            for bent in
                spellings(text).into_iter().chain([format!("{text}A"), format!("{}A", &text[..text.len() / 4 * 4])])
            {
                let mut key = good.clone();
                key[member] = bent.as_str().into();
                assert!(JwkSet::parse(json!({"keys": [key]}).to_string()).is_err(), "{member}: {bent:?}");
            }
        }
    }
}

/// 7515-4-01
#[tokio::test]
async fn header_and_claims_are_one_object_each() {
    let scene = Scene::new().await;
    let header = r#"{"alg":"ES256","kid":"one"}"#;
    let claims = |more: &str| {
        let exp = scene.now() + 60;
        let jti = support::keys::new_id();
        format!(r#"{{"iss":"{ID}","sub":"{ID}","aud":"{ISSUER}","jti":"{jti}","exp":{exp}{more}}}"#)
    };
    let exp = scene.now() + 50;
    let deep = |depth: usize| format!(r#","x":{}1{}"#, "[".repeat(depth), "]".repeat(depth));
    for (header, claims, is_accepted) in [
        (header.to_owned(), claims(""), true),
        (header.to_owned(), claims(&format!(r#","exp":{exp}"#)), false),
        (header.to_owned(), claims(r#","x":{"y":1,"y":2}"#), false),
        (header.to_owned(), claims(r#","iss":"app""#), false),
        (header.to_owned(), claims(&deep(7)), true),
        (header.to_owned(), claims(&deep(8)), false),
        (header.to_owned(), claims("") + "x", false),
        (header.to_owned(), claims("") + "{}", false),
        (header.to_owned(), format!("[{}]", claims("")), false),
        (header.to_owned(), String::new(), false),
        (r#"{"alg":"ES256","alg":"ES256","kid":"one"}"#.to_owned(), claims(""), false),
        (r#"["alg"]"#.to_owned(), claims(""), false),
        (r#"{"kid":"one"}"#.to_owned(), claims(""), false),
        (r#"{"alg":7,"kid":"one"}"#.to_owned(), claims(""), false),
        (format!("{header}x"), claims(""), false),
    ] {
        let assertion = scene.signer.sign(&header, &claims);
        assert_eq!(scene.accepts(&assertion).await, is_accepted, "{header} {claims}");
    }
    let not_utf8 = [claims("").as_bytes(), b"\xff"].concat();
    assert!(!scene.accepts(&scene.signer.sign(header, not_utf8)).await);
}

/// 7515-4.1.11-01, NEG-JOSE-01
#[tokio::test]
async fn critical_extensions_are_refused() {
    let scene = Scene::new().await;
    for header in [
        json!({"crit": ["exp"], "exp": 1}),
        json!({"crit": ["b64"], "b64": true}),
        json!({"crit": []}),
        json!({"crit": ["foo"], "foo": 1}),
        json!({"crit": ["x"]}),
        json!({"crit": "x"}),
        json!({"crit": null, "b64": false}),
        json!({"b64": false}),
    ] {
        let mut with = json!({"alg": "ES256", "kid": "one"});
        for (name, value) in header.as_object().unwrap() {
            with[name] = value.clone();
        }
        let claims: serde_json::Value = json!({"iss": ID, "sub": ID, "aud": ISSUER, "jti": support::keys::new_id(),
            "exp": scene.now() + 60});
        assert!(!scene.accepts(&scene.signer.sign(with.to_string(), claims.to_string())).await, "{header}");
    }
}

/// 7518-3.1-01, NEG-JOSE-01
#[tokio::test]
async fn algorithms_cannot_be_confused() {
    let scene = Scene::new().await;
    let rsa = Signer::ps256().named("rsa");
    scene.directory.put(super::by_value(ID, &[&scene.signer, &rsa]));
    assert!(scene.accepts(&scene.by(&rsa)).await);
    for alg in [
        "none", "NONE", "None", "", "HS256", "HS512", "ES384", "ES512", "ES256K", "RS384", "RS256", "PS384", "es256",
        "ES256 ",
    ] {
        for (kid, signer) in [("one", &scene.signer), ("rsa", &rsa)] {
            let header = json!({"alg": alg, "kid": kid}).to_string();
            let claims = json!({"iss": ID, "sub": ID, "aud": ISSUER, "jti": "x", "exp": scene.now() + 60}).to_string();
            let (signed, _) =
                { signer.sign(&header, &claims).rsplit_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap() };
            assert!(!scene.accepts(&signer.sign(&header, &claims)).await, "{alg}");
            // An HMAC with the public key as its secret, in every form that a verifier might use.
            let public = rsa.jwk()["n"].as_str().unwrap().to_owned();
            for key in [public.clone(), rsa.jwk().to_string(), String::new()] {
                let tag =
                    ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.as_bytes()), signed.as_bytes());
                assert!(!scene.accepts(&format!("{signed}.{}", encode(tag))).await, "{alg}");
            }
            for forged in ["AA", &encode([7; 64]), &encode([0; 64]), &encode([7; 256])] {
                assert!(!scene.accepts(&format!("{signed}.{forged}")).await, "{alg}");
            }
        }
    }
    // Random signatures of the right length under the right names.
    for (signer, length) in [(&scene.signer, 64), (&rsa, 256)] {
        let good = scene.by(signer);
        let (signed, _) = good.rsplit_once('.').unwrap();
        for fill in [0, 1, 0x55, 0xff] {
            assert!(!scene.accepts(&format!("{signed}.{}", encode(vec![fill; length]))).await);
        }
        assert!(scene.accepts(&good).await);
    }
}

/// NEG-JOSE-02
#[tokio::test]
async fn a_signature_has_one_length() {
    let scene = Scene::new().await;
    let good = scene.good();
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let bytes = base64_of(signature);
    for bent in [
        [&bytes[..], &[0]].concat(),
        [&[0], &bytes[..]].concat(),
        bytes[..63].to_vec(),
        bytes[1..].to_vec(),
        vec![0; 64],
    ] {
        assert!(!scene.accepts(&format!("{signed}.{}", encode(bent))).await);
    }
    assert!(scene.accepts(&good).await);
}

fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;

    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// NEG-JOSE-03
#[tokio::test]
async fn large_and_deep_tokens_are_refused_at_once() {
    let scene = Scene::with(|config| config.limits.body_bytes = 1 << 17).await;
    let deep = format!("{}{}", "[".repeat(1500), "]".repeat(1500));
    for bad in [
        ".".repeat(8000),
        "a.".repeat(4000),
        encode("{".repeat(5000)),
        scene.signer.sign(format!(r#"{{"alg":"ES256","x":{deep}}}"#), "{}"),
        scene.signer.sign(r#"{"alg":"ES256"}"#, &deep),
        "A".repeat(8000),
    ] {
        assert!(bad.len() <= 8192, "{}", bad.len());
        let request = scene.post(Endpoint::Revocation, &bad);
        let response = tokio::time::timeout(std::time::Duration::from_secs(5), request.send()).await.unwrap();
        scene.refuses(&response);
    }
}
