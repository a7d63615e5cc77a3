//! The clients on devices, of `--devices`.

use grantor::client::ClientType;
use grantor::{AuthorizationServer, RegistrarError};
use serde::Serialize;

use crate::application::SCOPES;
use crate::server::random_id;

/// The credentials of both clients that run on devices without a browser [RFC 8628].
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DeviceClients {
    #[serde(rename = "device_client_id")]
    pub client_id: String,
    #[serde(rename = "confidential_device_client_id")]
    pub confidential_client_id: String,
    #[serde(rename = "confidential_device_client_secret")]
    pub confidential_client_secret: String,
}

impl DeviceClients {
    /// Registers both.
    pub(crate) async fn register(server: &AuthorizationServer) -> Result<Self, RegistrarError> {
        let public = server.own_client("demo-device").name("Demo Device").device_scopes(SCOPES);
        let public = public.with(|client| client.client_type(ClientType::Public)).ensure().await?;
        let secret = random_id();
        let confidential = server.own_client("demo-device-with-secret").name("Demo Device with a Secret");
        let confidential = confidential.device_scopes(SCOPES).secret(&secret).ensure().await?;
        Ok(Self {
            client_id: public.id().as_str().to_owned(),
            confidential_client_id: confidential.id().as_str().to_owned(),
            confidential_client_secret: secret,
        })
    }
}
