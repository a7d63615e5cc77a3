//! Registers the applications with keys that a file describes.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use grantor::client::{AuthenticationMethods, ClientKeys, GrantType, GrantTypes};
use grantor::jose::{JwkSet, SigningAlgorithm};
use grantor::redirect_uri::RegisteredRedirectUri;
use grantor::scope::ResourceScope;
use grantor::{AuthorizationServer, Client, ClientId};
use serde::Deserialize;
use serde_json::Value;

use crate::application::SCOPES;

/// The metadata of one application, as far as it is read [RFC 7591 section 2].
#[derive(Debug, Deserialize)]
struct Metadata {
    client_id: String,
    #[serde(default)]
    client_name: Option<String>,
    jwks: Value,
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default = "code")]
    grant_types: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_signing_alg: Option<String>,
    #[serde(default)]
    require_pushed_authorization_requests: bool,
    #[serde(default)]
    dpop_bound_access_tokens: bool,
}

fn code() -> Vec<String> {
    vec!["authorization_code".into(), "refresh_token".into()]
}

/// Registers the applications of a file, and returns their records.
///
/// # Errors
///
/// If the file cannot be read, or describes an application that the server refuses.
pub(crate) async fn register(server: &AuthorizationServer, file: &Path) -> Result<Vec<Arc<Client>>, Box<dyn Error>> {
    let text = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    from_metadata(server, &text).await.map_err(|error| format!("{}: {error}", file.display()).into())
}

/// Registers the applications of a JSON array, the contents of such a file, and returns their records.
///
/// # Errors
///
/// If the text describes an application that the server refuses.
pub async fn from_metadata(server: &AuthorizationServer, text: &[u8]) -> Result<Vec<Arc<Client>>, Box<dyn Error>> {
    let registrar = server.registrar().ok_or("the store takes no registrations")?;
    let mut clients = Vec::new();
    for metadata in serde_json::from_slice::<Vec<Metadata>>(text)? {
        let name = metadata.client_id.clone();
        let client = client(server, metadata).map_err(|error| format!("the client {name}: {error}"))?;
        let ensured = registrar.ensure_client(&client).await;
        clients.push(ensured.map_err(|error| format!("the client {name}: {error}"))?);
    }
    Ok(clients)
}

fn client(server: &AuthorizationServer, metadata: Metadata) -> Result<Client, Box<dyn Error>> {
    let config = server.config();
    let scopes = config.scopes.parse(metadata.scope.as_deref().unwrap_or(SCOPES).as_bytes())?;
    let mut grant_types = GrantTypes::NONE;
    for name in &metadata.grant_types {
        grant_types = grant_types.with(GrantType::parse(name).ok_or_else(|| format!("unknown grant type {name:?}"))?);
    }
    let mut builder = Client::builder(ClientId::new(&*metadata.client_id)?)
        .name(metadata.client_name.as_deref().unwrap_or(&metadata.client_id))
        .authentication_methods(AuthenticationMethods::KEY)
        .keys(ClientKeys::Set(JwkSet::parse(metadata.jwks.to_string())?))
        .scopes(scopes.clone())
        .resource_scope(ResourceScope::All)
        .grant_types(grant_types);
    for uri in &metadata.redirect_uris {
        let uri =
            RegisteredRedirectUri::parse(uri, &config.redirect_uris).map_err(|error| format!("{uri}: {error}"))?;
        builder = builder.redirect_uri(uri);
    }
    if grant_types.contains(GrantType::ClientCredentials) {
        builder = builder.client_scopes(scopes).client_resources(ResourceScope::All);
    }
    if let Some(name) = &metadata.token_endpoint_auth_signing_alg {
        let algorithm = SigningAlgorithm::parse(name).ok_or_else(|| format!("unknown algorithm {name:?}"))?;
        builder = builder.options(|options| options.signing_algorithm = Some(algorithm));
    }
    let builder = builder.options(|options| {
        options.requires_pushed_requests = metadata.require_pushed_authorization_requests;
        options.requires_dpop_bound_tokens = metadata.dpop_bound_access_tokens;
    });
    Ok(builder.build())
}
