//! A web service that is its own authorization server: one user, one application, one resource.
//!
//! `cargo run --example actix` prints where to begin.

mod adapter;
#[path = "../demo/mod.rs"]
mod demo;

use std::error::Error;
use std::net::TcpListener;
use std::process::ExitCode;

use actix_web::http::header::{ContentType, HeaderMap};
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use grantor::scope::{Permission, Resource};
use grantor::wire::{Endpoint, protective_headers};
use grantor::{AuthorizationServer, Config, Decision, MemoryStore};

use self::adapter::{Incoming, machine_endpoints, respond};
use self::demo::{Me, Options, Session};

#[tokio::main]
async fn main() -> ExitCode {
    demo::start(serve).await
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(&options.listen).map_err(|error| options.cannot_listen(error))?;
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
    let app = move || App::new().configure(|services| routes(services, &server));
    let patient = HttpServer::new(app).client_request_timeout(adapter::PATIENCE);
    Ok(patient.listen(listener)?.run().await?)
}

/// Everything that the service answers.
pub(crate) fn routes(services: &mut ServiceConfig, server: &AuthorizationServer) {
    machine_endpoints(services, server);
    services
        .app_data(Data::new(server.clone()))
        .route(&server.path(Endpoint::Authorization), web::to(authorize))
        .route("/consent", web::to(consent))
        .route("/api/me", web::to(me));
}

/// Asks the user, who would have to sign in first in a real service.
async fn authorize(server: Data<AuthorizationServer>, request: HttpRequest, payload: Payload) -> HttpResponse {
    let incoming = Incoming::read(request, payload, server.body_limit()).await;
    let session = session(incoming.headers());
    let pending = match server.authorize(&incoming.lend()).await {
        Ok(pending) => pending,
        Err(error) => return respond(error.response(Some(&session.user))),
    };
    let handle = match server.hold(&pending, &session.user, session.id.as_bytes()).await {
        Ok(handle) => handle,
        Err(error) => return respond(error.response(Some(&session.user))),
    };
    let mut page = HttpResponse::Ok();
    page.content_type(ContentType::html()).append_header(("Set-Cookie", session.set_cookie()));
    for header in protective_headers() {
        page.append_header(header);
    }
    page.body(demo::consent_page(&pending, &session, &handle))
}

/// Takes the decision; the form's handle is worth nothing without this user's session.
async fn consent(server: Data<AuthorizationServer>, request: HttpRequest, payload: Payload) -> HttpResponse {
    let incoming = Incoming::read(request, payload, server.body_limit()).await;
    let session = session(incoming.headers());
    let (handle, decision) = demo::decision(incoming.body()).unwrap_or((String::new(), Decision::Deny));
    match server.decide(&handle, &session.user, session.id.as_bytes(), &decision).await {
        Ok(redirect) => respond(redirect),
        Err(error) => respond(error.response(Some(&session.user))),
    }
}

/// A resource: who the token speaks for.
async fn me(server: Data<AuthorizationServer>, request: HttpRequest) -> HttpResponse {
    let checked = server.authenticate(&Incoming::head(request).lend()).await.and_then(|token| {
        server.require(&token, "account-profile", Permission::Read, Resource::Account)?;
        Ok(HttpResponse::Ok()
            .json(Me { user: server.require_subject(&token)?.as_str(), scope: token.scopes().as_str() }))
    });
    checked.unwrap_or_else(|error| respond(error.into_response()))
}

fn session(headers: &HeaderMap) -> Session {
    Session::of(headers.get("Cookie").and_then(|cookies| cookies.to_str().ok()))
}
