//! All routes of the process.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::middleware::from_fn_with_state;
use grantor::AuthorizationServer;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower_http::cors::{AllowHeaders, Any, CorsLayer};

use crate::guard::{self, Guard, MESSAGE_BYTES};
use crate::review::{self, Review};
use crate::settings::{mcp_path, mcp_url};
use crate::tools::Notes;

/// The authorization server with its pages, the MCP server behind its guard, and the review if there is one.
pub(crate) fn app(server: &AuthorizationServer, review: Option<Review>) -> Result<Router, Box<dyn Error>> {
    let authorization = grantor_axum::routes(server).merge(demo::axum::pages(server)).with_state(server.clone());
    let app = authorization.merge(mcp(server)?);
    Ok(match review {
        Some(review) => app.merge(review::routes(review)),
        None => app,
    })
}

fn mcp(server: &AuthorizationServer) -> Result<Router, Box<dyn Error>> {
    let url = mcp_url(server)?;
    let guard = Guard::new(server.resource(url)?)?;
    // Without MCP sessions: each request needs only the token, in every revision of MCP.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES);
    let notes = Notes::new(guard.clone());
    let service =
        StreamableHttpService::new(move || Ok(notes.clone()), Arc::new(NeverSessionManager::default()), config);
    let router = Router::new().route_service(mcp_path(url), service);
    // The CORS layer is outermost: it answers preflights, and lets pages read the guard's challenges.
    Ok(router.route_layer(from_fn_with_state(guard, guard::check)).route_layer(any_origin()))
}

/// Lets pages of every origin call the MCP server. They need an access token; cookies are ignored.
fn any_origin() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([header::WWW_AUTHENTICATE, header::RETRY_AFTER, HeaderName::from_static("mcp-session-id")])
}
