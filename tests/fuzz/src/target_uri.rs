//! No `htu` of a proof is accepted if a browser would take it to another place than the token endpoint.

use serde_json::json;
use support::keys::Signer;
use support::world::START;

use super::dpop_proof::{is_accepted, is_token_endpoint};

pub(super) fn check(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else { return "no text".to_owned() };
    let signer = Signer::es256();
    let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": signer.jwk()}).to_string();
    let claims = json!({"jti": "a", "htm": "POST", "htu": text, "iat": START}).to_string();
    if !is_accepted(signer.sign(header, claims).as_bytes()) {
        return "refused".to_owned();
    }
    assert!(is_token_endpoint(text), "{text:?}");
    "accepted".to_owned()
}
