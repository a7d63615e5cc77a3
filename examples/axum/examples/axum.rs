//! A web service on axum that is its own authorization server: one user, one application, one resource.
//!
//! `cargo run -p grantor-axum --example axum` prints where to begin. Its routes are in `examples/demo/src/axum.rs`.

use std::error::Error;
use std::process::ExitCode;

use demo::Options;
use grantor_axum::accept;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> ExitCode {
    demo::start(serve).await
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(&options.listen).await.map_err(|error| options.cannot_listen(error))?;
    let server = demo::authorization_server(&options, format!("http://{}", listener.local_addr()?)).await?;
    accept::serve(listener, demo::axum::routes(server), stopped()).await;
    Ok(())
}

async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
