//! A web service on actix-web that is its own authorization server: one user, one application, one resource.
//!
//! `cargo run -p grantor-actix --example actix` prints where to begin. Every browser is signed in as the same user. Its
//! routes are in `examples/demo/src/actix.rs`.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use actix_web::{App, HttpServer};
use demo::Options;

#[tokio::main]
async fn main() -> ExitCode {
    demo::start(serve).await
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let listener = options.bind()?;
    let issuer = options.issuer(listener.local_addr()?);
    let listener = demo::tls::terminate(&options, listener)?;
    let server = demo::authorization_server(&options, issuer).await?;
    let app = move || App::new().configure(|services| demo::actix::configure(services, &server));
    // Limits the first head of a connection. A proxy in front must limit later ones.
    let patient = HttpServer::new(app).client_request_timeout(Duration::from_secs(10));
    Ok(patient.listen(listener)?.run().await?)
}
