//! The metadata that a protected resource publishes [RFC 9728 section 2].

use std::ops::Not;

use serde::{Deserialize, Serialize};

use crate::wire::message::form;

/// The metadata document of a protected resource [RFC 9728 section 2].
///
/// Lists without entries and members without a value are left out [RFC 9728 section 3.2].
///
/// # Security
///
/// A client must check that `resource` is identical to the URL that it connects to [RFC 9728 section 3.3].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The identifier of the resource.
    #[serde(deserialize_with = "form::required_text")]
    pub resource: String,
    /// The issuers of the authorization servers whose tokens it accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorization_servers: Vec<String>,
    /// The scopes that a client should request first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    /// How the access token is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bearer_methods_supported: Vec<String>,
    /// The algorithms of DPoP proofs that it accepts; none if it accepts only bearer tokens [RFC 9449 section 5.1].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dpop_signing_alg_values_supported: Vec<String>,
    /// Whether it accepts only access tokens that are bound to a key.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub dpop_bound_access_tokens_required: bool,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// The page for developers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// How clients may use the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_policy_uri: Option<String>,
    /// The terms of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_tos_uri: Option<String>,
}

impl ResourceMetadata {
    /// Creates metadata with only a resource. Set the other members individually.
    #[must_use]
    pub fn new(resource: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: Vec::new(),
            scopes_supported: Vec::new(),
            bearer_methods_supported: Vec::new(),
            dpop_signing_alg_values_supported: Vec::new(),
            dpop_bound_access_tokens_required: false,
            resource_name: None,
            resource_documentation: None,
            resource_policy_uri: None,
            resource_tos_uri: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 9728-2-11
    #[test]
    fn the_members_about_dpop_come_back() {
        let mut metadata = ResourceMetadata::new("https://api.example");
        metadata.dpop_signing_alg_values_supported = vec!["ES256".to_owned()];
        metadata.dpop_bound_access_tokens_required = true;
        let json = serde_json::to_string(&metadata).unwrap();
        let expected = r#"{"resource":"https://api.example","dpop_signing_alg_values_supported":["ES256"],"dpop_bound_access_tokens_required":true}"#;
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<ResourceMetadata>(&json).unwrap(), metadata);
    }

    #[test]
    fn members_without_a_value_are_left_out() {
        let json = r#"{"resource":"https://api.example"}"#;
        assert_eq!(serde_json::to_string(&ResourceMetadata::new("https://api.example")).unwrap(), json);
        let read = serde_json::from_str::<ResourceMetadata>;
        assert_eq!(read(json).unwrap(), ResourceMetadata::new("https://api.example"));
        assert!(read("{}").is_err() && read(r#"{"resource":""}"#).is_err());
    }
}
