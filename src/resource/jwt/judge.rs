//! What the claims of a JWT access token mean for this resource [RFC 9068 sections 2.2 and 4].

use std::collections::BTreeMap;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, Subject};
use crate::base::json::Json;
use crate::hooks::TokenRefusal;
use crate::jose::access_jwt::CLIENT_SUBJECT;
use crate::resource::facts::{Binding, Malformed, Members, TokenFacts};
use crate::resource::jwt::settings::JwtSettings;

/// Judges the claims, except for their times, which [`refused_as_jwt_at`] judges at each use. They count only once the
/// signature is verified.
///
/// # Errors
///
/// Why the token is not valid here.
pub(super) fn judge(claims: &BTreeMap<String, Json>, settings: &JwtSettings) -> Result<TokenFacts, TokenRefusal> {
    let claims = Members(claims);
    // > The issuer identifier for the authorization server […] MUST exactly match the value of the "iss" claim.
    if needed("iss", claims.text("iss")?)? != settings.issuer {
        return Err(TokenRefusal::AnotherIssuer);
    }
    // > The JWT access token MUST be rejected if "aud" does not contain a resource indicator of the current resource
    // > server as a valid audience.
    if !needed("aud", claims.audience()?)?.contains(&settings.audience.as_str()) {
        return Err(TokenRefusal::AnotherAudience);
    }
    let key = match claims.binding()? {
        Binding::None => None,
        Binding::Key(key) => Some(key),
        Binding::Unknown => return Err(TokenRefusal::UnknownBinding),
    };
    needed("jti", claims.text("jti")?)?;
    let client_id = needed("client_id", claims.client_id()?)?;
    Ok(TokenFacts {
        subject: subject(claims, &client_id)?,
        client_id,
        scope: claims.text("scope")?.unwrap_or_default().into(),
        resource_scope: claims.resource_scope()?,
        key,
        issued: Some(needed("iat", claims.time("iat")?)?),
        expires: Some(needed("exp", claims.time("exp")?)?),
        not_before: claims.time("nbf")?,
        claims: None,
    })
}

/// Returns why the token is not valid now, if it is not.
///
/// > The current time MUST be before the time represented by the "exp" claim.
///
/// The clock of the server that issued the token may be ahead. If it is ahead by minutes, the token is genuine, and not
/// refused here.
pub(super) fn refused_as_jwt_at(facts: &TokenFacts, now: Timestamp) -> Option<TokenRefusal> {
    let is_far = |issued: Timestamp| !issued.may_have_come(now);
    let is_ahead = facts.issued.is_some_and(is_far);
    facts.refused_at(now).or_else(|| is_ahead.then_some(TokenRefusal::NotYetValid))
}

/// > In cases of access tokens obtained through grants where no resource owner is involved, such as the client
/// > credentials grant, the value of "sub" SHOULD correspond to an identifier the authorization server uses to indicate
/// > the client application.
///
/// `None` for such a token.
fn subject(claims: Members<'_>, client: &ClientId) -> Result<Option<Subject>, Malformed> {
    match needed("sub", claims.text("sub")?)?.strip_prefix(CLIENT_SUBJECT) {
        None => claims.subject(),
        Some(id) if id == client.as_str() => Ok(None),
        Some(_) => Err(Malformed("sub")),
    }
}

/// A claim that every token has.
fn needed<T>(name: &'static str, claim: Option<T>) -> Result<T, Malformed> {
    claim.ok_or(Malformed(name))
}

impl From<Malformed> for TokenRefusal {
    fn from(Malformed(name): Malformed) -> Self {
        Self::MalformedClaim(name)
    }
}
