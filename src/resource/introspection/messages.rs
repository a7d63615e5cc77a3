//! The introspection request [RFC 7662 section 2.1], and what the answer says about a token [section 2.2].

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::base::json::Json;
use crate::error::failure::IntrospectionError;
use crate::hooks::TokenRefusal;
use crate::resource::facts::{Binding, Malformed, Members, TokenFacts};
use crate::resource::introspection::settings::{ExpectedAudience, IntrospectionSettings};
use crate::wire::fetch::{FetchError, FetchErrorKind, FetchResponse, INTROSPECTION_BYTES, TransportRequest};
use crate::wire::message::TokenType;
use crate::wire::params::form_encode_into;

/// What all requests of a client share: the endpoint and the credentials.
#[derive(Clone)]
pub(super) struct Credentials {
    endpoint: String,
    /// The value of `Authorization`.
    authorization: Zeroizing<String>,
}

/// The body of a request. It contains a token, and is wiped when dropped.
pub(super) struct RequestBody(Zeroizing<String>);

impl Credentials {
    /// Encodes the client id and the secret [RFC 6749 section 2.3.1].
    ///
    /// > The client identifier is encoded using the "application/x-www-form-urlencoded" encoding algorithm […]; the
    /// > client password is encoded using the same algorithm
    pub(super) fn new(settings: &IntrospectionSettings) -> Self {
        let (id, secret) = (&settings.client_id, settings.client_secret.expose());
        // Texts with secrets have room for all that follows, since a text that grows leaves a copy behind.
        let mut pair = Zeroizing::new(String::with_capacity(3 * (id.len() + secret.len()) + 1));
        form_encode_into(&mut pair, id.as_bytes());
        pair.push(':');
        form_encode_into(&mut pair, secret.as_bytes());
        let mut authorization = Zeroizing::new(String::with_capacity(SCHEME.len() + pair.len().div_ceil(3) * 4));
        authorization.push_str(SCHEME);
        STANDARD.encode_string(pair.as_bytes(), &mut authorization);
        Self { endpoint: settings.endpoint.clone(), authorization }
    }

    pub(super) fn body(token: &[u8]) -> RequestBody {
        let mut body = Zeroizing::new(String::with_capacity(TOKEN.len() + 3 * token.len() + HINT.len()));
        body.push_str(TOKEN);
        form_encode_into(&mut body, token);
        body.push_str(HINT);
        RequestBody(body)
    }

    /// The headers of a request.
    pub(super) fn headers(&self) -> [(&str, &str); 3] {
        [
            ("Authorization", self.authorization.as_str()),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
        ]
    }

    /// A request with those headers, and with the bounds that [`TransportRequest::new`] states.
    pub(super) fn request<'a>(
        &'a self,
        headers: &'a [(&'a str, &'a str)],
        body: &'a RequestBody,
    ) -> TransportRequest<'a> {
        TransportRequest { headers, body: body.0.as_bytes(), ..TransportRequest::new("POST", &self.endpoint) }
    }
}

/// Without the credentials.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

const SCHEME: &str = "Basic ";
const TOKEN: &str = "token=";
const HINT: &str = "&token_type_hint=access_token";

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::resource::introspection::tests::settings;
    use crate::secret::ClientSecret;

    /// RSC-02
    #[test]
    fn both_halves_are_encoded_and_decoded_alike() {
        let mut settings = settings();
        settings.client_id = "orders api:1".to_owned();
        settings.client_secret = ClientSecret::new("a%b+c:d\u{e9}&=");
        let credentials = Credentials::new(&settings);
        let [(name, value), ..] = credentials.headers();
        assert_eq!(name, "Authorization");
        let pair = STANDARD.decode(value.strip_prefix("Basic ").unwrap()).unwrap();
        assert_eq!(pair, b"orders%20api%3A1:a%25b%2Bc%3Ad%C3%A9%26%3D");
        assert!(!format!("{credentials:?}").contains(value));
    }

    /// RSC-02, RSC-08
    #[test]
    fn a_request_is_a_form_within_bounds() {
        let credentials = Credentials::new(&settings());
        let (headers, body) = (credentials.headers(), Credentials::body(b"a b&c=+\xff"));
        let request = credentials.request(&headers, &body);
        assert_eq!((request.method, request.url), ("POST", "https://auth.example/oauth2/introspect"));
        let names = request.headers.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names, ["Authorization", "Content-Type", "Accept"]);
        assert_eq!(
            request.headers[1..].iter().map(|(_, value)| *value).collect::<Vec<_>>(),
            ["application/x-www-form-urlencoded", "application/json"]
        );
        assert_eq!(request.body, b"token=a%20b%26c%3D%2B%FF&token_type_hint=access_token");
        assert_eq!((request.max_bytes, request.timeout), (65_536, Duration::from_secs(2)));
    }

    /// RSC-17: no text with a secret grows, which would leave a copy behind.
    #[test]
    fn texts_with_secrets_never_grow() {
        for length in [0, 1, 2, 3, 100, 4096] {
            let token = vec![0xff; length];
            let body = Credentials::body(&token);
            assert_eq!(body.0.capacity(), body.0.len(), "{length}");
            let mut settings = settings();
            settings.client_secret = ClientSecret::new("%".repeat(length));
            let credentials = Credentials::new(&settings);
            assert_eq!(credentials.authorization.capacity(), credentials.authorization.len(), "{length}");
        }
    }
}
