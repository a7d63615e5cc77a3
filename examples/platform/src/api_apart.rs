//! The resource API in a process of its own, which asks the platform about each token [RFC 7662].

use std::error::Error;

use grantor::resource::{IntrospectionSettings, ResourceClient};
use grantor::{AuthorizationServer, ClientSecret, ResourceServer, TracingEvents};
use grantor_fetch::ConfiguredHost;
use serde_json::json;

use crate::api::{self, Api};
use crate::database::Database;
use crate::options::Options;
use crate::{config, listen, serve};

const CLIENT_ID: &str = "platform-api";
/// Known to everybody, like the passwords of the accounts: platform and API listen on the loopback only.
const SECRET: &str = "the-secret-of-the-platform-api-of-this-example";

/// Registers the API as a client of the platform, which may ask about all tokens.
pub(crate) async fn register(server: &AuthorizationServer) -> Result<(), Box<dyn Error>> {
    server.own_client(CLIENT_ID).name("Platform API").secret(SECRET).resource_server().ensure().await?;
    Ok(())
}

/// Serves the API alone. The platform is at the address of `--issuer`; both use the same database.
pub(crate) async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let listener = listen(options.listen, "--listen").await?;
    let issuer = options.issuer.clone().unwrap_or_else(|| "http://localhost:8080".to_owned());
    let config = config(&issuer, options);
    let settings = IntrospectionSettings::of_server(&config, CLIENT_ID, ClientSecret::new(SECRET), &*issuer);
    let client = ResourceClient::new(settings, ConfiguredHost::for_development(&issuer)?)?.with_events(TracingEvents);
    let resource = ResourceServer::introspecting(config, client)?;
    let database = Database::open(&options.database)?;
    let address = format!("http://{}/api", listener.local_addr()?);
    if options.json {
        println!("{}", json!({ "issuer": issuer, "resource_url": format!("{address}/me") }));
    } else {
        println!("API  {address} (asks {issuer} about each token)");
    }
    serve(listener, api::app(Api { resource, database })).await?;
    Ok(())
}
