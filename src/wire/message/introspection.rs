//! The introspection request of a resource server, and its response [RFC 7662].

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroize;

use crate::jose::JwkThumbprint;
use crate::secret::ClientSecret;
use crate::wire::message::form::{self, FormError, Redacted};
use crate::wire::message::secret_text;
use crate::wire::message::token_response::TokenType;

/// An introspection request for an access token or a refresh token [RFC 7662 section 2.1].
///
/// The token is wiped when the request is dropped.
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IntrospectionRequest {
    /// The access token or refresh token.
    #[serde(deserialize_with = "form::required_text")]
    pub token: String,
    /// The likely type of the token: `access_token` or `refresh_token`. The server searches for this type first.
    #[serde(default, deserialize_with = "form::optional_text", skip_serializing_if = "Option::is_none")]
    pub token_type_hint: Option<String>,
    /// The id of the client that sends the request, unless HTTP Basic contains it.
    #[serde(default, deserialize_with = "form::optional_text", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of that client, unless HTTP Basic contains it.
    #[serde(default, with = "secret_text::optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
}

impl IntrospectionRequest {
    /// Creates a request for this token.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self { token: token.into(), token_type_hint: None, client_id: None, client_secret: None }
    }

    /// Sets the likely type of the token.
    #[must_use]
    pub fn token_type_hint(mut self, hint: impl Into<String>) -> Self {
        self.token_type_hint = Some(hint.into());
        self
    }

    /// Sets the id of the requesting client in the form [RFC 6749 section 3.2.1].
    #[must_use]
    pub fn client_id(mut self, client_id: impl Into<String>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// Authenticates the requesting client in the form [RFC 6749 section 2.3.1].
    #[must_use]
    pub fn client_secret(mut self, secret: ClientSecret) -> Self {
        self.client_secret = Some(secret);
        self
    }

    /// Returns the body of the request, `application/x-www-form-urlencoded`. It contains secrets.
    ///
    /// # Errors
    ///
    /// [`FormError::Unwritable`] if serde cannot write it. No value of this type causes this.
    pub fn to_form(&self) -> Result<String, FormError> {
        form::write(self)
    }
}

impl Drop for IntrospectionRequest {
    fn drop(&mut self) {
        self.token.zeroize();
    }
}

impl fmt::Debug for IntrospectionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntrospectionRequest")
            .field("token", &Redacted)
            .field("token_type_hint", &self.token_type_hint)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .finish()
    }
}

/// The response to an introspection request [RFC 7662 section 2.2].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IntrospectionResponse {
    /// Whether the token is valid now, for the requesting client. If not, no other member is set.
    pub active: bool,
    /// The scopes of the token, separated by one space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The client that the token was issued to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// How the token is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// When the token expires, in seconds since 1970 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<u64>,
    /// When the token was issued, in seconds since 1970 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iat: Option<u64>,
    /// The user who agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The resource servers that the token is for. One is written as a string, several as an array.
    #[serde(default, with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub aud: Vec<String>,
    /// The issuer of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
    /// The key that the token is bound to; none for a bearer token [RFC 9449 section 6.2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
    /// Which resources of the user the token grants access to: `all`, `public` or `specified`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_scope: Option<String>,
    /// The resources, if `resource_scope` is `specified`; an empty list grants access to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<String>>,
}

impl IntrospectionResponse {
    /// Creates the response for a valid token. Set the other members individually.
    #[must_use]
    pub fn active() -> Self {
        Self { active: true, ..Self::inactive() }
    }

    /// Creates the response for a token that is not valid, with no other member [RFC 7662 section 2.2].
    #[must_use]
    pub const fn inactive() -> Self {
        Self {
            active: false,
            scope: None,
            client_id: None,
            token_type: None,
            exp: None,
            iat: None,
            sub: None,
            aud: Vec::new(),
            iss: None,
            cnf: None,
            resource_scope: None,
            resources: None,
        }
    }
}

/// What an access token is bound to, `cnf` [RFC 7800 section 3.1]. Only the thumbprint of a key is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Confirmation {
    /// The thumbprint of the public key that belongs to the signing key of a DPoP proof [RFC 9449 section 6.1].
    #[serde(default, with = "thumbprint", skip_serializing_if = "Option::is_none")]
    pub jkt: Option<JwkThumbprint>,
}

impl Confirmation {
    /// Creates the confirmation by a key.
    #[must_use]
    pub const fn by_key(thumbprint: JwkThumbprint) -> Self {
        Self { jkt: Some(thumbprint) }
    }
}

/// A thumbprint as text.
mod thumbprint {
    use super::*;

    pub(super) fn serialize<S: Serializer>(
        thumbprint: &Option<JwkThumbprint>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match thumbprint {
            Some(thumbprint) => serializer.collect_str(thumbprint),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JwkThumbprint>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

/// A list that is written as a bare string if it has one entry, as `aud` may be [RFC 7519 section 4.1.3].
mod one_or_many {
    use super::*;

    pub(super) fn serialize<S: Serializer>(list: &[String], serializer: S) -> Result<S::Ok, S::Error> {
        match list {
            [one] => serializer.serialize_str(one),
            many => many.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
        Ok(match Option::<OneOrMany>::deserialize(deserializer)? {
            None => Vec::new(),
            Some(OneOrMany::One(one)) => vec![one],
            Some(OneOrMany::Many(many)) => many,
        })
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inactive_tells_nothing_more() {
        let json = r#"{"active":false}"#;
        assert_eq!(serde_json::to_string(&IntrospectionResponse::inactive()).unwrap(), json);
        assert_eq!(serde_json::from_str::<IntrospectionResponse>(json).unwrap(), IntrospectionResponse::inactive());
    }

    #[test]
    fn active_answer_comes_back_with_integer_times() {
        let answer = IntrospectionResponse {
            scope: Some("repo-code:r".to_owned()),
            client_id: Some("c1".to_owned()),
            token_type: Some(TokenType::Bearer),
            exp: Some(1_700_028_800),
            iat: Some(1_700_000_000),
            sub: Some("u1".to_owned()),
            aud: vec!["https://api.example".to_owned()],
            iss: Some("https://as.example".to_owned()),
            resource_scope: Some("specified".to_owned()),
            resources: Some(vec!["a/b".to_owned()]),
            ..IntrospectionResponse::active()
        };
        let json = concat!(
            r#"{"active":true,"scope":"repo-code:r","client_id":"c1","token_type":"bearer","#,
            r#""exp":1700028800,"iat":1700000000,"sub":"u1","aud":"https://api.example","iss":"https://as.example","#,
            r#""resource_scope":"specified","resources":["a/b"]}"#
        );
        assert_eq!(serde_json::to_string(&answer).unwrap(), json);
        assert_eq!(serde_json::from_str::<IntrospectionResponse>(json).unwrap(), answer);
    }

    /// 9449-6.2-01
    #[test]
    fn the_key_of_a_bound_token_comes_back() {
        let thumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
        let mut answer = IntrospectionResponse::active();
        answer.token_type = Some(TokenType::Dpop);
        answer.cnf = Some(Confirmation::by_key(thumbprint.parse().unwrap()));
        let json = format!(r#"{{"active":true,"token_type":"DPoP","cnf":{{"jkt":"{thumbprint}"}}}}"#);
        assert_eq!(serde_json::to_string(&answer).unwrap(), json);
        assert_eq!(serde_json::from_str::<IntrospectionResponse>(&json).unwrap(), answer);
        let read = |cnf: &str| {
            let json = format!(r#"{{"active":true,"cnf":{cnf}}}"#);
            serde_json::from_str::<IntrospectionResponse>(&json).map(|answer| answer.cnf)
        };
        assert_eq!(read("null").unwrap(), None);
        assert_eq!(read(r#"{"x5t#S256":"A"}"#).unwrap(), Some(Confirmation::default()));
        assert!(read(r#"{"jkt":"short"}"#).is_err() && read(r#"{"jkt":7}"#).is_err() && read("7").is_err());
    }

    #[test]
    fn audience_is_a_string_or_an_array() {
        let cases = [
            (r#"{"active":true}"#, vec![]),
            (r#"{"active":true,"aud":null}"#, vec![]),
            (r#"{"active":true,"aud":[]}"#, vec![]),
            (r#"{"active":true,"aud":"a"}"#, vec!["a"]),
            (r#"{"active":true,"aud":["a"]}"#, vec!["a"]),
            (r#"{"active":true,"aud":["a","b"],"extension_field":"twenty-seven"}"#, vec!["a", "b"]),
        ];
        for (json, expected) in cases {
            assert_eq!(serde_json::from_str::<IntrospectionResponse>(json).unwrap().aud, expected, "{json}");
        }
        let mut answer = IntrospectionResponse::active();
        answer.aud = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"active":true,"aud":["a","b"]}"#);
    }

    #[test]
    fn an_empty_list_of_resources_is_kept() {
        let mut answer = IntrospectionResponse::active();
        answer.resources = Some(Vec::new());
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(json, r#"{"active":true,"resources":[]}"#);
        assert_eq!(serde_json::from_str::<IntrospectionResponse>(&json).unwrap(), answer);
    }

    #[test]
    fn request_comes_back_and_hides_its_secrets() {
        let request = IntrospectionRequest::new("hidden")
            .token_type_hint("access_token")
            .client_id("c1")
            .client_secret(ClientSecret::new("hidden-secret"));
        let form = request.to_form().unwrap();
        assert_eq!(form, "token=hidden&token_type_hint=access_token&client_id=c1&client_secret=hidden-secret");
        let again: IntrospectionRequest = serde_urlencoded::from_str(&form).unwrap();
        assert_eq!(again.to_form().unwrap(), form);
        assert!(!format!("{again:?}").contains("hidden"));
        assert!(serde_urlencoded::from_str::<IntrospectionRequest>("token=").is_err());
    }
}
