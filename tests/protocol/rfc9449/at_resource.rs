//! A resource that requires proofs.

use grantor::wire::{Request, Response};
use grantor::{Authenticated, ResourceError};

use crate::rfc9449::now;
use support::keys::{Signer, token_hash};
use support::world::{ISSUER, World};

/// The path of the resource.
pub(crate) const PATH: &str = "/api/me";

/// Its public URL.
pub(crate) fn url() -> String {
    format!("{ISSUER}{PATH}")
}

/// A proof for a GET of the resource with that token.
pub(crate) fn proof(world: &World, key: &Signer, token: &str) -> String {
    proof_for(world, key, token, "GET", &url())
}

/// A proof for another request.
pub(crate) fn proof_for(world: &World, key: &Signer, token: &str, method: &str, url: &str) -> String {
    key.proof(method, url, now(world), |_, claims| claims["ath"] = token_hash(token).into())
}

/// A GET of the resource with that `Authorization` and these `DPoP` lines.
pub(crate) async fn get(world: &World, authorization: &str, proofs: &[&str]) -> Result<Authenticated, ResourceError> {
    let request = Request::new("GET").path(PATH).header("Authorization", authorization.as_bytes());
    let request = proofs.iter().fold(request, |request, proof| request.header("DPoP", proof.as_bytes()));
    world.server.resource().authenticate(&request).await
}

/// The same under the DPoP scheme.
pub(crate) async fn show(world: &World, token: &str, proof: &str) -> Result<Authenticated, ResourceError> {
    get(world, &format!("DPoP {token}"), &[proof]).await
}

/// The values of `WWW-Authenticate`.
pub(crate) fn challenges(response: &Response) -> Vec<&str> {
    let own = response.headers().filter(|(name, _)| *name == "WWW-Authenticate");
    own.map(|(_, value)| value).collect()
}

/// `WD(x)`: 401 with one challenge of DPoP, and that error.
#[track_caller]
pub(crate) fn wd(outcome: Result<Authenticated, ResourceError>, error: &str) -> Response {
    let refused = outcome.expect_err("the request was accepted");
    let shown = refused.to_string();
    let response = refused.into_response();
    assert_eq!(response.status(), 401, "{shown}");
    let [challenge] = challenges(&response)[..] else { panic!("{:?}", challenges(&response)) };
    let start = format!("DPoP realm=\"https://auth.example\", error=\"{error}\", error_description=\"");
    assert!(challenge.starts_with(&start), "{challenge}: {shown}");
    assert!(challenge.contains("\", algs=\"ES256 PS256 EdDSA Ed25519\""), "{challenge}");
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert_eq!(response.body(), b"");
    response
}
