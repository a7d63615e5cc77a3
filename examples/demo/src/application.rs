//! The demo application.

use std::error::Error;

use grantor::application::{Logo, RegistrationLimits};
use grantor::scope::ResourceScope;
use grantor::{ApplicationForm, Approval, AuthorizationServer, Client, Subject};

use serde::Serialize;

use crate::devices::DeviceClients;
use crate::options::Options;

/// The demo application, and the addresses of everything.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Application {
    pub issuer: String,
    pub client_id: String,
    /// Empty for an application with a key.
    pub client_secret: String,
    pub redirect_uri: String,
    pub resource_url: String,
    /// Only with `--devices`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceClients>,
}

impl Application {
    /// Registers and approves it.
    pub(crate) async fn register(server: &AuthorizationServer, options: &Options) -> Result<Self, Box<dyn Error>> {
        let registrar = server.registrar().ok_or("the store takes no registrations")?;
        let mut form = ApplicationForm::new("Demo Application", "https://demo.example/");
        form.redirect_uris = vec![options.redirect_uri.clone()];
        form.scopes = SCOPES.into();
        form.resource_scope = Some(ResourceScope::All);
        let logo = Logo::new(LOGO, &RegistrationLimits::default())?;
        let developer = Subject::new("developer")?;
        let id = registrar.submit(developer.clone(), form, Some(logo)).await?;
        registrar.approve(&id, registrar.application(&id).await?.version(), Approval::default()).await?;
        let secret = registrar.claim_secret(&id, &developer, registrar.application(&id).await?.version()).await?;
        let issuer = server.issuer();
        Ok(Self {
            issuer: issuer.to_owned(),
            client_id: id.as_str().to_owned(),
            client_secret: secret.expose().to_owned(),
            redirect_uri: options.redirect_uri.clone(),
            resource_url: format!("{issuer}/api/me"),
            devices: None,
        })
    }

    /// The first application of the file on the command line.
    pub(crate) fn of_file(server: &AuthorizationServer, client: &Client) -> Self {
        let issuer = server.issuer();
        Self {
            issuer: issuer.to_owned(),
            client_id: client.id().as_str().to_owned(),
            client_secret: String::new(),
            redirect_uri: client.form().redirect_uris.first().map_or_else(String::new, |uri| uri.as_str().to_owned()),
            resource_url: format!("{issuer}/api/me"),
            devices: None,
        }
    }

    /// Prints the addresses and credentials: as one line for programs, or for people.
    pub(crate) fn print(&self, as_json: bool) -> serde_json::Result<()> {
        let Self { issuer, client_id, client_secret, redirect_uri, resource_url, devices } = self;
        if as_json {
            println!("{}", serde_json::to_string(self)?);
        } else {
            if client_secret.is_empty() {
                println!("issuer         {issuer}\nclient id      {client_id}");
            } else {
                println!("{issuer}/oauth2/auth?response_type=code&client_id={client_id}\n");
                println!("issuer         {issuer}\nclient id      {client_id}\nclient secret  {client_secret}");
                println!("redirect URI   {redirect_uri} (any port)");
            }
            println!("resource       {resource_url}");
            if let Some(DeviceClients { client_id, confidential_client_id, confidential_client_secret }) = devices {
                println!("device client  {client_id}, without a secret");
                println!("device client  {confidential_client_id}, with the secret {confidential_client_secret}");
            }
        }
        Ok(())
    }
}

/// The scopes that applications may ask for.
pub(crate) const SCOPES: &str = "repo-code:rw account-profile:r account-email:r";
/// One transparent pixel.
pub const LOGO: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\
\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";
