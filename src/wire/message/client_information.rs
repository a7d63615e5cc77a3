//! The response of the registration and client configuration endpoints [RFC 7591 section 3.2.1, RFC 7592 section 3].

use serde::{Deserialize, Serialize};

use crate::secret::{ClientSecret, RegistrationAccessToken};
use crate::wire::message::form::{optional, required};

/// A registered client with all its metadata [RFC 7591 section 3.2.1].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientInformationResponse {
    /// The id of the client.
    #[serde(with = "required")]
    pub client_id: String,
    /// When the id was issued, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id_issued_at: Option<u64>,
    /// The secret of a confidential client.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
    /// When the secret expires, in seconds since 1970; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_expires_at: Option<u64>,
    /// The URL at which the client reads, replaces and deletes its registration [RFC 7592 section 3].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_client_uri: Option<String>,
    /// The token for requests to that URL.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub registration_access_token: Option<RegistrationAccessToken>,
    /// The redirect URIs that were accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uris: Vec<String>,
    /// How the client authenticates at the token endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// The JWK Set of the client: its public keys [RFC 7517 section 5].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks: Option<serde_json::Value>,
    /// The address of the client's JWK Set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The values of `grant_type` that the client may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grant_types: Vec<String>,
    /// The values of `response_type` that the client may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_types: Vec<String>,
    /// Where the application runs: `web` or `native`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_type: Option<String>,
    /// The scopes of a request without `scope`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The name of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The website of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<String>,
    /// The other members of its metadata.
    #[serde(flatten)]
    pub members: serde_json::Map<String, serde_json::Value>,
}

impl ClientInformationResponse {
    /// Creates a response with only an id. Set the other members individually.
    #[must_use]
    pub fn new(client_id: impl Into<String>) -> Self {
        Self { client_id: client_id.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_without_a_value_are_left_out() {
        let alone = ClientInformationResponse::new("id");
        assert_eq!(serde_json::to_string(&alone).unwrap(), r#"{"client_id":"id"}"#);
        let json = r#"{"client_id":"id","client_secret":"hidden","client_secret_expires_at":0,"grant_types":["code"]}"#;
        let read: ClientInformationResponse = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        assert!(!format!("{read:?}").contains("hidden"));
        assert!(serde_json::from_str::<ClientInformationResponse>("{}").is_err());
    }
}
