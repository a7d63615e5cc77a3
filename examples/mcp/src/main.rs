//! A protected MCP server and its authorization server in one process.
//!
//! `cargo run -p mcp` prints the address to paste into a client. Clients register themselves, and every browser is
//! signed in as the same user.

mod apart;
mod app;
mod console;
mod database;
mod guard;
mod hosts;
mod options;
mod origins;
mod review;
mod settings;
mod tools;

use std::error::Error;
use std::future::pending;
use std::process::ExitCode;

use grantor::AuthorizationServer;
use grantor::scope::ScopeSet;
use grantor_axum::accept;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

use crate::console::Addresses;
use crate::database::Database;
use crate::options::Options;
use crate::review::Review;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => run(&options).await,
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcp: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.resource_apart {
        return apart::run(options).await;
    }
    let listen = options.listen;
    if options.doctor {
        let issuer = options.issuer.clone().unwrap_or_else(|| format!("http://{listen}"));
        let database = Database::open(options.database.as_deref())?;
        let server = settings::authorization_server(options, &issuer, database.store.clone())?;
        print_doctor(&server, &settings::allowed_scopes(server.config())?).await;
        return Ok(());
    }
    let listener = TcpListener::bind(listen).await;
    let listener =
        listener.map_err(|error| format!("cannot listen on {listen}: {error} (--listen chooses another address)"))?;
    let here = format!("http://{}", listener.local_addr()?);
    let issuer = options.issuer.as_deref().unwrap_or(&here);
    let database = Database::open(options.database.as_deref())?;
    let server = settings::authorization_server(options, issuer, database.store.clone())?;
    let client = settings::ensure_client(&server, &options.redirect_uri).await?;
    apart::register(&server).await?;
    let review = options.review.then(|| Review::new(server.clone()));
    let app = app::app(&server, review.clone(), &options.origins)?;
    let addresses = Addresses {
        issuer,
        resource: settings::mcp_url(&server)?,
        client_id: client.id().as_str(),
        redirect_uri: &options.redirect_uri,
        review: review.as_ref(),
    };
    if options.json {
        addresses.print_json()
    } else {
        addresses.print_plain()
    }
    tokio::spawn(demo::purge::forever(server, options.times.minute()));
    accept::serve(listener, app, stopped()).await;
    Ok(())
}

/// Prints what keeps known hosts from connecting: settings, and documents that this machine cannot get.
async fn print_doctor(server: &AuthorizationServer, allowed: &ScopeSet) {
    let mut findings = hosts::report(server.config(), allowed);
    findings.extend(hosts::report_documents(server).await);
    if findings.is_empty() {
        println!("No known problem.");
    }
    for finding in findings {
        println!("{finding}");
    }
}

/// Waits for Ctrl-C or SIGTERM, so that the temporary folder is removed in both cases.
async fn stopped() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    match signal(SignalKind::terminate()) {
        Ok(mut signals) => _ = signals.recv().await,
        Err(_) => pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    pending().await
}
