//! The common parts of the thin servers: options, the demo application, the session cookie, the consent page, the
//! purge. Also the routes of each thin server.

#[cfg(feature = "actix")]
pub mod actix;
mod application;
#[cfg(feature = "axum")]
pub mod axum;
mod clients;
mod consent_page;
mod options;
pub mod purge;
mod session;
pub mod throttle;
pub mod times;
pub mod tls;

use std::error::Error;
use std::process::ExitCode;

use grantor::client_metadata::RegistrationBounds;
use grantor::hooks::ApproveWithin;
#[cfg(any(feature = "actix", feature = "axum"))]
use grantor::scope::{Permission, Resource};
use grantor::scope::{ResourceScope, ScopeSet};
use grantor::server::Builder;
#[cfg(any(feature = "actix", feature = "axum"))]
use grantor::{Authenticated, ResourceError};
use grantor::{AuthorizationServer, MemoryStore, ResourceServer};
use serde::Serialize;

pub use self::application::{Application, LOGO};
pub use self::clients::from_metadata;
pub use self::consent_page::{consent_page, escape};
pub use self::options::Options;
pub use self::session::{Session, random_id};

/// Runs a thin server with the options of the command line. Prints an error as text.
pub async fn start(serve: impl AsyncFnOnce(Options) -> Result<(), Box<dyn Error>>) -> ExitCode {
    let done = match Options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => serve(options).await,
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the authorization server of a thin server, with a purge. Prints the credentials of the demo application.
///
/// # Errors
///
/// If the settings or the application are refused.
pub async fn authorization_server(options: &Options, issuer: String) -> Result<AuthorizationServer, Box<dyn Error>> {
    let (server, application) = with_application(options, issuer).await?;
    application.print(options.json)?;
    Ok(server)
}

/// The same, but prints nothing.
///
/// # Errors
///
/// If the settings or the application are refused.
pub async fn with_application(
    options: &Options,
    issuer: String,
) -> Result<(AuthorizationServer, Application), Box<dyn Error>> {
    // Only for `--clock-speed`; the default is the system's clock.
    let server = builder(options, issuer)?.clock(options.times.clock()).build()?;
    let known = match &options.clients {
        Some(file) => clients::register(&server, file).await?,
        None => Vec::new(),
    };
    let application = match known.first() {
        Some(first) => Application::of_file(&server, first),
        None => Application::register(&server, options).await?,
    };
    tokio::spawn(purge::forever(server.clone(), options.times.minute()));
    Ok((server, application))
}

/// Returns the builder of that server, without an application, for a test that sets its own clock.
///
/// # Errors
///
/// If the catalog lacks the scopes of the demo application.
pub fn builder(options: &Options, issuer: String) -> Result<Builder, Box<dyn Error>> {
    let throttle = options.throttle(&issuer);
    let config = options.config(issuer);
    // The maximum for applications that register themselves. Without `--open-clients`, none can.
    let bounds = RegistrationBounds::new(config.scopes.parse(application::SCOPES.as_bytes())?, ResourceScope::All);
    let builder = AuthorizationServer::builder(config, MemoryStore::new());
    Ok(builder.throttle(throttle).registration_policy(ApproveWithin::new(bounds)))
}

/// Returns the path of each protected resource in the settings, with the arguments for the guard of its routes.
///
/// # Panics
///
/// Panics if a resource does not serve the scope of the profile.
#[must_use]
pub fn protected_resources(server: &AuthorizationServer) -> Vec<(String, (ResourceServer, ScopeSet))> {
    let guarded = server.config().resources.iter().map(|settings| {
        let resource = server.resource(&settings.identifier).expect("it is in the settings");
        let needed = resource.scopes(["account-profile:r"]).expect("it serves the scope");
        let metadata = settings.metadata_path();
        let path = metadata.strip_prefix("/.well-known/oauth-protected-resource").unwrap_or_default();
        (if path.is_empty() { "/" } else { path }.to_owned(), (resource, needed))
    });
    guarded.collect()
}

/// The answer of the resource: the user of the token, or the application if it has no user, and the scopes.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Me<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<&'a str>,
    pub scope: &'a str,
}

/// Requires the scope of the resource of any token: for the account of its user, or for the application if it has none.
///
/// # Errors
///
/// [`ResourceError`] if the token does not have the scope there.
#[cfg(any(feature = "actix", feature = "axum"))]
fn require_profile(server: &AuthorizationServer, token: &Authenticated) -> Result<(), ResourceError> {
    let resource = match token.subject() {
        Some(_) => Resource::Account,
        None => Resource::Private(token.client_id().as_str()),
    };
    server.require(token, PROFILE, Permission::Read, resource)
}

/// The scope of the resource.
#[cfg(any(feature = "actix", feature = "axum"))]
const PROFILE: &str = "account-profile";

/// The names of this machine that no attacker can let point elsewhere. The thin servers are asked for under any of them.
pub const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The request header that the resource returns in its response, for tests of the FAPI profile.
#[cfg(any(feature = "actix", feature = "axum"))]
const INTERACTION: &str = "x-fapi-interaction-id";
