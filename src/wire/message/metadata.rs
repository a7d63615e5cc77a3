//! The metadata of the server [RFC 8414], of protected resources [RFC 9728], and of a registered client [RFC 7591
//! section 3.2.1, RFC 7592 section 3].

use std::ops::Not;

use serde::{Deserialize, Serialize};

use crate::secret::{ClientSecret, RegistrationAccessToken};
use crate::wire::message::form::{optional, required};

/// The metadata document of an authorization server [RFC 8414 section 2].
///
/// Lists without entries and members without a value are left out [RFC 8414 section 3.2].
///
/// # Security
///
/// A client must check that `issuer` is identical to the issuer from which it built the document's address [RFC 8414
/// section 3.3].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Metadata {
    /// The identifier of the server, an https URL without query and fragment.
    #[serde(with = "required")]
    pub issuer: String,
    /// Where the user's browser is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// Where codes are exchanged and tokens refreshed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// Where authorization requests are pushed [RFC 9126 section 5].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed_authorization_request_endpoint: Option<String>,
    /// Whether only pushed authorization requests are accepted; left out if not [RFC 9126 section 5].
    #[serde(default, skip_serializing_if = "Not::not")]
    pub require_pushed_authorization_requests: bool,
    /// Where devices without a browser ask for access [RFC 8628 section 4].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_authorization_endpoint: Option<String>,
    /// Where tokens are revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    /// Where resource servers introspect tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    /// Where clients read who the user is [OpenID Connect Discovery section 3].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub userinfo_endpoint: Option<String>,
    /// Where the public keys are read that access tokens and ID tokens are signed with [RFC 7517 section 5].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// Where clients register themselves [RFC 7591 section 3].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    /// Whether a client id may be the https URL of a metadata document [draft-ietf-oauth-client-id-metadata-document
    /// section 5]; left out if not.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub client_id_metadata_document_supported: bool,
    /// Values of `response_type`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_types_supported: Vec<String>,
    /// How the response reaches the redirect URI; if left out, `query` and `fragment`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_modes_supported: Vec<String>,
    /// Values of `grant_type`; if left out, `authorization_code` and `implicit`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grant_types_supported: Vec<String>,
    /// How clients authenticate at the token endpoint; if left out, `client_secret_basic`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token_endpoint_auth_methods_supported: Vec<String>,
    /// The algorithms with which clients sign their assertions there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token_endpoint_auth_signing_alg_values_supported: Vec<String>,
    /// How clients authenticate at the revocation endpoint; if left out, `client_secret_basic`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revocation_endpoint_auth_methods_supported: Vec<String>,
    /// The algorithms with which clients sign their assertions there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revocation_endpoint_auth_signing_alg_values_supported: Vec<String>,
    /// How clients authenticate at the introspection endpoint; if left out, it must be learned by other means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub introspection_endpoint_auth_methods_supported: Vec<String>,
    /// The algorithms with which clients sign their assertions there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub introspection_endpoint_auth_signing_alg_values_supported: Vec<String>,
    /// The scopes that may be requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    /// Values of `code_challenge_method`; if left out, there is no PKCE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_challenge_methods_supported: Vec<String>,
    /// Whether requests may name protected resources with `resource`; left out if not. This member is not in the IANA
    /// registry.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub resource_indicators_supported: bool,
    /// Identifiers of the protected resources that the server issues tokens for [RFC 9728 section 4].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_resources: Vec<String>,
    /// Algorithms that DPoP proofs may be signed with; if left out, there is no DPoP [RFC 9449 section 5.1].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dpop_signing_alg_values_supported: Vec<String>,
    /// Whether `sub` is the same for all clients: `public` [OpenID Connect Discovery section 3].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subject_types_supported: Vec<String>,
    /// Algorithms that ID tokens are signed with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id_token_signing_alg_values_supported: Vec<String>,
    /// Names of the claims that clients may get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims_supported: Vec<String>,
    /// Values of `acr`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acr_values_supported: Vec<String>,
    /// The languages of the pages, as tags of RFC 5646.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ui_locales_supported: Vec<String>,
    /// Values of `prompt` [Initiating User Registration via OpenID Connect section 4].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_values_supported: Vec<String>,
    /// Whether `request_uri` may be a URL that the server fetches; if left out, it may [OpenID Connect Discovery
    /// section 3].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_uri_parameter_supported: Option<bool>,
    /// Whether authorization responses contain `iss`; left out if not [RFC 9207 section 3].
    #[serde(default, skip_serializing_if = "Not::not")]
    pub authorization_response_iss_parameter_supported: bool,
}

impl Metadata {
    /// Creates metadata with only an issuer. Set the other members individually.
    #[must_use]
    pub fn new(issuer: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), ..Self::default() }
    }
}

/// The metadata document of a protected resource [RFC 9728 section 2].
///
/// Lists without entries and members without a value are left out [RFC 9728 section 3.2].
///
/// # Security
///
/// A client must check that `resource` is identical to the URL that it connects to [RFC 9728 section 3.3].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The identifier of the resource.
    #[serde(with = "required")]
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
        Self { resource: resource.into(), ..Self::default() }
    }
}

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

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().copied().map(str::to_owned).collect()
    }

    #[test]
    fn members_without_a_value_are_left_out() {
        let json = r#"{"issuer":"https://as.example"}"#;
        assert_eq!(serde_json::to_string(&Metadata::new("https://as.example")).unwrap(), json);
        assert_eq!(serde_json::from_str::<Metadata>(json).unwrap(), Metadata::new("https://as.example"));
    }

    #[test]
    fn full_document_comes_back() {
        let methods = list(&["client_secret_basic", "client_secret_post"]);
        let metadata = Metadata {
            authorization_endpoint: Some("https://as.example/oauth2/auth".to_owned()),
            token_endpoint: Some("https://as.example/oauth2/token".to_owned()),
            revocation_endpoint: Some("https://as.example/oauth2/revoke".to_owned()),
            introspection_endpoint: Some("https://as.example/oauth2/introspect".to_owned()),
            registration_endpoint: Some("https://as.example/oauth2/register".to_owned()),
            response_types_supported: list(&["code"]),
            response_modes_supported: list(&["query"]),
            grant_types_supported: list(&["authorization_code", "refresh_token"]),
            token_endpoint_auth_methods_supported: methods.clone(),
            revocation_endpoint_auth_methods_supported: methods.clone(),
            introspection_endpoint_auth_methods_supported: methods,
            scopes_supported: list(&["repo-code:r", "repo-code:rw"]),
            code_challenge_methods_supported: list(&["S256"]),
            authorization_response_iss_parameter_supported: true,
            ..Metadata::new("https://as.example")
        };
        let json = serde_json::to_value(&metadata).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 15);
        assert_eq!(json["authorization_response_iss_parameter_supported"], true);
        assert_eq!(json["code_challenge_methods_supported"], serde_json::json!(["S256"]));
        assert_eq!(serde_json::from_value::<Metadata>(json).unwrap(), metadata);
    }

    #[test]
    fn unknown_members_are_ignored_and_an_issuer_is_needed() {
        let read = serde_json::from_str::<Metadata>;
        let json = r#"{"issuer":"https://as.example","ui_locales_other":["de"],"x":{"y":[null]}}"#;
        assert_eq!(read(json).unwrap(), Metadata::new("https://as.example"));
        assert!(read("{}").is_err());
        assert!(read(r#"{"issuer":""}"#).is_err());
    }

    /// 9728-2-11
    #[test]
    fn the_members_about_dpop_come_back() {
        let mut metadata = ResourceMetadata::new("https://api.example");
        metadata.dpop_signing_alg_values_supported = vec!["ES256".to_owned()];
        metadata.dpop_bound_access_tokens_required = true;
        let json = serde_json::to_string(&metadata).unwrap();
        let members = [
            r#"{"resource":"https://api.example""#,
            r#""dpop_signing_alg_values_supported":["ES256"]"#,
            r#""dpop_bound_access_tokens_required":true}"#,
        ];
        assert_eq!(json, members.join(","));
        assert_eq!(serde_json::from_str::<ResourceMetadata>(&json).unwrap(), metadata);
    }

    #[test]
    fn members_of_a_resource_without_a_value_are_left_out() {
        let json = r#"{"resource":"https://api.example"}"#;
        assert_eq!(serde_json::to_string(&ResourceMetadata::new("https://api.example")).unwrap(), json);
        let read = serde_json::from_str::<ResourceMetadata>;
        assert_eq!(read(json).unwrap(), ResourceMetadata::new("https://api.example"));
        assert!(read("{}").is_err() && read(r#"{"resource":""}"#).is_err());
    }

    #[test]
    fn members_of_a_client_without_a_value_are_left_out() {
        let alone = ClientInformationResponse::new("id");
        assert_eq!(serde_json::to_string(&alone).unwrap(), r#"{"client_id":"id"}"#);
        let json = r#"{"client_id":"id","client_secret":"hidden","client_secret_expires_at":0,"grant_types":["code"]}"#;
        let read: ClientInformationResponse = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        assert!(!format!("{read:?}").contains("hidden"));
        assert!(serde_json::from_str::<ClientInformationResponse>("{}").is_err());
    }
}
