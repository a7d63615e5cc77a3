//! The rules for a client's assertion, except for key and signature [RFC 7523 section 3, RFC 10070].

use std::borrow::Cow;
use std::time::Duration;

use crate::base::clock::{ALLOWED_SKEW, Timestamp};
use crate::config::clients::ASSERTION_BYTES;
use crate::config::{AssertionAudience, Config};
use crate::jose::{Claims, JoseError, Jws};
use crate::model::client::{AuthenticationMethod, Client};
use crate::model::{MAX_JTI_BYTES, Replay};
use crate::wire::Endpoint;

/// The type of assertions that are only for client authentication [RFC 10070].
const OWN_TYPE: &str = "client-authentication+jwt";

/// How far `exp` may be ahead in an assertion for the URL of the token endpoint.
const TOKEN_URL_LIFETIME: Duration = Duration::from_secs(600);

/// Parses an assertion, and refuses it if its header is not that of an assertion. Nothing in it is verified yet.
pub(super) fn read<'a>(bytes: &'a [u8], config: &Config) -> Result<Jws<'a>, Cow<'static, str>> {
    let jws = Jws::parse(bytes, ASSERTION_BYTES).map_err(text_of)?;
    // A token of another type is not an assertion, even if the client signed it [RFC 8725 section 3.11].
    match jws.typ() {
        Some(OWN_TYPE) => {}
        None | Some("jwt") => {}
        Some(_) => return Err("typ is of another kind of token".into()),
    }
    if !config.assertion_algorithms().any(|algorithm| algorithm == jws.algorithm()) {
        return Err("alg is not accepted".into());
    }
    Ok(jws)
}

/// The client that the assertion claims to be from: `sub`.
pub(super) fn client<'j>(assertion: &'j Jws<'_>) -> Result<&'j str, Cow<'static, str>> {
    needed(assertion.claims(), "sub", "sub is missing")
}

/// Checks the claims in the order of RFC 7523 section 3. Returns the record of its use, which prevents a second
/// use.
pub(super) fn judge(
    assertion: &Jws<'_>,
    client: &Client,
    endpoint: Endpoint,
    config: &Config,
    now: Timestamp,
) -> Result<Replay, Cow<'static, str>> {
    let claims = assertion.claims();
    let id = client.id.as_str();
    if needed(claims, "iss", "iss is missing")? != id {
        return Err("iss is not the client".into());
    }
    if self::client(assertion)? != id {
        return Err("sub is not the client".into());
    }
    let longest = judge_audience(assertion, client, endpoint, config)?;
    let end = judge_times(claims, longest, config, now)?;
    let jti = needed(claims, "jti", "jti is missing")?;
    if jti.len() > MAX_JTI_BYTES {
        return Err("jti is too long".into());
    }
    // Kept until the assertion has expired by the clocks of all servers, since any of them may remove the record.
    let end = end.plus(Duration::from_secs(ALLOWED_SKEW.into()));
    Ok(Replay::new(&[id.as_bytes(), jti.as_bytes()], end))
}

/// > The authorization server MUST reject any JWT that does not contain its own identity as the intended audience.
///
/// [RFC 7523 section 3], and the issuer is the only such identity [RFC 10070]. Returns how far `exp` may be ahead.
fn judge_audience(
    assertion: &Jws<'_>,
    client: &Client,
    endpoint: Endpoint,
    config: &Config,
) -> Result<Duration, Cow<'static, str>> {
    let (values, is_list) = assertion.claims().audience().map_err(text_of)?.ok_or("aud is missing")?;
    let [audience] = values[..] else { return Err("aud does not have exactly one value".into()) };
    if is_list && config.client_authentication.assertion_audience == AssertionAudience::IssuerString {
        return Err("aud is a list".into());
    }
    let is_untyped = assertion.typ() != Some(OWN_TYPE);
    let is_legacy = config.client_authentication.assertion_audience == AssertionAudience::Legacy && is_untyped;
    if audience == config.issuer || is_legacy && is_url_of(audience, endpoint, config) {
        return Ok(config.client_authentication.assertion_lifetime());
    }
    let is_for_token_url = config.registration.token_url_audience
        && is_untyped
        && is_public_by_document(client)
        && matches!(endpoint, Endpoint::Token | Endpoint::Revocation)
        && audience == config.url_of(Endpoint::Token);
    if is_for_token_url { Ok(TOKEN_URL_LIFETIME) } else { Err("aud is not the issuer".into()) }
}

/// Whether the client's metadata document lists `none`: it is public, so an assertion that was made for another server
/// opens nothing that the document does not open to everybody.
fn is_public_by_document(client: &Client) -> bool {
    client.is_of_document() && client.form.authentication_methods.contains(AuthenticationMethod::None)
}

/// Whether the audience is the URL of the token endpoint, or, at the endpoint for pushed requests, the URL of that
/// endpoint.
fn is_url_of(audience: &str, endpoint: Endpoint, config: &Config) -> bool {
    let is_pushed = endpoint == Endpoint::PushedAuthorization && audience == config.url_of(endpoint);
    is_pushed || audience == config.url_of(Endpoint::Token)
}

/// Checks `exp`, `nbf` and `iat`, and returns when the assertion expires. Clocks differ, so `clock_skew` is allowed for
/// `exp`, and for times in the future.
fn judge_times(
    claims: &Claims,
    longest: Duration,
    config: &Config,
    now: Timestamp,
) -> Result<Timestamp, Cow<'static, str>> {
    let time = |name| claims.time(name).map_err(text_of);
    let (now, skew) = (u64::from(now.seconds()), config.client_authentication.clock_skew.as_secs());
    let longest = longest.as_secs();
    let exp = time("exp")?.ok_or("exp is missing")?;
    let end = exp.saturating_add(skew);
    if now >= end {
        return Err("it has expired".into());
    }
    if exp > now.saturating_add(longest).saturating_add(skew) {
        return Err("exp is too far ahead".into());
    }
    let (nbf, iat) = (time("nbf")?, time("iat")?);
    if [nbf, iat].into_iter().flatten().any(|time| time > now.saturating_add(skew)) {
        return Err("nbf or iat is in the future".into());
    }
    if [nbf, iat].into_iter().flatten().any(|time| time >= exp) {
        return Err("exp is not later than nbf and iat".into());
    }
    if iat.is_some_and(|iat| iat.saturating_add(longest) < now) {
        return Err("iat is too old".into());
    }
    Ok(Timestamp::from_seconds(u32::try_from(end).unwrap_or(u32::MAX)))
}

/// Returns a claim that must be a non-empty string.
fn needed<'c>(claims: &'c Claims, name: &'static str, missing: &'static str) -> Result<&'c str, Cow<'static, str>> {
    claims.text(name).map_err(text_of)?.filter(|text| !text.is_empty()).ok_or_else(|| missing.into())
}

fn text_of(error: JoseError) -> Cow<'static, str> {
    error.to_string().into()
}
