//! No proof is accepted that another reader of its JSON would refuse.
//!
//! An input is a header and claims, separated by a line end, which a key signs. An input without a line end is the
//! value of a `DPoP` header. `{jwk}` in the header is replaced by the public key.

use grantor::MemoryStore;
use grantor::config::{DpopBoundTokens, Profile};
use serde_json::Value;
use support::keys::Signer;
use support::world::{AnyStore, START, World, config_of};
use url::Url;

use super::stage::at_once;

/// The seconds that a proof is valid, and those that it may be ahead.
const AGE: f64 = 60.0;
const SKEW: f64 = 30.0;

pub(super) fn check(input: &[u8]) -> String {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
        assert!(!is_accepted(input), "no key signed it: {}", input.escape_ascii());
        return "refused as it is".to_owned();
    };
    let signer = Signer::es256();
    let header = String::from_utf8_lossy(&input[..end]).replace("{jwk}", &signer.jwk().to_string());
    let claims = &input[end + 1..];
    if !is_accepted(signer.sign(&header, claims).as_bytes()) {
        return "refused".to_owned();
    }
    let header: Value = serde_json::from_str(&header).unwrap();
    let typ = header["typ"].as_str().unwrap().to_ascii_lowercase();
    assert_eq!(typ.strip_prefix("application/").unwrap_or(&typ), "dpop+jwt");
    assert_eq!(header["alg"], "ES256");
    for name in ["kty", "crv", "x", "y"] {
        assert_eq!(header["jwk"][name], signer.jwk()[name]);
    }
    assert!(header["jwk"].get("d").is_none() && header.get("crit").is_none());
    let claims: Value = serde_json::from_slice(claims).unwrap();
    assert!((1..=256).contains(&claims["jti"].as_str().unwrap().len()));
    assert_eq!(claims["htm"], "POST");
    assert!(is_token_endpoint(claims["htu"].as_str().unwrap()), "{}", claims["htu"]);
    let (now, issued) = (f64::from(START), claims["iat"].as_f64().unwrap().trunc());
    assert!(issued > now - AGE && issued <= now + SKEW, "{issued}");
    "accepted".to_owned()
}

/// Whether a token request passes the check of its proof: its code is unknown.
pub(super) fn is_accepted(header: &[u8]) -> bool {
    let mut config = config_of(Profile::Platform);
    config.dpop.tokens = DpopBoundTokens::Optional;
    let store = AnyStore::over(MemoryStore::new());
    let world = at_once(World::on(store, config, |builder| builder));
    let form = [("grant_type", "authorization_code"), ("code", "unknown")];
    let response = at_once(world.token(&form).client(&world.client).header("DPoP", header).send());
    assert_eq!(response.status(), 400);
    let error: Value = serde_json::from_slice(response.body()).unwrap();
    match error["error"].as_str().unwrap() {
        "invalid_grant" => true,
        error => {
            assert_eq!(error, "invalid_dpop_proof");
            false
        }
    }
}

/// Whether a browser would send a request for that URL to the token endpoint.
pub(super) fn is_token_endpoint(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let path: Vec<u8> = percent_encoding::percent_decode_str(url.path()).collect();
    url.scheme() == "https"
        && url.host_str() == Some("auth.example")
        && url.port().is_none()
        && url.username().is_empty()
        && url.password().is_none()
        && path == b"/oauth2/token"
}
