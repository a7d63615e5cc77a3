//! The rules of a proof as tables.

#![cfg(feature = "jose")]

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use super::{Expected, Proof, Role, nonce, verify};
use crate::base::clock::Timestamp;
use crate::config::{Config, DpopBoundTokens};
use crate::error::Reason;
use crate::model::target_uri::TargetUri;
use crate::secret::NonceKey;

const NOW: u32 = 1_000_000;
const URL: &str = "https://auth.example/oauth2/token";
/// The token and its digest of RFC 9449 section 7.1.
const TOKEN: &[u8] = b"Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
const TOKEN_DIGEST: &str = "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo";

/// A key, and the header and claims that it signs.
struct Draft {
    key: EcdsaKeyPair,
    header: Value,
    claims: Value,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap()
}

fn jwk(key: &EcdsaKeyPair) -> Value {
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
}

impl Draft {
    /// A valid proof for a token request now.
    fn new() -> Self {
        let key = key();
        let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk(&key)});
        let claims = json!({"jti": "-BwC3ESc6acc2lTc", "htm": "POST", "htu": URL, "iat": NOW});
        Self { key, header, claims }
    }

    fn signed(&self) -> String {
        let signed = format!("{}.{}", encode(self.header.to_string()), encode(self.claims.to_string()));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature))
    }
}

fn config() -> Config {
    let mut config = Config::strict("https://auth.example");
    config.dpop.tokens = DpopBoundTokens::Optional;
    config
}

fn with_nonces() -> Config {
    let mut config = config();
    config.dpop.nonce_keys = vec![NonceKey::new([7; 32])];
    config
}

fn nonce_of(role: Role) -> String {
    nonce::current(&with_nonces(), role, Timestamp::from_seconds(NOW)).unwrap()
}

fn verified(proof: &str, token: Option<&[u8]>, config: &Config) -> Result<Proof, Reason> {
    let url = TargetUri::parse(URL).unwrap();
    let role = Role::AuthorizationServer;
    let expected = Expected { method: "POST", url: &url, access_token: token, role };
    verify(proof.as_bytes(), &expected, config, Timestamp::from_seconds(NOW))
}

/// `good`, `nonce`, or what is wrong.
fn outcome(draft: &Draft, token: Option<&[u8]>, config: &Config) -> String {
    match verified(&draft.signed(), token, config) {
        Ok(_) => "good".to_owned(),
        Err(Reason::DpopNonceNeeded) => "nonce".to_owned(),
        Err(Reason::DpopProof(what)) => what.to_owned(),
        Err(reason) => panic!("{reason}"),
    }
}

type Change = fn(&mut Draft);

fn assert_outcomes(cases: &[(Change, &str)], token: Option<&[u8]>, config: &Config) {
    for (number, (change, expected)) in cases.iter().enumerate() {
        let mut draft = Draft::new();
        change(&mut draft);
        assert_eq!(outcome(&draft, token, config), *expected, "{number}");
    }
}

fn drop_from(value: &mut Value, name: &str) {
    value.as_object_mut().unwrap().remove(name);
}

/// 9449-4.3-01, 8725-3.11-01
#[test]
fn the_header_names_type_algorithm_and_public_key() {
    let typ = "its typ is not dpop+jwt";
    let key_of_header = "its jwk is not a public key that fits its alg";
    let cases: [(Change, &str); 17] = [
        (|_| {}, "good"),
        (|draft| draft.header["typ"] = "DPoP+JWT".into(), "good"),
        (|draft| draft.header["typ"] = "application/dpop+jwt".into(), "good"),
        (|draft| draft.header["foo"] = json!({"bar": [1]}), "good"),
        (|draft| draft.header["jwk"]["kid"] = "mine".into(), "good"),
        (|draft| drop_from(&mut draft.header, "typ"), typ),
        (|draft| draft.header["typ"] = "JWT".into(), typ),
        (|draft| draft.header["typ"] = "client-authentication+jwt".into(), typ),
        (|draft| drop_from(&mut draft.header, "alg"), "its alg is not accepted"),
        (|draft| draft.header["alg"] = "none".into(), "its alg is not accepted"),
        (|draft| draft.header["alg"] = "HS256".into(), "its alg is not accepted"),
        (|draft| draft.header["alg"] = "RS256".into(), "its alg is not accepted for proofs"),
        (|draft| draft.header["alg"] = "PS256".into(), key_of_header),
        (|draft| drop_from(&mut draft.header, "jwk"), "a member of its header is missing or has another type"),
        (|draft| draft.header["jwk"]["d"] = encode([1; 32]).into(), key_of_header),
        (|draft| draft.header["jwk"] = jwk(&key()), "its signature is wrong"),
        (|draft| draft.header["crit"] = json!(["exp"]), "its header has crit or b64"),
    ];
    assert_outcomes(&cases, None, &config());
}

/// 7518-3.5-01
#[test]
fn rsa_keys_of_proofs_are_bounded_before_the_signature_is_checked() {
    let (wrong, expensive) =
        ("its signature is wrong", "its RSA key has more than 4096 bits, or an exponent above 65537");
    for (bytes, exponent, expected) in [
        (256, &[3][..], wrong),
        (512, &[1, 0, 1], wrong),
        (512, &[0xff, 0xff], wrong),
        (513, &[1, 0, 1], expensive),
        (1024, &[3], expensive),
        (256, &[1, 0, 3], expensive),
        (256, &[1, 0, 0, 1], expensive),
    ] {
        let mut draft = Draft::new();
        draft.header["alg"] = "PS256".into();
        draft.header["jwk"] = json!({"kty": "RSA", "n": encode(vec![0xff; bytes]), "e": encode(exponent)});
        assert_eq!(outcome(&draft, None, &config()), expected, "{bytes} {exponent:?}");
    }
}

/// 9449-4.3-02
#[test]
fn identifier_and_method_are_compared() {
    let identifier = "jti is empty or has more than 256 bytes";
    let method = "htm is not the method of the request";
    let cases: [(Change, &str); 10] = [
        (|draft| draft.claims["jti"] = "x".repeat(256).into(), "good"),
        (|draft| draft.claims["foo"] = json!([null]), "good"),
        (|draft| draft.claims["jti"] = "x".repeat(257).into(), identifier),
        (|draft| draft.claims["jti"] = "".into(), identifier),
        (|draft| drop_from(&mut draft.claims, "jti"), "jti is missing"),
        (|draft| draft.claims["jti"] = 7.into(), "a claim has another type, or is out of range"),
        (|draft| drop_from(&mut draft.claims, "htm"), method),
        (|draft| draft.claims["htm"] = "PUT".into(), method),
        (|draft| draft.claims["htm"] = "post".into(), method),
        (|draft| draft.claims["htm"] = json!(["POST"]), "a claim has another type, or is out of range"),
    ];
    assert_outcomes(&cases, None, &config());
}

/// 9449-4.3-03
#[test]
fn the_url_is_compared_in_its_normal_form() {
    let url = "htu is not the public URL of the request";
    let cases: [(Change, &str); 12] = [
        (|draft| draft.claims["htu"] = "HTTPS://AUTH.example/oauth2/token".into(), "good"),
        (|draft| draft.claims["htu"] = "https://auth.example:443/oauth2/token".into(), "good"),
        (|draft| draft.claims["htu"] = "https://auth.example/oauth2/%74oken".into(), "good"),
        (|draft| draft.claims["htu"] = "https://auth.example/oauth2/token?x=1#y".into(), "good"),
        (|draft| draft.claims["htu"] = "https://auth.example/oauth2/revoke".into(), url),
        (|draft| draft.claims["htu"] = "http://auth.example/oauth2/token".into(), url),
        (|draft| draft.claims["htu"] = "https://user@auth.example/oauth2/token".into(), url),
        (|draft| draft.claims["htu"] = "https://auth.example/oauth2/token/".into(), url),
        (|draft| draft.claims["htu"] = "/oauth2/token".into(), url),
        (|draft| draft.claims["htu"] = "https://evil.example/oauth2/token".into(), url),
        (|draft| draft.claims["htu"] = "https://auth.example/OAUTH2/token".into(), url),
        (|draft| drop_from(&mut draft.claims, "htu"), url),
    ];
    assert_outcomes(&cases, None, &config());
}

/// 9449-4.3-05, FAPI-5.3.2.1-13
#[test]
fn a_proof_is_valid_for_its_age() {
    let (old, ahead) = ("iat is too old", "iat is in the future");
    let cases: [(Change, &str); 17] = [
        (|draft| draft.claims["iat"] = (NOW - 10).into(), "good"),
        (|draft| draft.claims["iat"] = (NOW - 59).into(), "good"),
        (|draft| draft.claims["iat"] = (NOW - 60).into(), old),
        (|draft| draft.claims["iat"] = (NOW + 8).into(), "good"),
        (|draft| draft.claims["iat"] = (NOW + 30).into(), "good"),
        (|draft| draft.claims["iat"] = (NOW + 31).into(), ahead),
        (|draft| draft.claims["iat"] = (NOW - 3600).into(), old),
        (|draft| draft.claims["iat"] = (NOW + 3600).into(), ahead),
        (|draft| draft.claims["iat"] = (1_u64 << 53).into(), ahead),
        (|draft| draft.claims["iat"] = json!(f64::from(NOW) + 0.5), "good"),
        (|draft| drop_from(&mut draft.claims, "iat"), "iat is missing"),
        (|draft| draft.claims["iat"] = NOW.to_string().into(), "a claim has another type, or is out of range"),
        (|draft| draft.claims["exp"] = (NOW + 1).into(), "good"),
        (|draft| draft.claims["exp"] = NOW.into(), "it has expired"),
        (|draft| draft.claims["exp"] = (NOW - 3600).into(), "it has expired"),
        (|draft| draft.claims["nbf"] = (NOW + 30).into(), "good"),
        (|draft| draft.claims["nbf"] = (NOW + 31).into(), "nbf is in the future"),
    ];
    assert_outcomes(&cases, None, &config());
}

/// 9449-4.3-05
#[test]
fn a_proof_lives_for_a_minute_and_the_skew_follows_the_setting() {
    let mut config = config();
    config.client_authentication.clock_skew = Duration::ZERO;
    let cases: [(Change, &str); 4] = [
        (|draft| draft.claims["iat"] = (NOW - 59).into(), "good"),
        (|draft| draft.claims["iat"] = (NOW - 60).into(), "iat is too old"),
        (|draft| draft.claims["iat"] = (NOW + 1).into(), "iat is in the future"),
        (|draft| draft.claims["nbf"] = (NOW + 1).into(), "nbf is in the future"),
    ];
    assert_outcomes(&cases, None, &config);
}

/// 9449-4.3-05, 9449-8-01, 9449-9-01
#[test]
fn a_good_nonce_stands_for_the_time() {
    let cases: [(Change, &str); 9] = [
        (|draft| draft.claims["nonce"] = nonce_of(Role::AuthorizationServer).into(), "good"),
        (
            |draft| {
                draft.claims["nonce"] = nonce_of(Role::AuthorizationServer).into();
                draft.claims["iat"] = (NOW - 3600).into();
            },
            "good",
        ),
        (
            |draft| {
                draft.claims["nonce"] = nonce_of(Role::AuthorizationServer).into();
                draft.claims["exp"] = (NOW - 3600).into();
            },
            "it has expired",
        ),
        (
            |draft| {
                draft.claims["nonce"] = nonce_of(Role::AuthorizationServer).into();
                drop_from(&mut draft.claims, "iat");
            },
            "iat is missing",
        ),
        (|_| {}, "nonce"),
        (|draft| draft.claims["iat"] = (NOW - 3600).into(), "nonce"),
        (|draft| draft.claims["nonce"] = "made up".into(), "nonce"),
        (|draft| draft.claims["nonce"] = nonce_of(Role::Resource).into(), "nonce"),
        (|draft| draft.claims["nonce"] = 7.into(), "a claim has another type, or is out of range"),
    ];
    assert_outcomes(&cases, None, &with_nonces());
}

/// 9449-8-02
#[test]
fn a_nonce_is_ignored_while_nonces_are_off() {
    let cases: [(Change, &str); 2] = [
        (|draft| draft.claims["nonce"] = "made up".into(), "good"),
        (|draft| draft.claims["nonce"] = 7.into(), "good"),
    ];
    assert_outcomes(&cases, None, &config());
}

/// 9449-4.3-06
#[test]
fn a_proof_beside_an_access_token_names_its_digest() {
    let cases: [(Change, &str); 4] = [
        (|draft| draft.claims["ath"] = TOKEN_DIGEST.into(), "good"),
        (|_| {}, "ath is missing"),
        (|draft| draft.claims["ath"] = encode([1; 32]).into(), "ath is the digest of another access token"),
        (|draft| draft.claims["ath"] = format!("{TOKEN_DIGEST}=").into(), "ath is the digest of another access token"),
    ];
    assert_outcomes(&cases, Some(TOKEN), &config());
    let ignored: [(Change, &str); 2] = [
        (|draft| draft.claims["ath"] = encode([1; 32]).into(), "good"),
        (|draft| draft.claims["ath"] = 7.into(), "good"),
    ];
    assert_outcomes(&ignored, None, &config());
}

/// 9449-4.1-01, 7515-3.1-01, NEG-JOSE-03
#[test]
fn what_is_no_proof_is_refused() {
    let good = Draft::new().signed();
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!("{good}") };
    let form = "it is not three parts with two periods between them";
    for (text, expected) in [
        (String::new(), form),
        (format!("{good}, {good}"), form),
        (format!("{good}."), form),
        (format!("{header}.{claims}"), form),
        (format!("{header}.{claims}."), form),
        (format!("{header}.{claims}.{signature}="), "a part is not canonical base64url"),
        (format!(" {good}"), "a part is not canonical base64url"),
        (format!("{header}.{claims}.{}", encode([0; 64])), "its signature is wrong"),
        (format!("{header}.{claims}.{}", encode([7; 65])), "its signature is wrong"),
        (".".repeat(4096), form),
        (".".repeat(4097), "it has more than 4096 bytes"),
    ] {
        match verified(&text, None, &config()) {
            Err(Reason::DpopProof(what)) => assert_eq!(what, expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// A proof with a wrong signature and another fault is refused for the other fault.
#[test]
fn the_signature_is_checked_after_all_that_is_cheaper() {
    const SIGNATURE: &str = "its signature is wrong";
    let cases: [(Change, &str); 14] = [
        (|_| {}, SIGNATURE),
        (|draft| draft.header["typ"] = "JWT".into(), "its typ is not dpop+jwt"),
        (|draft| draft.header["alg"] = "RS256".into(), "its alg is not accepted for proofs"),
        (|draft| drop_from(&mut draft.claims, "jti"), "jti is missing"),
        (|draft| draft.claims["jti"] = "".into(), "jti is empty or has more than 256 bytes"),
        (|draft| draft.claims["htm"] = "GET".into(), "htm is not the method of the request"),
        (|draft| draft.claims["htu"] = "https://evil.example/".into(), "htu is not the public URL of the request"),
        (|draft| drop_from(&mut draft.claims, "ath"), "ath is missing"),
        (|draft| draft.claims["ath"] = encode([1; 32]).into(), "ath is the digest of another access token"),
        (|draft| drop_from(&mut draft.claims, "iat"), "iat is missing"),
        (|draft| draft.claims["iat"] = (NOW - 60).into(), "iat is too old"),
        (|draft| draft.claims["iat"] = (NOW + 31).into(), "iat is in the future"),
        (|draft| draft.claims["exp"] = NOW.into(), "it has expired"),
        (|draft| draft.claims["nbf"] = (NOW + 31).into(), "nbf is in the future"),
    ];
    for (number, (change, expected)) in cases.iter().enumerate() {
        let mut draft = Draft { key: key(), ..Draft::new() };
        draft.claims["ath"] = TOKEN_DIGEST.into();
        change(&mut draft);
        assert_eq!(outcome(&draft, Some(TOKEN), &config()), *expected, "{number}");
    }
}

/// The answer that asks for a nonce also hands one out. It is for senders that have signed their proof.
#[test]
fn a_wrong_signature_never_asks_for_a_nonce() {
    let cases: [(Change, &str); 5] = [
        (|_| {}, "its signature is wrong"),
        (|draft| draft.claims["nonce"] = "made up".into(), "its signature is wrong"),
        (|draft| draft.claims["nonce"] = nonce_of(Role::AuthorizationServer).into(), "its signature is wrong"),
        (|draft| draft.claims["nonce"] = 7.into(), "a claim has another type, or is out of range"),
        (|draft| draft.header["jwk"] = jwk(&draft.key), "nonce"),
    ];
    for (number, (change, expected)) in cases.iter().enumerate() {
        let mut draft = Draft { key: key(), ..Draft::new() };
        change(&mut draft);
        assert_eq!(outcome(&draft, None, &with_nonces()), *expected, "{number}");
    }
}

/// 9449-11.1-01, NEG-JOSE-02
#[test]
fn a_proof_is_known_by_key_method_url_and_identifier() {
    let replay = |draft: &Draft| verified(&draft.signed(), None, &config()).unwrap().replay;
    let mut draft = Draft::new();
    let first = replay(&draft);
    assert_eq!(replay(&draft).digest(), first.digest(), "a second signature over the same");
    draft.claims["htu"] = "HTTPS://AUTH.EXAMPLE:443/oauth2/token".into();
    draft.claims["iat"] = (NOW - 5).into();
    draft.claims["foo"] = "bar".into();
    assert_eq!(replay(&draft).digest(), first.digest(), "another proof with the identifier");
    draft.claims["jti"] = "another".into();
    assert_ne!(replay(&draft).digest(), first.digest());
    assert_ne!(replay(&Draft::new()).digest(), first.digest(), "another key");
    let mut draft = Draft::new();
    let by_post = replay(&draft);
    draft.claims["htm"] = "GET".into();
    let (url, role) = (TargetUri::parse(URL).unwrap(), Role::AuthorizationServer);
    let expected = Expected { method: "GET", url: &url, access_token: None, role };
    let now = Timestamp::from_seconds(NOW);
    let by_get = verify(draft.signed().as_bytes(), &expected, &config(), now).unwrap().replay;
    assert_ne!(by_get.digest(), by_post.digest(), "another method");
}

/// 9449-11.1-02
#[test]
fn a_use_is_remembered_until_no_copy_could_pass() {
    let mut draft = Draft::new();
    let end = |draft: &Draft, config: &Config| verified(&draft.signed(), None, config).unwrap().replay.end().seconds();
    // Servers on one store may be a minute apart.
    assert_eq!(end(&draft, &config()), NOW + 60 + 60);
    draft.claims["iat"] = (NOW + 30).into();
    assert_eq!(end(&draft, &config()), NOW + 30 + 60 + 60);
    // Nonces may be switched off meanwhile, and then `iat` counts.
    draft.claims["nonce"] = nonce_of(Role::AuthorizationServer).into();
    let end_of_nonce = (NOW / 120 + 2) * 120;
    for (iat, expected) in [
        (NOW - 3600, end_of_nonce),
        (NOW, end_of_nonce),
        (NOW + 600, NOW + 660),
        (NOW + 3300, NOW + 3360),
        (NOW + 9_000_000, NOW + 3600),
    ] {
        draft.claims["iat"] = iat.into();
        assert_eq!(end(&draft, &with_nonces()), expected + 60, "{iat}");
    }
}
