//! The resource API in a process of its own, which asks the platform about each token [RFC 7662], or verifies JWTs by
//! itself [RFC 9068].

use std::error::Error;

use grantor::resource::{IntrospectionSettings, JwtSettings, JwtVerifier, ResourceClient};
use grantor::{AuthorizationServer, ClientId, ClientSecret, ResourceServer, TracingEvents};
use grantor_fetch::ConfiguredHost;
use serde_json::json;

use crate::api::{self, Api};
use crate::database::Database;
use crate::options::Options;
use crate::{config, jwt, listen, serve};

const CLIENT_ID: &str = "platform-api";
/// Known to everybody, like the passwords of the accounts: platform and API listen on the loopback only.
const SECRET: &str = "the-secret-of-the-platform-api-of-this-example";

/// The API as a client of the platform.
pub(crate) fn client_id() -> Option<ClientId> {
    ClientId::new(CLIENT_ID).ok()
}

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
    let (transport, clock) = (ConfiguredHost::for_development(&issuer)?, options.times.clock());
    let audience = config.resources.first().map_or(&issuer, |api| &api.identifier);
    let settings = IntrospectionSettings::of_server(&config, CLIENT_ID, ClientSecret::new(SECRET), audience);
    let client = ResourceClient::new(settings, transport.clone())?.with_clock(clock).with_events(TracingEvents);
    let (resource, how) = if options.jwt {
        jwt::warn(&config);
        let verifier = JwtVerifier::new(JwtSettings::of_server(&config, audience), transport)?;
        let verifier = verifier.with_clock(clock).with_events(TracingEvents);
        // Tokens from before `--jwt` are opaque, and so are those that would be too large.
        let resource = ResourceServer::jwt(config, verifier)?.or_introspect(client)?;
        (resource, format!("verifies the JWTs of {issuer}"))
    } else {
        (ResourceServer::introspecting(config, client)?, format!("asks {issuer} about each token"))
    };
    let database = Database::open(&options.database)?;
    let address = format!("http://{}/api", listener.local_addr()?);
    if options.json {
        println!("{}", json!({ "issuer": issuer, "resource_url": format!("{address}/me") }));
    } else {
        println!("API  {address} ({how})");
    }
    serve(listener, api::app(Api { resource, database })).await?;
    Ok(())
}
