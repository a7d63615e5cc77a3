//! The whole service as its people meet it: developers, an administrator, users, and a third-party
//! application on a second port.
//!
//! `cargo run --all-features --example platform` prints the addresses and the accounts.

mod accounts;
#[path = "../axum/adapter.rs"]
mod adapter;
mod applications;
mod database;
mod options;
mod pages;
mod registration;
mod review;
mod session;
mod sign_in;
mod web;
mod words;

use std::error::Error;
use std::net::SocketAddr;

use grantor::{AuthorizationServer, MemoryStore, TracingEvents};
use tokio::net::TcpListener;

use crate::database::Database;
use crate::options::Options;
use crate::web::Platform;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_args()?;
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let listener = TcpListener::bind(options.listen).await?;
    // A name of its own: browsers send cookies to every port of a host, so the third-party application,
    // which is at the number, would be sent this service's sessions.
    let base = format!("http://localhost:{}", listener.local_addr()?.port());
    let database = Database::open(&options.database)?;
    accounts::create_demo_accounts(&database).await?;
    let server = AuthorizationServer::builder(MemoryStore::new())
        .issuer(&*base)
        .configure(|config| {
            config.development = true;
            config.public_clients = true;
        })
        .events(TracingEvents)
        .build()?;
    let app = web::app(Platform { server, database, base: base.into() });
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
