//! All routes of the process.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, Method, header};
use axum::middleware::from_fn_with_state;
use axum::routing::any;
use demo::{Alice, LOOPBACK_NAMES};
use grantor::wire::Body;
use grantor::{AuthorizationServer, ResourceServer};
use grantor_axum::{Interaction, refuse_other_hosts, respond, to_request};
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
    let resource = server.protected_resource(mcp_url(server)?)?;
    let app = interaction.routes().merge(mcp(resource, Origins::new(hosts.clone(), origins))?);
    let app = match review {
        Some(review) => app.merge(review::routes(review)),
        None => app,
    };
    Ok(app.layer(refuse_other_hosts(hosts)))
}

/// The MCP server and the metadata that leads its clients to the authorization server, for a process of their own.
pub(crate) fn apart(resource: ResourceServer, origins: &[String]) -> Result<Router, Box<dyn Error>> {
    let hosts = resource.hosts().and(LOOPBACK_NAMES);
    let (paths, document) = (resource.metadata_paths(), resource.clone());
    let document = any(async move |request: Request| {
        let (parts, _) = request.into_parts();
        respond(document.metadata_response(&to_request(&parts, Body::Empty)))
    });
    let app = mcp(resource, Origins::new(hosts.clone(), origins))?;
    let app = paths.iter().fold(app, |app, path| app.route(path, document.clone()));
    Ok(app.layer(refuse_other_hosts(hosts)))
}

fn mcp(resource: ResourceServer, origins: Origins) -> Result<Router, Box<dyn Error>> {
    let path = mcp_path(&resource.settings().ok_or("there is no resource")?.identifier).to_owned();
    let guard = Guard::new(resource, origins.clone())?;
    // Without MCP sessions: each request needs only the token, in every revision of MCP. `refuse_other_hosts` checks
    // the host; `rmcp` by itself accepts only those of the loopback.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES);
    let notes = Notes::new(guard.clone());
    let service =
        StreamableHttpService::new(move || Ok(notes.clone()), Arc::new(NeverSessionManager::default()), config);
    let router = Router::new().route_service(&path, service);
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
