//! Checks the DPoP proof of a request to a resource: the sender must have the key that the access token is bound to
//! [RFC 9449 section 7].

use std::borrow::Cow;

use crate::base::clock::Timestamp;
use crate::client_auth::dpop::nonce;
use crate::client_auth::dpop::{self, Expected, Role};
use crate::client_auth::proof;
use crate::config::Config;
use crate::error::Reason;
use crate::jose::JwkThumbprint;
use crate::model::Replay;
use crate::model::protected_resource::{Entry, origin_of};
use crate::model::target_uri::TargetUri;
use crate::wire::Request;
use crate::wire::response::TokenScheme;

/// Returns the nonce that is handed out to clients of resources now; `None` if proofs need no nonce [RFC 9449 section
/// 9].
pub(crate) fn nonce(config: &Config, now: Timestamp) -> Option<String> {
    nonce::current(config, Role::Resource, now)
}

/// Checks the scheme of a token, and with `verify` the proof of one that is bound to a key. Returns what records its
/// use.
///
/// > such a protected resource MUST reject a DPoP-bound access token received as a bearer token
///
/// [RFC 9449 section 7.2]
pub(crate) fn check(
    scheme: TokenScheme,
    key: Option<&JwkThumbprint>,
    verify: impl FnOnce(&JwkThumbprint) -> Result<Replay, Reason>,
) -> Result<Option<Replay>, Reason> {
    match (scheme, key) {
        (TokenScheme::Bearer, None) => Ok(None),
        (TokenScheme::Dpop, Some(key)) => verify(key).map(Some),
        (TokenScheme::Bearer, Some(_)) | (TokenScheme::Dpop, None) => Err(Reason::WrongTokenScheme),
    }
}

/// Verifies the proof of a request with an access token that is bound to a key, and returns what records its use.
///
/// > the resource server MUST … check that the public key of the DPoP proof matches the public key to which the access
/// > token is bound
///
/// # Errors
///
/// The [`Reason`] why the request is refused.
pub(super) fn prove(
    config: &Config,
    resource: Option<&Entry>,
    request: &Request<'_>,
    token: &[u8],
    key: &JwkThumbprint,
    now: Timestamp,
) -> Result<Replay, Reason> {
    prove_at(config, &target(&url(config, resource, request)?)?, request, token, key, now)
}

/// The same for a request to that URL.
pub(crate) fn prove_at(
    config: &Config,
    url: &TargetUri,
    request: &Request<'_>,
    token: &[u8],
    key: &JwkThumbprint,
    now: Timestamp,
) -> Result<Replay, Reason> {
    let header = proof::dpop_header(request)?.ok_or(Reason::MissingDpopProof)?;
    let expected = Expected { method: request.method, url, access_token: Some(token), role: Role::Resource };
    let proof = dpop::verify(header, &expected, config, now)?;
    // The comparison takes the same time for all keys.
    if proof.key == *key { Ok(proof.replay) } else { Err(Reason::AccessTokenOfAnotherKey) }
}

/// The public URL of the request: the one that your service set, or else the path of the request at the origin of the
/// resource. No header is used, because the client controls the headers.
fn url<'r>(config: &Config, resource: Option<&Entry>, request: &Request<'r>) -> Result<Cow<'r, str>, Reason> {
    if let Some(url) = request.url {
        return Ok(url.into());
    }
    let path = request.path.ok_or(Reason::MissingRequestUrl)?;
    let origin = match resource {
        Some(entry) => entry.origin(),
        None => origin_of(&config.issuer),
    };
    // The slash separates every path from the host.
    Ok(format!("{origin}/{}", path.strip_prefix('/').unwrap_or(path)).into())
}

fn target(url: &str) -> Result<TargetUri, Reason> {
    let is_absolute = || TargetUri::parse(origin_of(url)).is_some();
    match TargetUri::parse(url) {
        Some(target) => Ok(target),
        // The client chose the path.
        None if is_absolute() => Err(Reason::DpopProof("the URL of the request is malformed")),
        None => Err(Reason::MissingRequestUrl),
    }
}
