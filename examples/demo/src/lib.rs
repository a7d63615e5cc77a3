//! What the thin servers share: options, the demo application, the session cookie, the consent page, the purge; and
//! what each of them answers.

#[cfg(feature = "actix")]
pub mod actix;
mod application;
#[cfg(feature = "axum")]
pub mod axum;
mod consent_page;
mod options;
pub mod purge;
mod session;
pub mod throttle;
pub mod times;

use std::error::Error;
use std::process::ExitCode;

use grantor::{AuthorizationServer, MemoryStore};
use serde::Serialize;

pub use self::application::Application;
pub use self::consent_page::consent_page;
pub use self::options::Options;
pub use self::session::Session;

/// Runs a thin server as the command line says; an error is reported in words.
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

/// The authorization server of a thin server, with a purge; the credentials of the demo application are printed.
///
/// # Errors
///
/// Whatever refuses the settings or the application.
pub async fn authorization_server(options: &Options, issuer: String) -> Result<AuthorizationServer, Box<dyn Error>> {
    let (server, application) = with_application(options, issuer).await?;
    application.print(options.json)?;
    Ok(server)
}

/// The same, where nothing is printed.
///
/// # Errors
///
/// Whatever refuses the settings or the application.
pub async fn with_application(
    options: &Options,
    issuer: String,
) -> Result<(AuthorizationServer, Application), Box<dyn Error>> {
    let server = AuthorizationServer::builder(options.config(issuer), MemoryStore::new())
        // For `--clock-speed` alone; without this line it is the system's.
        .clock(options.times.clock())
        .throttle(options.throttle())
        .build()?;
    let application = Application::register(&server, options).await?;
    tokio::spawn(purge::forever(server.clone(), options.times.minute()));
    Ok((server, application))
}

/// What the resource answers: who the token speaks for, and what it is good for.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Me<'a> {
    pub user: &'a str,
    pub scope: &'a str,
}
