//! `jsonwebtoken`, as APIs use it. It fetches nothing by itself.

use std::error::Error;

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use support_servers::http::Request;

use crate::verifiers::verifier::Job;

/// The claims that an access token must have [RFC 9068 section 2.2], and all others.
#[derive(Deserialize, Serialize)]
struct AccessToken {
    iss: String,
    exp: u64,
    aud: String,
    sub: String,
    client_id: String,
    iat: u64,
    jti: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

pub(crate) async fn verdicts(job: &Job<'_>) -> Vec<Value> {
    let metadata = get(&format!("{}/.well-known/oauth-authorization-server", job.issuer)).await;
    let keys = serde_json::from_value(get(metadata["jwks_uri"].as_str().unwrap()).await).unwrap();
    let verdict = |token: &&str| match verify(&keys, job, token) {
        Ok(claims) => json!({"claims": claims}),
        Err(error) => json!({"refused": error.to_string()}),
    };
    job.tokens.iter().map(verdict).collect()
}

fn verify(keys: &JwkSet, job: &Job<'_>, token: &str) -> Result<AccessToken, Box<dyn Error>> {
    let key_id = decode_header(token)?.kid.ok_or("no kid")?;
    let key = keys.find(&key_id).ok_or("no such key")?;
    // The algorithm is that of the key, whatever the token says.
    let mut validation = Validation::new(key.common.key_algorithm.ok_or("a key without alg")?.try_into()?);
    // Otherwise `exp` has 60 s. `iat` is not compared.
    validation.leeway = 0;
    validation.set_issuer(&[job.issuer]);
    validation.set_audience(&[job.audience]);
    validation.set_required_spec_claims(&["iss", "exp", "aud", "sub"]);
    let token = decode::<AccessToken>(token, &DecodingKey::from_jwk(key)?, &validation)?;
    // It does not check the type.
    if token.header.typ.as_deref() != Some("at+jwt") {
        return Err(format!("a token of type {:?}", token.header.typ).into());
    }
    Ok(token.claims)
}

async fn get(url: &str) -> Value {
    Request::to("GET", url).send().await.json()
}
