//! Which keys and settings are accepted, and what the security report says of them.

use std::time::Duration;

use grantor::hooks::SigningKeyError;
use grantor::{AuthorizationServer, MemoryStore};

use super::*;

/// 9068-2.1-01
#[test]
fn only_keys_for_public_verification_are_accepted() {
    let refused = |jwk: Value| SigningKey::with_signer(&jwk.to_string(), Nobody).unwrap_err().to_string();
    let shared = json!({"kty": "oct", "k": "AAAA", "alg": "HS256"});
    assert!(refused(shared).contains("private or symmetric key"));
    let mut hs256 = Signer::es256().jwk();
    hs256["alg"] = "HS256".into();
    assert!(refused(hs256).contains("alg"));
    // 1024 bits.
    let mut short = Signer::rs256().jwk_with_algorithm();
    short["n"] = URL_SAFE_NO_PAD.encode([0xff; 128]).into();
    assert!(refused(short).contains("2048"));
    assert!(refused(Signer::es256().jwk()).contains("alg"), "the algorithm must be named");
    assert!(refused(Signer::ps256().jwk_with_algorithm()).contains("PS256"));
    assert!(refused(json!("no object")).contains("JSON object"));
    for algorithm in [SigningAlgorithm::Es256, SigningAlgorithm::Rs256, SigningAlgorithm::EdDsa] {
        let error = SigningKey::from_pkcs8(algorithm, b"no key").unwrap_err();
        assert!(error == SigningKeyError::PrivateKey(algorithm) && error.to_string().contains(algorithm.as_str()));
    }
    let short = include_bytes!("../../data/keys/rsa-1024.pk8");
    let error = SigningKey::from_pkcs8(SigningAlgorithm::Rs256, short).unwrap_err();
    assert!(error.to_string().contains("RSA keys of 2048"), "{error}");
    let largest = Signer::largest_of_proofs().jwk();
    let with = |name: &str, value: String| {
        let mut jwk = largest.clone();
        (jwk["alg"], jwk[name]) = ("RS256".into(), value.into());
        SigningKey::with_signer(&jwk.to_string(), Nobody).map(drop)
    };
    assert_eq!(with("e", "AQAB".into()), Ok(()));
    assert_eq!(with("e", URL_SAFE_NO_PAD.encode([1, 0, 3])), Err(SigningKeyError::TooLarge));
    assert_eq!(with("n", URL_SAFE_NO_PAD.encode([0xff; 520])), Err(SigningKeyError::TooLarge));
    let exponent = include_bytes!("../../data/keys/rsa-65539.pk8");
    assert!(matches!(SigningKey::from_pkcs8(SigningAlgorithm::Rs256, exponent), Err(SigningKeyError::TooLarge)));
    // A key of another type than the algorithm's.
    assert!(SigningKey::from_pkcs8(SigningAlgorithm::EdDsa, P256).is_err());
    assert!(SigningKey::from_pkcs8(SigningAlgorithm::Ps256, P256).unwrap_err().to_string().contains("PS256"));
}

/// 9068-2.1-01
#[test]
fn the_fapi_profile_signs_with_its_own_algorithms() {
    let build = |key: SigningKey| {
        let mut config = config_of(Profile::Fapi);
        config.scopes = own_scopes();
        config.resources = vec![jwt(A)];
        AuthorizationServer::builder(config, MemoryStore::new()).signing_keys([key]).build()
    };
    assert!(build(es256()).is_ok());
    let key = SigningKey::from_pkcs8(SigningAlgorithm::Rs256, include_bytes!("../../data/keys/rsa-1.pk8")).unwrap();
    let error = build(key.clone()).unwrap_err().to_string();
    assert!(error.contains(key.key_id()) && error.contains("RS256") && error.contains("FAPI"), "{error}");
}

#[derive(Debug)]
struct Nobody;

#[async_trait::async_trait]
impl grantor::hooks::Signer for Nobody {
    async fn sign(&self, _: &[u8]) -> Result<Vec<u8>, grantor::hooks::SignerError> {
        Err(grantor::hooks::SignerError::new("nobody signs"))
    }
}

fn build(config: Config) -> Result<AuthorizationServer, grantor::ConfigError> {
    AuthorizationServer::builder(config, MemoryStore::new()).signing_keys([es256()]).build()
}

/// 9068-SVC-02
#[test]
fn the_lifetime_is_60_to_900_seconds() {
    for (seconds, is_accepted) in [(59, false), (60, true), (300, true), (900, true), (901, false)] {
        let mut config = config();
        config.tokens.jwt_lifetime = Duration::from_secs(seconds);
        let built = build(config);
        assert_eq!(built.is_ok(), is_accepted, "{seconds}");
        if let Err(error) = built {
            assert_eq!(error.field(), "tokens.jwt_lifetime");
            assert!(error.to_string().contains("60 to 900 s are accepted"), "{error}");
        }
    }
}

/// The findings that the same settings with opaque tokens do not have: setting and consequence.
fn findings(change: impl FnOnce(&mut Config)) -> Vec<(&'static str, String)> {
    let mut config = config();
    config.refresh.grace = Duration::from_secs(60);
    change(&mut config);
    let mut opaque = config.clone();
    opaque.resources.iter_mut().for_each(|own| own.access_tokens = AccessTokenFormat::Opaque);
    let known = build(opaque).unwrap().security_report().findings;
    let findings = build(config).unwrap().security_report().findings;
    let new = findings.into_iter().filter(|finding| !known.contains(finding));
    new.map(|own| (own.setting, own.consequence.into_owned())).collect()
}

/// 9068-SVC-03
#[test]
fn the_report_says_how_late_a_revocation_is_seen() {
    let late = |api: &str, seconds| {
        format!("{api} may accept a revoked token for up to {seconds} s: its access tokens are JWTs")
    };
    assert_eq!(findings(|_| {}), [("resources", late(A, 300)), ("resources", late(B, 300))]);
    let opaque = |config: &mut Config| config.resources[0].access_tokens = AccessTokenFormat::Opaque;
    assert_eq!(findings(opaque), [("resources", late(B, 300))]);
    let found = findings(|config| config.tokens.jwt_lifetime = Duration::from_secs(900));
    assert_eq!((found[0].clone(), found[2].clone()), (("resources", late(A, 900)), ("resources", late(B, 900))));
    for (finding, api) in [(&found[1], A), (&found[3], B)] {
        assert_eq!(finding.0, "tokens.jwt_lifetime");
        assert!(finding.1.contains(api) && finding.1.contains("900 s") && finding.1.contains("300 s"), "{}", finding.1);
    }
    assert_eq!(found.len(), 4);
}

/// 9068-SVC-02
#[test]
fn the_report_says_which_thefts_a_long_grace_hides() {
    let share = |grace: u64, lifetime: u64| {
        let found = findings(|config| {
            config.refresh.grace = Duration::from_secs(grace);
            config.tokens.jwt_lifetime = Duration::from_secs(lifetime);
        });
        let finding = found.into_iter().find(|own| own.0 == "refresh.grace")?.1;
        Some(finding.split_once(" % of the thefts")?.0.rsplit(' ').next()?.to_owned())
    };
    assert_eq!(share(60, 300), None, "a fifth");
    assert_eq!(share(61, 300).as_deref(), Some("20"));
    assert_eq!(share(150, 300).as_deref(), Some("50"));
    assert_eq!(share(300, 300).as_deref(), Some("100"), "all of an active owner's");
    assert_eq!(share(300, 60).as_deref(), Some("100"));
    assert_eq!(share(120, 900), None);
    // Where all access tokens are shorter, that counts.
    let found = findings(|config| config.tokens.access_lifetime = Duration::from_secs(120));
    assert!(found.iter().any(|own| own.0 == "refresh.grace" && own.1.contains("50 % of the thefts")), "{found:?}");
}
