//! The servers on actix-web, under tokio's runtime as in the example; one worker on one core.
//!
//! oxide-auth-actix can run an operation in the handler or send it to an actor. The first saves a message.

use std::net::TcpListener;
use std::sync::Mutex;

use ::oxide_auth::endpoint::QueryParameter;
use actix_web::http::header::ContentType;
use actix_web::web::{self, Bytes, Data, ServiceConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, Responder, ResponseError};
use oxide_auth_actix::{OAuthOperation, OAuthRequest, OAuthResource, OAuthResponse, Refresh, Resource, WebError};

use super::greeting::Greeting;
use super::oxide_auth::Parts;
use super::{Options, RESOURCE_PATH, Server, TOKEN_PATH, bare, examples};

pub(super) fn serve(options: &Options, listener: TcpListener) {
    let address = listener.local_addr().expect("a socket").to_string();
    let greet = |credentials, tokens| {
        Greeting { address, token_path: TOKEN_PATH.to_owned(), credentials, tokens }.print();
    };
    match options.server {
        Server::GrantorActix => {
            let (server, credentials, tokens) = examples::server(options.job);
            greet(credentials, tokens);
            run(listener, move |services| demo::actix::configure(services, &server));
        }
        Server::OxideAuthActix => {
            let (parts, tokens) = Parts::new();
            let parts = Data::new(parts);
            greet(bare::credentials(), tokens);
            run(listener, move |services| {
                services.app_data(parts.clone());
                services.route(TOKEN_PATH, web::post().to(token)).route(RESOURCE_PATH, web::get().to(me));
            });
        }
        _ => {
            greet(bare::credentials(), bare::tokens(&options.answer));
            let answer = Data::new(Bytes::from(options.answer.clone()));
            run(listener, move |services| {
                services.app_data(answer.clone());
                services.route(TOKEN_PATH, web::post().to(token_bytes)).route(RESOURCE_PATH, web::get().to(bytes));
            });
        }
    }
}

fn run(listener: TcpListener, routes: impl Fn(&mut ServiceConfig) + Clone + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let server = HttpServer::new(move || App::new().configure(routes.clone())).listen(listener);
        server.expect("a socket").run().await.expect("actix-web ends without error");
    });
}

/// Reads the body as bytes, checks nothing, and answers with bytes.
async fn bytes(answer: Data<Bytes>, _: Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(answer.as_ref().clone())
}

/// The same with the header lines of a token's answer.
async fn token_bytes(answer: Data<Bytes>, _: Bytes) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    for header in bare::TOKEN_HEADERS {
        response.append_header(header);
    }
    response.body(answer.as_ref().clone())
}

/// Your service distinguishes the grant types. The load uses only one.
async fn token(parts: Data<Mutex<Parts>>, request: OAuthRequest) -> Result<OAuthResponse, WebError> {
    let grant_type = request.body().and_then(|body| body.unique_value("grant_type"));
    if grant_type.as_deref() != Some("refresh_token") {
        return Err(WebError::Body);
    }
    let mut parts = parts.lock().expect("no panics");
    Refresh(request).run(parts.endpoint())
}

async fn me(parts: Data<Mutex<Parts>>, request: OAuthResource, incoming: HttpRequest) -> HttpResponse {
    let mut parts = parts.lock().expect("no panics");
    match Resource(request.into_request()).run(parts.endpoint()) {
        Ok(grant) => {
            let scope = grant.scope.to_string();
            HttpResponse::Ok().json(serde_json::json!({ "user": grant.owner_id, "scope": scope }))
        }
        Err(Ok(refusal)) => refusal.respond_to(&incoming),
        Err(Err(error)) => error.error_response(),
    }
}
