//! What the authorization server answered about a token [RFC 7662 section 2.2].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::error::introspection::IntrospectionError;
use crate::fetch::transport::INTROSPECTION_BYTES;
use crate::fetch::{FetchError, FetchErrorKind, FetchResponse};
use crate::hooks::TokenRefusal;
use crate::jose::JwkThumbprint;
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::resource::introspection::settings::{ExpectedAudience, IntrospectionSettings};
use crate::scope::{ResourceList, ResourceScope};
use crate::wire::json::Json;
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

/// What the authorization server knows about a token.
#[derive(Debug)]
pub(crate) struct TokenFacts {
    pub(crate) client_id: ClientId,
    /// `None` if the client acts for itself.
    pub(crate) subject: Option<Subject>,
    /// The scopes as they were sent. The catalog may not have all of them.
    pub(crate) scope: Box<str>,
    pub(crate) resource_scope: ResourceScope,
    /// The key that the token is bound to.
    pub(crate) key: Option<JwkThumbprint>,
    pub(crate) issued: Option<Timestamp>,
    pub(crate) expires: Option<Timestamp>,
    not_before: Option<Timestamp>,
}

impl TokenFacts {
    /// Returns why the token is not valid now, if it is not.
    pub(super) fn refused_at(&self, now: Timestamp) -> Option<TokenRefusal> {
        if self.expires.is_some_and(|expires| now >= expires) {
            return Some(TokenRefusal::Expired);
        }
        self.not_before.filter(|not_before| now < *not_before).map(|_| TokenRefusal::NotYetValid)
    }

    /// The bytes that they take in memory.
    pub(super) fn bytes(&self) -> usize {
        let resources = match &self.resource_scope {
            ResourceScope::Specified(list) => list.iter().map(|name| size_of::<Box<str>>() + name.len()).sum(),
            ResourceScope::All | ResourceScope::Public => 0,
        };
        let subject = self.subject.as_ref().map_or(0, |subject| subject.as_str().len());
        size_of::<Self>() + self.client_id.as_str().len() + subject + self.scope.len() + resources
    }
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
    Members(members).judge(settings)
}

/// The members of an answer. A member that has another type, such as null, is malformed, and not absent.
struct Members(BTreeMap<String, Json>);

impl Members {
    fn judge(&self, settings: &IntrospectionSettings) -> Result<Answer, IntrospectionError> {
        if !self.read("active", Json::as_flag)?.ok_or(IntrospectionError::MissingMember("active"))? {
            return Ok(Answer::Refused(TokenRefusal::Inactive));
        }
        // Everything is read before anything is judged: a malformed answer is never a verdict.
        let client_id = self.text("client_id")?.ok_or(IntrospectionError::MissingMember("client_id"))?;
        let client_id = ClientId::new(client_id).map_err(|_| IntrospectionError::MalformedMember("client_id"))?;
        let subject = self.subject(settings.client_id_as_subject.then_some(&client_id))?;
        let (issuer, audience, token_type) = (self.text("iss")?, self.audience()?, self.text("token_type")?);
        // Of Ory Hydra and of Keycloak.
        let (token_use, kind) = (self.text("token_use")?, self.text("typ")?);
        let (binding, scope) = (self.binding()?, self.text("scope")?.unwrap_or_default().into());
        let resource_scope = self.resource_scope()?;
        let (issued, expires, not_before) = (self.time("iat")?, self.time("exp")?, self.time("nbf")?);

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
        let facts = TokenFacts { client_id, subject, scope, resource_scope, key, issued, expires, not_before };
        Ok(Answer::Described(Arc::new(facts)))
    }

    fn read<'a, T>(
        &'a self,
        name: &'static str,
        read: impl Fn(&'a Json) -> Option<T>,
    ) -> Result<Option<T>, IntrospectionError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or(IntrospectionError::MalformedMember(name))
    }

    fn text(&self, name: &'static str) -> Result<Option<&str>, IntrospectionError> {
        self.read(name, Json::as_text)
    }

    /// > Integer timestamp, measured in the number of seconds since January 1 1970 UTC
    fn time(&self, name: &'static str) -> Result<Option<Timestamp>, IntrospectionError> {
        let seconds = self.read(name, Json::as_integer)?;
        Ok(seconds.map(|seconds| Timestamp::from_seconds(u32::try_from(seconds).unwrap_or(u32::MAX))))
    }

    /// > Subject of the token […]. Usually a machine-readable identifier of the resource owner who authorized this token.
    ///
    /// `client` is the client if an equal `sub` stands for no user. `username` identifies nobody: it is for people.
    fn subject(&self, client: Option<&ClientId>) -> Result<Option<Subject>, IntrospectionError> {
        let Some(text) = self.text("sub")? else { return Ok(None) };
        let subject = Subject::new(text).map_err(|_| IntrospectionError::MalformedMember("sub"))?;
        Ok(Some(subject).filter(|subject| client.is_none_or(|client| client.as_str() != subject.as_str())))
    }

    /// A text or a list of texts [RFC 7519 section 4.1.3].
    fn audience(&self) -> Result<Vec<&str>, IntrospectionError> {
        let audience = self.read("aud", |value| value.as_text().map(|one| vec![one]).or_else(|| value.as_texts()))?;
        Ok(audience.unwrap_or_default())
    }

    /// The key that the token is bound to [RFC 9449 section 6.2]. A token that is bound in another way, such as to a
    /// certificate, must not be used as an unbound one.
    fn binding(&self) -> Result<Binding, IntrospectionError> {
        let Some(confirmation) = self.read("cnf", Json::as_object)? else { return Ok(Binding::None) };
        let Some(thumbprint) = confirmation.get("jkt").filter(|_| confirmation.len() == 1) else {
            return Ok(Binding::Unknown);
        };
        let key = thumbprint.as_text().and_then(|text| text.parse().ok());
        key.map(Binding::Key).ok_or(IntrospectionError::MalformedMember("cnf"))
    }

    /// The members of this library. If they are missing or unknown, the token covers no named resource.
    fn resource_scope(&self) -> Result<ResourceScope, IntrospectionError> {
        let names = self.read("resources", Json::as_texts)?.unwrap_or_default();
        Ok(match self.text("resource_scope")? {
            Some("all") => ResourceScope::All,
            Some("public") => ResourceScope::Public,
            Some("specified") => {
                ResourceList::from_record(names).map_or_else(|_| ResourceScope::none(), ResourceScope::Specified)
            }
            None | Some(_) => ResourceScope::none(),
        })
    }
}

/// What a token is bound to.
enum Binding {
    None,
    Key(JwkThumbprint),
    Unknown,
}
