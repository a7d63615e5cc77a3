//! A web service that is its own authorization server: one user, one application, one resource.
//!
//! `cargo run --example axum` prints where to begin.

mod adapter;
pub(crate) mod connections;
#[path = "../demo/mod.rs"]
mod demo;

use std::error::Error;
use std::process::ExitCode;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{AppendHeaders, Html, IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use grantor::scope::{Permission, Resource};
use grantor::wire::{Endpoint, protective_headers};
use grantor::{AuthorizationServer, Config, Decision, MemoryStore};
use tokio::net::TcpListener;

use self::adapter::{Incoming, machine_endpoints, respond};
use self::demo::{Me, Options, Session};

#[tokio::main]
async fn main() -> ExitCode {
    demo::start(serve).await
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(&options.listen).await.map_err(|error| options.cannot_listen(error))?;
    let mut config = Config::platform(format!("http://{}", listener.local_addr()?));
    config.development = true;
    demo::set_no_bounds(&mut config);
    options.times.apply(&mut config);
    let server = AuthorizationServer::builder(config, MemoryStore::new())
        // For `--clock-speed` alone; without this line it is the system's.
        .clock(options.times.clock())
        .throttle(options.throttle())
        .build()?;
    demo::register(&server, &options).await?;
    tokio::spawn(demo::purge(server.clone(), options.times.minute()));
    connections::serve(listener, routes(server)).await
}

/// Everything that the service answers.
pub(crate) fn routes(server: AuthorizationServer) -> Router {
    machine_endpoints(&server)
        .route(&server.path(Endpoint::Authorization), any(authorize))
        .route("/consent", any(consent))
        .route("/api/me", any(me))
        .with_state(server)
}

/// Asks the user, who would have to sign in first in a real service.
async fn authorize(State(server): State<AuthorizationServer>, request: Request) -> Response {
    let incoming = Incoming::read(request, server.body_limit()).await;
    let session = session(incoming.headers());
    let pending = match server.authorize(&incoming.lend()).await {
        Ok(pending) => pending,
        Err(error) => return respond(error.response(Some(&session.user))),
    };
    let handle = match server.hold(&pending, &session.user, session.id.as_bytes()).await {
        Ok(handle) => handle,
        Err(error) => return respond(error.response(Some(&session.user))),
    };
    let page = Html(demo::consent_page(&pending, &session, &handle));
    let cookie = AppendHeaders([("Set-Cookie", session.set_cookie())]);
    (cookie, AppendHeaders(protective_headers()), page).into_response()
}

/// Takes the decision; the form's handle is worth nothing without this user's session.
async fn consent(State(server): State<AuthorizationServer>, request: Request) -> Response {
    let incoming = Incoming::read(request, server.body_limit()).await;
    let session = session(incoming.headers());
    let (handle, decision) = demo::decision(incoming.body()).unwrap_or((String::new(), Decision::Deny));
    match server.decide(&handle, &session.user, session.id.as_bytes(), &decision).await {
        Ok(redirect) => respond(redirect),
        Err(error) => respond(error.response(Some(&session.user))),
    }
}

/// A resource: who the token speaks for.
async fn me(State(server): State<AuthorizationServer>, request: Request) -> Response {
    let checked = server.authenticate(&Incoming::head(request).lend()).await.and_then(|token| {
        server.require(&token, "account-profile", Permission::Read, Resource::Account)?;
        Ok(Json(Me { user: server.require_subject(&token)?.as_str(), scope: token.scopes().as_str() }).into_response())
    });
    checked.unwrap_or_else(|error| respond(error.into_response()))
}

fn session(headers: &HeaderMap) -> Session {
    Session::of(headers.get("Cookie").and_then(|cookies| cookies.to_str().ok()))
}
