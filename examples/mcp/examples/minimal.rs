use std::{collections::HashMap, error::Error, sync::Arc, time::Duration};

use axum::body::to_bytes;
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header::ORIGIN, request::Parts};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Router, routing::get};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::DynamicRegistration;
use grantor::hooks::ApproveWithin;
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::protected_resource::ProtectedResource;
use grantor::redirect_uri::PrivateUseSchemes;
use grantor::scope::{ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::{Authenticated, AuthorizationServer, Config, MemoryThrottle, SqliteStore, Subject, TracingEvents};
use grantor_axum::{Interaction, Users, accept, refuse_other_hosts, require_scopes};
use grantor_fetch::Fetch;
use grantor_pages::Pages;
use rmcp::handler::server::{tool::Extension, wrapper::Parameters};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, schemars, tool, tool_handler, tool_router};
use tokio::{signal, sync::Mutex, time::timeout};
use tower_http::cors::{AllowHeaders, CorsLayer};
use tower_sessions::{MemoryStore, Session, SessionManagerLayer, cookie::SameSite};
use tracing_subscriber::{filter::LevelFilter as Level, filter::Targets, prelude::*};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let lines = Targets::new().with_default(Level::INFO).with_target("rmcp", Level::WARN); // It logs each message.
    tracing_subscriber::fmt().finish().with(lines).init();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let issuer = format!("http://{}", listener.local_addr()?); // In production, your https URL.
    let mcp_url = format!("{issuer}/mcp");
    let server = authorization_server(&issuer, &mcp_url)?;
    tokio::spawn(grantor_axum::purge(server.clone()));

    // The origins of pages that may call the MCP server: this one, and the MCP Inspector.
    let origins = vec![HeaderValue::from_str(&issuer)?, HeaderValue::from_static("http://localhost:6274")];
    let sessions = SessionManagerLayer::new(MemoryStore::default()).with_secure(issuer.starts_with("https:"));
    let app = Router::new()
        .route("/sign-in", get(sign_in))
        .merge(Interaction::new(&server, Pages::new("Notes"), MyUsers).routes())
        .layer(sessions.with_same_site(SameSite::Lax)) // With `Strict`, users who arrive from a client look signed out.
        .merge(mcp(&server, &mcp_url, origins)?)
        .layer(refuse_other_hosts(server.hosts()));
    #[cfg(unix)]
    let mut terminated = signal::unix::signal(signal::unix::SignalKind::terminate())?;
    #[cfg(windows)]
    let mut terminated = signal::windows::ctrl_shutdown()?;
    let stopped = async {
        tokio::select! { _ = signal::ctrl_c() => {}, _ = terminated.recv() => {} }
    };
    println!("Paste this address into an MCP client: {mcp_url}");
    accept::serve(listener, app, stopped).await;
    Ok(())
}

fn authorization_server(issuer: &str, mcp_url: &str) -> Result<AuthorizationServer, Box<dyn Error>> {
    let mut config = Config::mcp(issuer);
    config.development = issuer.starts_with("http:"); // `build` accepts http on the loopback alone.
    let notes = ScopeDefinition::plain("notes").with_title("Notes").with_verbs("Read and write your notes", "");
    config.scopes = ScopeCatalog::builder().scope(notes).build()?;
    let mut resource = ProtectedResource::new(mcp_url, "Notes");
    resource.basic_scopes = vec!["notes".into()]; // What a client asks for first.
    resource.root_metadata = true; // Some clients look for the metadata only there.
    config.resources = vec![resource];
    config.registration.dynamic = DynamicRegistration::Open;
    config.registration.metadata_documents = true;
    config.registration.service_name = "Notes".into(); // As on your pages.
    config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()]);
    let policy = ApproveWithin::new(RegistrationBounds::new(config.scopes.parse(b"notes")?, ResourceScope::All));
    let builder = AuthorizationServer::builder(config, SqliteStore::open("mcp.sqlite")?).registration_policy(policy);
    Ok(builder.fetcher(Fetch::new()?).throttle(MemoryThrottle::new()).events(TracingEvents).build()?)
}

/// The MCP server. The layer that is added last runs first.
fn mcp(server: &AuthorizationServer, url: &str, origins: Vec<HeaderValue>) -> Result<Router, Box<dyn Error>> {
    let resource = server.protected_resource(url)?;
    let needed = resource.scopes(["notes"])?;
    let notes = Notes::default();
    // Without MCP sessions: each request has its token. `refuse_other_hosts` checks the host.
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let (config, sessions) = (config.disable_allowed_hosts(), Arc::new(NeverSessionManager::default()));
    let service = StreamableHttpService::new(move || Ok(notes.clone()), sessions, config);
    Ok(Router::new()
        .route_service("/mcp", service)
        .route_layer(from_fn(read_message))
        .route_layer(require_scopes(resource, needed))
        .route_layer(from_fn_with_state(origins.clone(), refuse_other_origins))
        .route_layer(CorsLayer::new().allow_origin(origins).allow_headers(AllowHeaders::mirror_request())))
}

/// Refuses requests of pages of other origins, as MCP requires. Programs send no `Origin`.
async fn refuse_other_origins(State(origins): State<Vec<HeaderValue>>, request: Request, next: Next) -> Response {
    let is_allowed = request.headers().get_all(ORIGIN).iter().all(|origin| origins.contains(origin));
    if is_allowed { next.run(request).await } else { StatusCode::FORBIDDEN.into_response() }
}

/// Reads a message before `rmcp` does: up to 64 KiB, for at most ten seconds.
async fn read_message(request: Request, next: Next) -> Result<Response, StatusCode> {
    let (parts, body) = request.into_parts();
    let body = timeout(Duration::from_secs(10), to_bytes(body, 64 * 1024)).await;
    let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)?.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    Ok(next.run(Request::from_parts(parts, body.into())).await)
}

/// In place of your database: the notes of each user.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<HashMap<Subject, Vec<String>>>>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

#[tool_router]
impl Notes {
    #[tool(description = "Lists the notes.")]
    async fn list_notes(&self, request: Extension<Parts>) -> Result<String, ErrorData> {
        let user = user(&request.0)?;
        let notes = self.0.lock().await.get(&user).cloned().unwrap_or_default();
        Ok(format!("Notes of {user}: {}", notes.join(", ")))
    }

    #[tool(description = "Adds a note.")]
    async fn add_note(&self, request: Extension<Parts>, note: Parameters<Note>) -> Result<String, ErrorData> {
        self.0.lock().await.entry(user(&request.0)?).or_default().push(note.0.text);
        Ok("The note is added.".into())
    }
}

#[tool_handler(name = "notes", instructions = "The notes of the user who authorized the client.")]
impl ServerHandler for Notes {}

/// The user of the access token, which `require_scopes` put into the request.
fn user(request: &Parts) -> Result<Subject, ErrorData> {
    let user = request.extensions.get::<Authenticated>().and_then(Authenticated::subject);
    user.cloned().ok_or_else(|| ErrorData::invalid_request("the access token has no user", None))
}

struct MyUsers;

impl Users for MyUsers {
    async fn signed_in(&self, request: &mut Parts) -> Result<Option<SignedIn>, Response> {
        let session = Session::from_request_parts(request, &()).await.map_err(IntoResponse::into_response)?;
        let user = session.get::<String>("user").await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE.into_response())?;
        Ok(user.and_then(|user| Subject::new(user).ok()).map(SignedIn::new))
    }

    fn sign_in(&self, return_to: &ReturnTo) -> Response {
        Redirect::to(&return_to.query("/sign-in")).into_response()
    }
}

#[derive(serde::Deserialize)]
struct SignIn {
    return_to: ReturnTo,
}

/// In place of your sign-in page: whoever opens it is Alice.
async fn sign_in(session: Session, Query(form): Query<SignIn>) -> Result<Redirect, StatusCode> {
    session.cycle_id().await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    session.insert("user", "alice").await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(Redirect::to(form.return_to.as_str()))
}
