//! The public keys that access tokens are signed with [RFC 7517 section 5].

use std::collections::BTreeMap;

use serde_json::json;

use crate::context::Context;
use crate::error::Reason;
use crate::error::response;
use crate::jose::Jwk;
use crate::jose::access_jwt::KEY_SET_MAX_AGE;
use crate::wire::{Endpoint, Request, Response};

/// Answers with the keys that are published now.
pub(crate) fn serve(context: &Context, request: &Request<'_>) -> Response {
    if !Endpoint::Jwks.allows(request.method) {
        return response::to_client(&Reason::MethodNotAllowed, request, Endpoint::Jwks, &context.config);
    }
    let keys: Vec<_> = context.signing_keys.published(context.now()).map(published).collect();
    Response::new(200)
        .with_header("Content-Type", "application/jwk-set+json")
        .with_header("Cache-Control", format!("public, max-age={KEY_SET_MAX_AGE}"))
        .with_body(json!({ "keys": keys }).to_string().into_bytes())
}

/// The public members of a key, with `kid`, `alg` and `use`.
fn published(key: &Jwk) -> BTreeMap<&'static str, String> {
    let mut members = key.members();
    members.insert("use", "sig".to_owned());
    members
}
