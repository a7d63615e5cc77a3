//! The MCP server in a process of its own, which asks the authorization server about each token [RFC 7662].

use std::error::Error;

use grantor::resource::{IntrospectionSettings, ResourceClient};
use grantor::{AuthorizationServer, ClientSecret, ResourceServer};
use grantor_axum::accept;
use grantor_fetch::ConfiguredHost;
use serde_json::json;
use tokio::net::TcpListener;

use crate::database::Database;
use crate::options::Options;
use crate::{app, settings, stopped};

pub(crate) const CLIENT_ID: &str = "mcp-server";
/// Known to everybody: both processes listen on the loopback only.
const SECRET: &str = "the-secret-of-the-mcp-server-of-this-example";

/// Registers the MCP server as a client, which may ask about tokens for itself.
pub(crate) async fn register(server: &AuthorizationServer) -> Result<(), Box<dyn Error>> {
    server.own_client(CLIENT_ID).name("Notes").secret(SECRET).resource_server().ensure().await?;
    Ok(())
}

/// Serves the MCP server alone. The authorization server is at the address of `--issuer`.
pub(crate) async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let file = options.database.as_deref();
    // The authorization server removes the proofs again.
    let file = file.ok_or(
        "--resource-apart needs --database, the file of the authorization server: it stores which \
                           DPoP proofs were used",
    )?;
    let listener = TcpListener::bind(options.listen).await?;
    let issuer = options.issuer.as_deref().unwrap_or("http://127.0.0.1:8080");
    let url = match &options.resource {
        Some(url) => url.clone(),
        None => format!("http://{}/mcp", listener.local_addr()?),
    };
    let config = settings::config(options, issuer, url.clone())?;
    let introspection = IntrospectionSettings::of_server(&config, CLIENT_ID, ClientSecret::new(SECRET), &*url);
    let client = ResourceClient::new(introspection, ConfiguredHost::for_development(issuer)?)?;
    let replays = Database::open(Some(file))?.store;
    let resource = ResourceServer::introspecting_with_proofs(config, client, replays)?;
    if options.json {
        println!("{}", json!({ "issuer": issuer, "resource_url": url }));
    } else {
        println!("MCP server  {url} (asks {issuer} about each token)");
    }
    accept::serve(listener, app::apart(resource, &options.origins)?, stopped()).await;
    Ok(())
}
