//! Tests of tokens, keys and signatures: examples of the RFCs, broken ones, and the vectors of Project Wycheproof.

#![cfg(feature = "jose")]

use serde_json::{Value, json};

use super::*;
use crate::base::base64url;
use crate::base::json::Json;
use crate::jose::jwk::JwkSetBounds;

const BOUNDS: JwkSetBounds = JwkSetBounds { bytes: 65_536, keys: 32 };

/// P-256 [RFC 9449 section 4.1].
fn p256() -> Value {
    json!({
        "kty": "EC", "crv": "P-256", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
    })
}

/// RSA [RFC 7638 section 3.1].
fn rsa() -> Value {
    let n = concat!(
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjB",
        "ZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8",
        "KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_",
        "xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
    );
    json!({"kty": "RSA", "n": n, "e": "AQAB"})
}

/// Ed25519 [RFC 8037 appendix A.2].
fn ed25519() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})
}

/// The key with these members changed or added.
fn with(mut key: Value, members: Value) -> Value {
    key.as_object_mut().unwrap().append(&mut members.as_object().unwrap().clone());
    key
}

fn key(jwk: &Value) -> Result<Jwk, JwkError> {
    let key = Jwk::read(&Json::read_object(jwk.to_string().as_bytes(), DEPTH).unwrap())?;
    if key.is_on_curve() { Ok(key) } else { Err(JwkError::NotOnCurve) }
}

fn vectors(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn outcome(case: &Value) -> String {
    let algorithm = SigningAlgorithm::parse(case["algorithm"].as_str().unwrap()).unwrap();
    let key = match key(&case["key"]) {
        Ok(key) => key,
        Err(error) => return format!("key: {error:?}"),
    };
    match Jws::parse(case["token"].as_str().unwrap().as_bytes(), 8192) {
        Err(error) => format!("{error:?}"),
        Ok(token) if token.is_signed_by(&key, algorithm) => "valid".to_owned(),
        Ok(_) => "signature".to_owned(),
    }
}

/// 7515-3.1-01, 7515-2-01, 7515-4-01, 7515-4.1-01, 7515-4.1.11-01, 7518-3.1-01, 8725-3.1-01, 7518-3.4-01, 7518-3.5-01,
/// 8037-3.1-01, 7517-4-01, NEG-JOSE-01, NEG-JOSE-02: `rule` of a case names its row.
#[test]
fn every_attack_fails_at_its_rule() {
    let cases = vectors(include_str!("../../tests/data/jose/signatures.json"));
    let wrong: Vec<_> = cases
        .iter()
        .filter(|case| case["outcome"] != outcome(case))
        .map(|case| format!("{} {}: {} and not {}", case["rule"], case["case"], outcome(case), case["outcome"]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cases.len() > 300 && cases.iter().filter(|case| case["outcome"] == "valid").count() > 20);
}

/// 7518-3.4-01, 7518-3.5-01, 8037-3.1-01, NEG-JOSE-02
#[test]
fn signatures_are_judged_as_project_wycheproof_does() {
    let decode = |value: &Value| base64url::decode(value.as_str().unwrap()).unwrap();
    let mut count = 0;
    for group in vectors(include_str!("../../tests/data/jose/wycheproof.json")) {
        let algorithm = SigningAlgorithm::parse(group["algorithm"].as_str().unwrap()).unwrap();
        let key = key(&group["key"]);
        for test in group["tests"].as_array().unwrap() {
            let (message, signature) = (decode(&test[1]), decode(&test[2]));
            let is_valid =
                key.as_ref().is_ok_and(|key| signature::is_valid(algorithm, key.material(), &message, &signature));
            assert_eq!(is_valid, test[3] == "valid", "{algorithm} {}", test[0]);
            count += 1;
        }
    }
    assert_eq!(count, 780);
}

/// RFC 8037 appendix A.4. Its payload is not a claims set.
#[test]
fn the_example_of_ed25519_is_valid() {
    let signed = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature =
        concat!("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvp", "Ar_MuM0KAg");
    let signature = base64url::decode(signature).unwrap();
    let key = key(&ed25519()).unwrap();
    assert!(signature::is_valid(SigningAlgorithm::EdDsa, key.material(), signed, &signature));
}

/// 7638-3-01
#[test]
fn a_thumbprint_is_over_the_required_members() {
    for (jwk, thumbprint) in [
        (rsa(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
        (ed25519(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
        (p256(), "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"),
    ] {
        let plain = key(&jwk).unwrap();
        assert_eq!(plain.thumbprint().to_string(), thumbprint);
        let algorithm = plain.algorithm().as_str();
        let more = json!({"kid": "2011-04-29", "use": "sig", "alg": algorithm, "key_ops": ["verify"], "x5t": "AA"});
        assert_eq!(key(&with(jwk, more)).unwrap().thumbprint(), plain.thumbprint());
    }
}

/// 8725-3.1-01
#[test]
fn a_key_fits_the_algorithms_of_its_kind_or_its_own() {
    use SigningAlgorithm::{EdDsa, Es256, Ps256, Rs256};
    let rs256 = with(rsa(), json!({"alg": "RS256"}));
    let ps256 = with(rsa(), json!({"alg": "PS256"}));
    for (jwk, own, fitting) in [
        (p256(), Es256, &[Es256][..]),
        (rsa(), Ps256, &[Ps256, Rs256]),
        (ed25519(), EdDsa, &[EdDsa]),
        (rs256, Rs256, &[Rs256]),
        (ps256, Ps256, &[Ps256]),
    ] {
        let key = key(&jwk).unwrap();
        assert_eq!(key.algorithm(), own);
        let fits: Vec<_> = SigningAlgorithm::ALL.iter().copied().filter(|algorithm| key.fits(*algorithm)).collect();
        assert_eq!(fits, fitting, "{jwk}");
    }
}

/// 7518-3.5-01, NEG-JOSE-03: an RSA key has 2048 to 8192 bits.
#[test]
fn rsa_keys_have_bounds() {
    let modulus = |bits: usize| {
        let mut bytes = vec![0xff; bits.div_ceil(8)];
        bytes[0] = if bits.is_multiple_of(8) { 0xff } else { (1 << (bits % 8)) - 1 };
        key(&with(rsa(), json!({"n": base64url::encode(&bytes)}))).map(|_| ())
    };
    for bits in [2048, 2049, 4096, 8191, 8192] {
        assert_eq!(modulus(bits), Ok(()), "{bits}");
    }
    for bits in [1, 8, 512, 1024, 2040, 2047, 8193, 8200, 16_384, 65_536] {
        assert_eq!(modulus(bits), Err(JwkError::Modulus), "{bits}");
    }
    let exponent = with(rsa(), json!({"e": base64url::encode(&[0xff; 256])}));
    assert_eq!(key(&exponent).unwrap_err(), JwkError::Exponent);
}

fn token(header: &str, claims: &str) -> String {
    format!("{}.{}.AA", base64url::encode(header.as_bytes()), base64url::encode(claims.as_bytes()))
}

/// 7515-3.1-01, NEG-JOSE-03: the length is checked first, so a long row of periods is never split.
#[test]
fn sizes_are_tested_first() {
    let periods = ".".repeat(16_384);
    let parse = |text: &str, max| Jws::parse(text.as_bytes(), max).map(|_| ()).unwrap_err();
    assert_eq!(parse(&periods, 8192), JoseError::TooLong(8192));
    assert_eq!(parse(&periods, 16_384), JoseError::Form);
    assert_eq!(parse(&periods[..8000], 8192), JoseError::Form);
    let good = token(r#"{"alg":"ES256"}"#, "{}");
    assert!(Jws::parse(good.as_bytes(), good.len()).is_ok());
    assert_eq!(parse(&good, good.len() - 1), JoseError::TooLong(good.len() - 1));
    for deep in ["[".repeat(10_000), format!("{}{}", "{\"x\":".repeat(10_000), "}".repeat(10_000))] {
        assert_eq!(parse(&token(&deep, "{}"), 100_000), JoseError::Json);
        assert_eq!(parse(&token(r#"{"alg":"ES256"}"#, &deep), 100_000), JoseError::Json);
    }
}

/// 8725-3.11-01, 7515-2-01
#[test]
fn debug_shows_no_credential() {
    let token = token(r#"{"alg":"ES256","typ":"dpop+jwt","kid":"named"}"#, r#"{"jti":"used once","sub":"app"}"#);
    let read = Jws::parse(token.as_bytes(), 8192).unwrap();
    assert_eq!(format!("{read:?}"), r#"Jws { alg: Es256, typ: Some("dpop+jwt"), .. }"#);
}

#[test]
fn a_type_is_compared_without_case_and_application() {
    let typ = |text: &str| {
        let token = token(&json!({"alg": "ES256", "typ": text}).to_string(), "{}");
        Jws::parse(token.as_bytes(), 8192).unwrap().typ().unwrap().to_owned()
    };
    for (text, read) in [
        ("JWT", "jwt"),
        ("dpop+jwt", "dpop+jwt"),
        ("DPoP+JWT", "dpop+jwt"),
        ("application/dpop+jwt", "dpop+jwt"),
        ("Application/DPOP+jwt", "dpop+jwt"),
        ("application/application/dpop+jwt", "application/dpop+jwt"),
        ("text/dpop+jwt", "text/dpop+jwt"),
        (" dpop+jwt", " dpop+jwt"),
        ("", ""),
    ] {
        assert_eq!(typ(text), read, "{text}");
    }
    let token = token(r#"{"alg":"ES256"}"#, "{}");
    assert_eq!(Jws::parse(token.as_bytes(), 8192).unwrap().typ(), None);
}

/// 9449-4.3-01
#[test]
fn the_key_of_a_proof_is_public_and_fits() {
    let embedded = |algorithm: &str, jwk: Value| {
        let token = token(&json!({"alg": algorithm, "jwk": jwk}).to_string(), "{}");
        Jws::parse(token.as_bytes(), 8192).unwrap().embedded_key()
    };
    for (algorithm, jwk) in [("ES256", p256()), ("PS256", rsa()), ("EdDSA", ed25519()), ("Ed25519", ed25519())] {
        assert_eq!(embedded(algorithm, jwk.clone()), Ok(key(&jwk).unwrap()));
    }
    for (jwk, error) in [
        (Value::Null, JoseError::Header("jwk")),
        (json!("x"), JoseError::Header("jwk")),
        (json!([p256()]), JoseError::Header("jwk")),
        (json!({}), JoseError::Key(JwkError::Member("kty"))),
        (rsa(), JoseError::Key(JwkError::NotUsed)),
        (with(p256(), json!({"d": "AQ"})), JoseError::Key(JwkError::Private)),
        (with(p256(), json!({"alg": "PS256"})), JoseError::Key(JwkError::NotUsed)),
        (with(p256(), json!({"use": "enc"})), JoseError::Key(JwkError::NotUsed)),
        (json!({"kty": "oct", "k": "AQ"}), JoseError::Key(JwkError::Private)),
    ] {
        assert_eq!(embedded("ES256", jwk.clone()), Err(error), "{jwk}");
    }
    let without = token(r#"{"alg":"ES256"}"#, "{}");
    assert_eq!(Jws::parse(without.as_bytes(), 8192).unwrap().embedded_key(), Err(JoseError::Header("jwk")));
}

/// 7519-4.1-01
#[test]
fn claims_have_their_types() {
    let claims = r#"{"t":"x","n":7,"f":1999999999.5,"s":"1999999999","m":-1,"z":null,"big":9007199254740993,
        "l":["a","b"],"e":[],"mixed":["a",1],"o":{"a":"b"}}"#;
    let token = token(r#"{"alg":"ES256"}"#, claims);
    let token = Jws::parse(token.as_bytes(), 8192).unwrap();
    let claims = token.claims();
    assert_eq!((claims.text("t"), claims.text("?")), (Ok(Some("x")), Ok(None)));
    assert_eq!((claims.time("n"), claims.time("f")), (Ok(Some(7)), Ok(Some(1_999_999_999))));
    assert_eq!(claims.time("?"), Ok(None));
    for name in ["s", "m", "z", "big", "l", "o"] {
        assert_eq!(claims.time(name), Err(JoseError::Claim(name)));
    }
    for name in ["n", "z", "l", "o"] {
        assert_eq!(claims.text(name), Err(JoseError::Claim(name)));
    }
}

/// 7523-3-02, 7519-4.1-01
#[test]
fn an_audience_is_a_text_or_a_list_of_texts() {
    let audience = |claims: Value| {
        let token = token(r#"{"alg":"ES256"}"#, &claims.to_string());
        let token = Jws::parse(token.as_bytes(), 8192).unwrap();
        let read = token.claims().audience();
        read.map(|read| read.map(|(texts, is_list)| (texts.concat(), texts.len(), is_list)))
    };
    assert_eq!(audience(json!({})), Ok(None));
    assert_eq!(audience(json!({"aud": "a"})), Ok(Some(("a".to_owned(), 1, false))));
    assert_eq!(audience(json!({"aud": ["a"]})), Ok(Some(("a".to_owned(), 1, true))));
    assert_eq!(audience(json!({"aud": ["a", "b"]})), Ok(Some(("ab".to_owned(), 2, true))));
    assert_eq!(audience(json!({"aud": []})), Ok(Some((String::new(), 0, true))));
    for wrong in [json!(null), json!(1), json!({"a": "b"}), json!(["a", 1]), json!([["a"]])] {
        assert_eq!(audience(json!({"aud": wrong})), Err(JoseError::Claim("aud")));
    }
}

fn set(keys: &[Value]) -> String {
    json!({"keys": keys}).to_string()
}

/// 7517-5-11
#[test]
fn a_registered_set_has_a_usable_key_and_no_kid_twice() {
    let other = with(p256(), json!({"kty": "XYZ"}));
    let encryption = with(rsa(), json!({"use": "enc", "kid": "k"}));
    let named = |key: Value| with(key, json!({"kid": "k"}));
    let one = set(&[p256()]);
    let parse = |keys: &[Value]| JwkSet::parse_within(set(keys), BOUNDS);
    assert_eq!(parse(&[p256()]).unwrap().keys().len(), 1);
    assert_eq!(
        parse(&[other.clone(), p256(), encryption.clone()]).unwrap().as_str(),
        parse(&[p256()]).unwrap().as_str()
    );
    assert_eq!(parse(&[encryption, named(p256())]).unwrap().keys().len(), 1);
    assert_eq!(parse(&[p256(), p256()]).unwrap().keys().len(), 2, "neither has a kid");
    for (keys, error) in [
        (&[other][..], JwkSetError::NoUsableKey),
        (&[], JwkSetError::NoUsableKey),
        (&[named(p256()), named(ed25519())], JwkSetError::KeyIdTwice),
        (&[p256(), with(rsa(), json!({"n": "AQ"}))], JwkSetError::Key(2, JwkError::Modulus)),
        (&[with(p256(), json!({"d": "AQ"}))], JwkSetError::Key(1, JwkError::Private)),
        (&[json!(1)], JwkSetError::Key(1, JwkError::Member("kty"))),
        (&vec![p256(); 33], JwkSetError::TooManyKeys(32)),
    ] {
        assert_eq!(parse(keys), Err(error), "{keys:?}");
    }
    assert_eq!(parse(&vec![p256(); 32]).unwrap().keys().len(), 32);
    let bytes = |bytes| JwkSet::parse_within(&one, JwkSetBounds { bytes, keys: 1 }).map(|_| ());
    assert_eq!((bytes(one.len()), bytes(one.len() - 1)), (Ok(()), Err(JwkSetError::TooLarge(one.len() - 1))));
    for text in ["", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[],\"keys\":[]}", "{\"keys\":[{\"kty\":1,\"kty\":1}]}"] {
        assert_eq!(JwkSet::parse(text), Err(JwkSetError::NotASet), "{text}");
    }
}

/// 7517-4-01
#[test]
fn a_fetched_set_leaves_out_what_it_cannot_use() {
    let private = with(p256(), json!({"d": "AQ"}));
    let weak = with(rsa(), json!({"n": "AQ"}));
    let off_curve = with(p256(), json!({"x": p256()["y"].clone()}));
    let named = with(ed25519(), json!({"kid": "k"}));
    let keys = [private, named.clone(), weak, off_curve, json!({"kty": "oct", "k": "AQ"}), json!(1), named, p256()];
    let fetched = JwkSet::parse_fetched(set(&keys), BOUNDS).unwrap();
    assert_eq!(fetched.left_out, 5);
    let kinds: Vec<_> = fetched.set.keys().iter().map(Jwk::algorithm).collect();
    assert_eq!(kinds, [SigningAlgorithm::EdDsa, SigningAlgorithm::EdDsa, SigningAlgorithm::Es256]);
    let none = JwkSet::parse_fetched(set(&[]), BOUNDS).unwrap();
    assert_eq!((none.set.keys().len(), none.left_out), (0, 0));
    let many = set(&vec![p256(); 33]);
    assert_eq!(JwkSet::parse_fetched(&many, BOUNDS), Err(JwkSetError::TooManyKeys(32)));
    let small = JwkSetBounds { bytes: many.len() - 1, keys: 100 };
    assert_eq!(JwkSet::parse_fetched(&many, small), Err(JwkSetError::TooLarge(many.len() - 1)));
    assert_eq!(JwkSet::parse_fetched("[]", BOUNDS), Err(JwkSetError::NotASet));
}

/// 7517-4-01: the sets of RFC 7517 appendices A.1 to A.3.
#[test]
fn the_sets_of_the_rfc_are_read_or_refused() {
    let encryption = json!({
        "kty": "EC", "crv": "P-256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
        "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM", "use": "enc", "kid": "1",
    });
    let signing = with(rsa(), json!({"alg": "RS256", "kid": "2011-04-29"}));
    let public = JwkSet::parse(set(&[encryption.clone(), signing])).unwrap();
    let [key] = public.keys() else { panic!("{public:?}") };
    assert_eq!((key.key_id(), key.algorithm()), (Some("2011-04-29"), SigningAlgorithm::Rs256));
    let private = with(encryption, json!({"d": "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}));
    assert_eq!(JwkSet::parse(set(&[private])), Err(JwkSetError::Key(1, JwkError::Private)));
    let symmetric = json!({"kty": "oct", "alg": "A128KW", "k": "GawgguFyGrWKav7AX4VKUg"});
    assert_eq!(JwkSet::parse(set(&[symmetric])), Err(JwkSetError::Key(1, JwkError::Private)));
}

/// A record contains only public members, and is read under any bounds.
#[test]
fn a_record_of_a_set_comes_back_equal() {
    let escaped = "a \"kid\" \\ \u{1f511} \u{1}";
    let keys = [
        with(p256(), json!({"kid": escaped, "alg": "ES256", "use": "sig", "x5c": ["AA=="], "foo": {"bar": 1}})),
        rsa(),
        with(ed25519(), json!({"alg": "Ed25519"})),
    ];
    let set = JwkSet::parse(set(&keys)).unwrap();
    assert_eq!(JwkSet::from_record(set.as_str()).unwrap(), set);
    assert_eq!(set.keys()[0].key_id(), Some(escaped));
    let read: Value = serde_json::from_str(set.as_str()).unwrap();
    let names = |key: usize| {
        let mut names: Vec<_> = read["keys"][key].as_object().unwrap().keys().cloned().collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!([names(0), names(1), names(2)], ["alg crv kid kty x y", "e kty n", "alg crv kty x"]);
    for wrong in ["", "{}", "[]", "{\"keys\":[1]}", "{\"keys\":[{}]}", "{\"keys\":[]}x"] {
        assert_eq!(JwkSet::from_record(wrong), None, "{wrong}");
    }
}

/// 7515-2-01
#[test]
fn a_value_has_one_spelling() {
    for (text, bytes) in [("", &b""[..]), ("AA", b"\0"), ("_-8", b"\xff\xef"), ("_-_v", b"\xff\xef\xef")] {
        assert_eq!(base64url::decode(text).as_deref(), Some(bytes), "{text}");
        assert_eq!(base64url::encode(bytes), text);
    }
    for text in
        ["A", "AAAAA", "AA==", "AA=", "AAA=", "AB", "AAB", "_-9", "+/8", "A A", " AA", "AA\n", "AA\r\n", "A.A", "Ä"]
    {
        assert_eq!(base64url::decode(text), None, "{text}");
    }
}
