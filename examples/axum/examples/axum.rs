//! A web service on axum that is its own authorization server: one user, one application, one resource.
//!
//! `cargo run -p grantor-axum --example axum` prints where to begin. Every browser is signed in as the same user. Its
//! routes are in `examples/demo/src/axum.rs`.

use std::error::Error;
use std::process::ExitCode;

use demo::Options;
use grantor_axum::accept;

#[tokio::main]
async fn main() -> ExitCode {
    demo::start(serve).await
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let listener = options.bind()?;
    let issuer = options.issuer(listener.local_addr()?);
    let listener = demo::tls::terminate(&options, listener)?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let server = demo::authorization_server(&options, issuer).await?;
    accept::serve(listener, demo::axum::routes(server), stopped()).await;
    Ok(())
}

async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
