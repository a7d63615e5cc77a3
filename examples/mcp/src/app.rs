//! All routes of the process.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::middleware::from_fn_with_state;
use demo::{Alice, LOOPBACK_NAMES};
use grantor::AuthorizationServer;
use grantor_axum::{Interaction, refuse_other_hosts};
use grantor_pages::Pages;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::guard::{self, Guard, MESSAGE_BYTES};
use crate::origins::Origins;
use crate::review::{self, Review};
use crate::settings::{mcp_path, mcp_url};
use crate::tools::Notes;

/// The authorization server with its pages, the MCP server behind its guard, and the review if there is one.
///
/// Pages of these origins may call the MCP server too, besides those on this machine.
pub(crate) fn app(
    server: &AuthorizationServer,
    review: Option<Review>,
    origins: &[String],
) -> Result<Router, Box<dyn Error>> {
    let hosts = server.hosts().and(LOOPBACK_NAMES);
    let interaction = Interaction::new(server, Pages::new("Notes"), Alice).hosts(LOOPBACK_NAMES);
    let app = interaction.routes().merge(mcp(server, Origins::new(hosts.clone(), origins))?);
    let app = match review {
        Some(review) => app.merge(review::routes(review)),
        None => app,
    };
    Ok(app.layer(from_fn_with_state(hosts, refuse_other_hosts)))
}

fn mcp(server: &AuthorizationServer, origins: Origins) -> Result<Router, Box<dyn Error>> {
    let url = mcp_url(server)?;
    let guard = Guard::new(server.resource(url)?, origins.clone())?;
    // Without MCP sessions: each request needs only the token, in every revision of MCP. `refuse_other_hosts` checks the
    // host; `rmcp` by itself accepts only those of the loopback.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES);
    let notes = Notes::new(guard.clone());
    let service =
        StreamableHttpService::new(move || Ok(notes.clone()), Arc::new(NeverSessionManager::default()), config);
    let router = Router::new().route_service(mcp_path(url), service);
    // The CORS layer is outermost: it answers preflights, and lets pages read the guard's challenges.
    Ok(router.route_layer(from_fn_with_state(guard, guard::check)).route_layer(cors(origins)))
}

/// Lets pages of these origins call the MCP server. They need an access token; cookies are ignored.
fn cors(origins: Origins) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| origins.contain(origin)))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([header::WWW_AUTHENTICATE, header::RETRY_AFTER, HeaderName::from_static("mcp-session-id")])
}
