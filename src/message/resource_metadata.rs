//! What a protected resource publishes about itself [RFC 9728 section 2].

use serde::{Deserialize, Serialize};

use crate::message::form;

/// The metadata document of a protected resource [RFC 9728 section 2].
///
/// Lists without entries and members without a value are left out [RFC 9728 section 3.2].
///
/// # Security
///
/// A client checks that `resource` is identical to the URL that it connects to [RFC 9728 section 3.3].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The identifier of the resource.
    #[serde(deserialize_with = "form::required_text")]
    pub resource: String,
    /// The issuers of the authorization servers whose tokens it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorization_servers: Vec<String>,
    /// Scopes that a client asks for first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    /// How the access token is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bearer_methods_supported: Vec<String>,
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
    /// Publishes a resource; the other members are then set one by one.
    #[must_use]
    pub fn new(resource: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: Vec::new(),
            scopes_supported: Vec::new(),
            bearer_methods_supported: Vec::new(),
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

    #[test]
    fn members_without_a_value_are_left_out() {
        let json = r#"{"resource":"https://api.example"}"#;
        assert_eq!(serde_json::to_string(&ResourceMetadata::new("https://api.example")).unwrap(), json);
        let read = serde_json::from_str::<ResourceMetadata>;
        assert_eq!(read(json).unwrap(), ResourceMetadata::new("https://api.example"));
        assert!(read("{}").is_err() && read(r#"{"resource":""}"#).is_err());
    }
}
