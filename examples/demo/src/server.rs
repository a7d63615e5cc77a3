//! Starts a thin server.

use std::error::Error;
use std::process::ExitCode;

use grantor::client_metadata::RegistrationBounds;
use grantor::hooks::ApproveWithin;
use grantor::scope::ResourceScope;
use grantor::secret::{Entropy as _, SystemEntropy};
use grantor::server::Builder;
use grantor::{AuthorizationServer, MemoryStore};

use crate::application::{self, Application};
use crate::devices::DeviceClients;
use crate::options::Options;
use crate::{clients, purge};

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
    let mut application = match known.first() {
        Some(first) => Application::of_file(&server, first),
        None => Application::register(&server, options).await?,
    };
    if options.devices {
        application.devices = Some(DeviceClients::register(&server).await?);
    }
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

/// Returns 128 random bits in hexadecimal.
#[must_use]
pub fn random_id() -> String {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
