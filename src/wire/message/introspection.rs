//! The response to an introspection request [RFC 7662 section 2.2].

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::jose::JwkThumbprint;
use crate::wire::message::token_response::TokenType;

/// The response to an introspection request [RFC 7662 section 2.2]. By default, the token is not valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// All other members, such as the [claims of the service](crate::hooks::Claims).
    #[serde(flatten)]
    pub members: Map<String, Value>,
}

impl IntrospectionResponse {
    /// Creates the response for a valid token. Set the other members individually.
    #[must_use]
    pub fn active() -> Self {
        Self { active: true, ..Self::inactive() }
    }

    /// Creates the response for a token that is not valid, with no other member [RFC 7662 section 2.2].
    #[must_use]
    pub fn inactive() -> Self {
        Self::default()
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
}
