//! The servers on axum, on tokio's multi-threaded runtime as `#[tokio::main]` makes it: one worker on one core.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use ::axum::body::Bytes;
use ::axum::extract::State;
use ::axum::http::header::CONTENT_TYPE;
use ::axum::response::{IntoResponse, Response};
use ::axum::routing::{get, post};
use ::axum::{Json, Router};
use ::oxide_auth::endpoint::{QueryParameter, RefreshFlow, ResourceFlow};
use oxide_auth_axum::{OAuthRequest, OAuthResource, OAuthResponse, WebError};

use super::greeting::Greeting;
use super::oxide_auth::Parts;
use super::{Options, RESOURCE_PATH, Server, TOKEN_PATH, bare, examples};

pub(super) fn serve(options: &Options, listener: TcpListener) {
    let (router, credentials, tokens) = match options.server {
        Server::GrantorAxum => {
            let (server, credentials, tokens) = examples::server(options.job);
            (demo::axum::routes(server), credentials, tokens)
        }
        Server::OxideAuthAxum => {
            let (parts, tokens) = Parts::new();
            (oxide_auth(parts), bare::credentials(), tokens)
        }
        _ => (bare_routes(options.answer.clone()), bare::credentials(), bare::tokens(&options.answer)),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        let address = listener.local_addr().expect("a socket").to_string();
        Greeting { address, token_path: TOKEN_PATH.to_owned(), credentials, tokens }.print();
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        axum::serve(listener, service).await.expect("axum never ends");
    });
}

/// Reads the body as bytes, checks nothing, and answers with bytes.
fn bare_routes(answer: String) -> Router {
    async fn answer_bytes(State(answer): State<Bytes>, _: Bytes) -> Response {
        ([(CONTENT_TYPE, "application/json")], answer).into_response()
    }
    async fn answer_token(State(answer): State<Bytes>, _: Bytes) -> Response {
        (bare::TOKEN_HEADERS, answer).into_response()
    }
    Router::new()
        .route(TOKEN_PATH, post(answer_token))
        .route(RESOURCE_PATH, get(answer_bytes))
        .with_state(Bytes::from(answer))
}

type Shared = Arc<Mutex<Parts>>;

fn oxide_auth(parts: Mutex<Parts>) -> Router {
    Router::new().route(TOKEN_PATH, post(token)).route(RESOURCE_PATH, get(me)).with_state(Arc::new(parts))
}

/// Your service distinguishes the grant types. The load uses only one.
async fn token(State(shared): State<Shared>, request: OAuthRequest) -> Result<OAuthResponse, WebError> {
    let grant_type = request.body().and_then(|body| body.unique_value("grant_type"));
    if grant_type.as_deref() != Some("refresh_token") {
        return Err(WebError::Body);
    }
    let mut parts = shared.lock().expect("no panics");
    Ok(RefreshFlow::prepare(parts.endpoint())?.execute(request)?)
}

async fn me(State(shared): State<Shared>, request: OAuthResource) -> Response {
    let mut parts = shared.lock().expect("no panics");
    let mut flow = match ResourceFlow::prepare(parts.endpoint()) {
        Ok(flow) => flow,
        Err(error) => return WebError::from(error).into_response(),
    };
    match flow.execute(OAuthRequest::from(request)) {
        Ok(grant) => {
            let scope = grant.scope.to_string();
            Json(serde_json::json!({ "user": grant.owner_id, "scope": scope })).into_response()
        }
        Err(Ok(refusal)) => refusal.into_response(),
        Err(Err(error)) => WebError::from(error).into_response(),
    }
}
