//! The form of a JWT access token [RFC 9068]: what every reader checks before the claims.

use crate::jose::{Jwk, Jws, SigningAlgorithm};

/// The `typ` of its header [RFC 9068 section 2.1].
pub(crate) const TYPE: &str = "at+jwt";

/// The longest one in bytes, since proxies limit the length of headers. A token that would be longer is issued in the
/// opaque form. With fewer resources, it would show the API less than the user allowed.
pub(crate) const MAX_BYTES: usize = 4096;

/// What `sub` begins with if the client acts for itself. The client id follows. Without it, a client id could be taken
/// for a user [RFC 9068 section 5].
pub(crate) const CLIENT_SUBJECT: &str = "client:";

/// How long an API may keep the key set, in seconds. It equals the default of `tokens.jwt_lifetime`.
pub(crate) const KEY_SET_MAX_AGE: u32 = 300;

/// The algorithms that it may be signed with.
pub(crate) const ALGORITHMS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::Es256, SigningAlgorithm::Rs256, SigningAlgorithm::EdDsa];

/// The members of its header. A token with any other is refused, so `jku`, `jwk` and `x5u` need no rule of their own.
const HEADER: [&str; 3] = ["alg", "kid", "typ"];

/// The members that this library writes or reads, in a JWT or in an answer to introspection.
pub(crate) const RESERVED: [&str; 22] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    "client_id",
    "scope",
    "cnf",
    "act",
    "may_act",
    "auth_time",
    "acr",
    "amr",
    "active",
    "token_type",
    "token_use",
    "typ",
    "resource_scope",
    "resources",
    "authorization_details",
];

/// Returns whether a service may not use that name for a claim of its own. Some readers ignore the case of names, as
/// that of Go does, so this compares after Unicode case folding.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.is_empty() || RESERVED.contains(&name.to_uppercase().to_lowercase().as_str())
}

/// Parses a token whose header says that it is a JWT access token. `None` for any other text.
///
/// > The resource server MUST verify that the "typ" header value is "at+jwt" or "application/at+jwt" and reject tokens
/// > carrying any other value.
///
/// [RFC 9068 section 4]
pub(crate) fn parse(text: &[u8]) -> Option<Jws<'_>> {
    let jws = Jws::parse(text, MAX_BYTES).ok()?;
    let has_only_known = jws.header_names().all(|name| HEADER.contains(&name));
    (has_only_known && jws.typ() == Some(TYPE) && jws.key_id().is_some()).then_some(jws)
}

/// Returns whether a key has signed the token. The key, and not the token, determines the algorithm [RFC 8725 section
/// 3.1].
pub(crate) fn is_signed(jws: &Jws<'_>, key: &Jwk) -> bool {
    let algorithm = key.algorithm();
    ALGORITHMS.contains(&algorithm) && jws.is_signed_by(key, algorithm)
}
