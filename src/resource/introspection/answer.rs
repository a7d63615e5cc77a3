//! What the authorization server answered about a token [RFC 7662 section 2.2].

use std::sync::Arc;

use crate::base::json::Json;
use crate::error::failure::IntrospectionError;
use crate::hooks::TokenRefusal;
use crate::resource::facts::{Binding, Malformed, Members, TokenFacts};
use crate::resource::introspection::settings::{ExpectedAudience, IntrospectionSettings};
use crate::wire::fetch::INTROSPECTION_BYTES;
use crate::wire::fetch::{FetchError, FetchErrorKind, FetchResponse};
use crate::wire::message::TokenType;

/// How deep objects and arrays may be nested: one level more than any member that is read needs.
const DEPTH: usize = 16;

/// What a valid answer means for this resource server.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// The token is for this resource server. Its times are judged at each use.
    Described(Arc<TokenFacts>),
    /// The token is not valid here.
    Refused(TokenRefusal),
}

/// Judges a response.
///
/// # Errors
///
/// [`IntrospectionError`] if it is no answer. Nothing is known about the token then, so it is not refused.
pub(super) fn judge(response: &FetchResponse, settings: &IntrospectionSettings) -> Result<Answer, IntrospectionError> {
    if response.status != 200 {
        return Err(IntrospectionError::Status(response.status));
    }
    if response.body.len() > INTROSPECTION_BYTES {
        return Err(FetchError::new(FetchErrorKind::TooLarge).into());
    }
    if !response.is_json() {
        return Err(IntrospectionError::MediaType);
    }
    let members = Json::read_object(&response.body, DEPTH).ok_or(IntrospectionError::NotAnObject)?;
    judge_members(Members(&members), &response.body, settings)
}

fn judge_members(
    members: Members<'_>,
    body: &[u8],
    settings: &IntrospectionSettings,
) -> Result<Answer, IntrospectionError> {
    if !members.flag("active")?.ok_or(IntrospectionError::MissingMember("active"))? {
        return Ok(Answer::Refused(TokenRefusal::Inactive));
    }
    // Everything is read before anything is judged: a malformed answer is never a verdict.
    let client_id = members.client_id()?.ok_or(IntrospectionError::MissingMember("client_id"))?;
    // If the settings say so, an equal `sub` stands for no user.
    let is_client = |subject: &str| settings.client_id_as_subject && subject == client_id.as_str();
    let subject = members.subject()?.filter(|subject| !is_client(subject.as_str()));
    let audience = members.audience()?.unwrap_or_default();
    let (issuer, token_type) = (members.text("iss")?, members.text("token_type")?);
    // Of Ory Hydra and of Keycloak.
    let (token_use, kind) = (members.text("token_use")?, members.text("typ")?);
    let (binding, scope) = (members.binding()?, members.text("scope")?.unwrap_or_default().into());
    let resource_scope = members.resource_scope()?;
    let (issued, expires, not_before) = (members.time("iat")?, members.time("exp")?, members.time("nbf")?);

    if issuer.is_some_and(|issuer| issuer != settings.issuer) {
        return Ok(Answer::Refused(TokenRefusal::AnotherIssuer));
    }
    if let ExpectedAudience::Is(expected) = &settings.audience
        && !audience.contains(&expected.as_str())
    {
        return Ok(Answer::Refused(TokenRefusal::AnotherAudience));
    }
    let key = match binding {
        Binding::None => None,
        Binding::Key(key) => Some(key),
        Binding::Unknown => return Ok(Answer::Refused(TokenRefusal::UnknownBinding)),
    };
    // Some servers describe refresh tokens and ID tokens too, and say so here. None of them is for an API.
    let is_for_access =
        token_use.is_none_or(|kind| kind == "access_token") && !matches!(kind, Some("Refresh" | "Offline" | "ID"));
    let is_usable = is_for_access
        && match token_type.map(str::parse::<TokenType>) {
            None | Some(Ok(TokenType::Bearer)) => true,
            Some(Ok(TokenType::Dpop)) => key.is_some(),
            Some(Ok(TokenType::Mac) | Err(_)) => false,
        };
    if !is_usable {
        return Ok(Answer::Refused(TokenRefusal::TokenType));
    }
    let claims = members.claims(body);
    let facts = TokenFacts { client_id, subject, scope, resource_scope, key, issued, expires, not_before, claims };
    Ok(Answer::Described(Arc::new(facts)))
}

impl From<Malformed> for IntrospectionError {
    fn from(Malformed(name): Malformed) -> Self {
        Self::MalformedMember(name)
    }
}
