//! DPoP proofs: signatures that show that the sender of a request has a key [RFC 9449]. A proof is verified here; the
//! caller records it as used, after all other checks.

pub(crate) mod nonce;
#[cfg(test)]
mod tests;

pub(crate) use nonce::Role;

use std::fmt;
use std::time::Duration;

use crate::base::base64url;
use crate::base::clock::{ALLOWED_SKEW, Timestamp};
use crate::config::Config;
use crate::config::tokens::{PROOF_ALGORITHMS, PROOF_BYTES, PROOF_LIFETIME};
use crate::error::Reason;
use crate::jose::{Claims, JoseError, Jwk, JwkThumbprint, Jws};
use crate::model::target_uri::TargetUri;
use crate::model::{MAX_JTI_BYTES, Replay};
use crate::secret::Digest;

/// The `typ` of a proof [RFC 9449 section 4.2].
const TYPE: &str = "dpop+jwt";
/// A proof is remembered for longer if its `iat` is in the future, but for this long at most. A later `iat` passes only
/// with a nonce, and only if the client's clock is more than an hour ahead.
const FARTHEST: Duration = Duration::from_secs(3600);

/// The request that a proof must be for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    /// The method of the request.
    pub(crate) method: &'a str,
    /// The public URL of the request. It comes from the settings, never from a header of the request.
    pub(crate) url: &'a TargetUri,
    /// The access token that was sent with the proof, at a resource. The proof must contain its digest.
    pub(crate) access_token: Option<&'a [u8]>,
    /// Whose nonce the proof needs, if nonces are on.
    pub(crate) role: Role,
}

/// A proof that was verified. The caller must still record it as used.
#[derive(Clone, Copy)]
pub(crate) struct Proof {
    /// The key that signed it.
    pub(crate) key: JwkThumbprint,
    /// The record of its use.
    pub(crate) replay: Replay,
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Verifies the value of the only `DPoP` header of a request. It reads neither clock nor store, and records nothing.
///
/// The signature comes last, because it costs more than all other checks together. An attacker learns nothing more by
/// this: the sender chooses the key, and so can sign any proof. But no nonce is handed out for a wrong signature.
///
/// # Errors
///
/// [`Reason::DpopProof`], which states what is wrong; [`Reason::DpopNonceNeeded`] if only the nonce is missing or old.
pub(crate) fn verify(header: &[u8], expected: &Expected<'_>, config: &Config, now: Timestamp) -> Result<Proof, Reason> {
    let jws = Jws::parse(header, PROOF_BYTES).map_err(malformed)?;
    judge_header(&jws)?;
    let claims = jws.claims();
    let identifier = judge_request(claims, expected)?;
    judge_access_token(claims, expected.access_token)?;
    let end = judge_time(claims, expected.role, config, now)?;
    let key = verify_signature(&jws)?.thumbprint();
    let end = end.ok_or(Reason::DpopNonceNeeded)?;
    // > To prevent such attacks, servers can store, in the context of the target URI, the jti value of each DPoP proof.
    //
    // § 11.1. A digest of the whole proof is not enough: an ECDSA signature can be changed to another valid one without
    // the key.
    let parts = [key.bytes(), expected.method.as_bytes(), expected.url.as_str().as_bytes(), identifier.as_bytes()];
    Ok(Proof { key, replay: Replay::new(&parts, end) })
}

const fn refused(what: &'static str) -> Reason {
    Reason::DpopProof(what)
}

/// Checks type and algorithm.
fn judge_header(jws: &Jws<'_>) -> Result<(), Reason> {
    if jws.typ() != Some(TYPE) {
        return Err(refused("its typ is not dpop+jwt"));
    }
    if !PROOF_ALGORITHMS.contains(&jws.algorithm()) {
        return Err(refused("its alg is not accepted for proofs"));
    }
    Ok(())
}

/// Verifies the signature with the key in the header. Returns that key.
fn verify_signature(jws: &Jws<'_>) -> Result<Jwk, Reason> {
    let key = jws.embedded_key().map_err(malformed)?;
    if !key.is_cheap() {
        return Err(refused("its RSA key has more than 4096 bits, or an exponent above 65537"));
    }
    if !jws.is_signed_by(&key, jws.algorithm()) {
        return Err(refused("its signature is wrong"));
    }
    Ok(key)
}

/// Compares method and URL, and returns the `jti`.
fn judge_request<'c>(claims: &'c Claims, expected: &Expected<'_>) -> Result<&'c str, Reason> {
    let identifier = claims.text("jti").map_err(malformed)?.ok_or(refused("jti is missing"))?;
    if identifier.is_empty() || identifier.len() > MAX_JTI_BYTES {
        return Err(refused("jti is empty or has more than 256 bytes"));
    }
    if claims.text("htm").map_err(malformed)? != Some(expected.method) {
        return Err(refused("htm is not the method of the request"));
    }
    // > the htu claim matches the HTTP URI value for the HTTP request in which the JWT was received, ignoring any query
    // > and fragment parts
    let url = claims.text("htu").map_err(malformed)?.and_then(TargetUri::parse);
    if url.as_ref() != Some(expected.url) {
        return Err(refused("htu is not the public URL of the request"));
    }
    Ok(identifier)
}

/// > Hash of the access token. The value MUST be the result of a base64url encoding (as defined in Section 2 of
/// > \[RFC7515\]) the SHA-256 \[SHS\] hash of the ASCII encoding of the associated access token's value.
///
/// § 4.2. Without an access token, `ath` is ignored.
fn judge_access_token(claims: &Claims, token: Option<&[u8]>) -> Result<(), Reason> {
    let Some(token) = token else { return Ok(()) };
    let expected = base64url::encode(Digest::of(token).bytes());
    match claims.text("ath").map_err(malformed)? {
        Some(digest) if digest == expected => Ok(()),
        Some(_) => Err(refused("ath is the digest of another access token")),
        None => Err(refused("ath is missing")),
    }
}

/// Checks the times, and the nonce last. Returns the time until which a copy of the proof could be accepted, even if
/// the settings change: nonces may be switched off, or older proofs accepted. Returns `None` if only the nonce is
/// missing or old.
///
/// > if the server provided a nonce value to the client, the nonce claim matches the server-provided nonce value, the
/// > creation time of the JWT, as determined by either the iat claim or a server managed timestamp via the nonce claim,
/// > is within an acceptable window
///
/// § 4.3. So with nonces, `iat` is not compared with the clock, and a client with a wrong clock can be served.
fn judge_time(claims: &Claims, role: Role, config: &Config, now: Timestamp) -> Result<Option<Timestamp>, Reason> {
    let time = |name| claims.time(name).map_err(malformed);
    let seconds = u64::from(now.seconds());
    let latest = seconds + config.client_authentication.clock_skew.as_secs();
    let issued = time("iat")?.ok_or(refused("iat is missing"))?;
    if time("exp")?.is_some_and(|end| seconds >= end) {
        return Err(refused("it has expired"));
    }
    if time("nbf")?.is_some_and(|begin| begin > latest) {
        return Err(refused("nbf is in the future"));
    }
    let keys = &config.dpop.nonce_keys;
    let end = if !keys.is_empty() {
        let nonce = claims.text("nonce").map_err(malformed)?;
        let Some(end) = nonce.and_then(|nonce| nonce::expiry(keys, role, nonce, now)) else { return Ok(None) };
        end
    } else {
        if issued > latest {
            return Err(refused("iat is in the future"));
        }
        if seconds >= issued.saturating_add(PROOF_LIFETIME.as_secs()) {
            return Err(refused("iat is too old"));
        }
        now
    };
    let oldest = issued.saturating_add(PROOF_LIFETIME.as_secs());
    let oldest = Timestamp::from_seconds(u32::try_from(oldest).unwrap_or(u32::MAX));
    // The clock of another server may be behind by as much.
    Ok(Some(end.max(oldest.min(now.plus(FARTHEST))).plus(Duration::from_secs(ALLOWED_SKEW.into()))))
}

const fn malformed(error: JoseError) -> Reason {
    refused(match error {
        JoseError::TooLong(_) => "it has more than 4096 bytes",
        JoseError::Form => "it is not three parts with two periods between them",
        JoseError::Base64Url => "a part is not canonical base64url",
        JoseError::Json => "the header or the claims are not a JSON object",
        JoseError::Critical => "its header has crit or b64",
        JoseError::Algorithm => "its alg is not accepted",
        JoseError::Header(_) => "a member of its header is missing or has another type",
        JoseError::Key(_) => "its jwk is not a public key that fits its alg",
        JoseError::Claim(_) => "a claim has another type, or is out of range",
    })
}
