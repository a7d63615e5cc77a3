use axum::extract::{FromRequestParts, Query, State};
use axum::http::{StatusCode, request::Parts};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Router, routing::get};
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::scope::{ScopeCatalog, ScopeDefinition};
use grantor::{Authenticated, AuthorizationServer, Config, MemoryThrottle, SqliteStore, Subject, TracingEvents};
use grantor_axum::{Interaction, Refused, RequiredScope, Users, require_scope};
use grantor_pages::Pages;
use tower_sessions::{MemoryStore, Session, SessionManagerLayer, cookie::SameSite};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let mut config = Config::strict("http://127.0.0.1:8080"); // In production, your https URL.
    config.development = config.issuer.starts_with("http:"); // `build` accepts http on the loopback alone.
    config.scopes = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes").with_title("Read notes")).build()?;
    let secret = std::env::var("NOTES_SECRET").ok().or_else(|| config.development.then(|| "development".repeat(3)));
    let builder = AuthorizationServer::builder(config, SqliteStore::open("notes.sqlite")?);
    let server = builder.throttle(MemoryThrottle::new()).events(TracingEvents).build()?;
    let client = server.own_client("notes-app").name("Notes App").redirect_uri("http://127.0.0.1:8081/callback");
    client.scopes("notes").secret(secret.ok_or("set NOTES_SECRET, 32 or more random characters")?).ensure().await?;
    tokio::spawn(grantor_axum::purge(server.clone()));

    let sessions = SessionManagerLayer::new(MemoryStore::default()).with_secure(server.issuer().starts_with("https:"));
    let app = Router::new()
        .route("/notes", get(notes).route_layer(require_scope::<Notes>(server.clone())?))
        .route("/sign-in", get(sign_in))
        .with_state(server.clone())
        .merge(Interaction::new(&server, Pages::new("Notes"), MyUsers).routes())
        .layer(sessions.with_same_site(SameSite::Lax)) // With `Strict`, users who arrive from a client look signed out.
        .into_make_service_with_connect_info::<std::net::SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await.map_err(|e| format!("port 8080: {e}"))?;
    println!("Notes is at http://127.0.0.1:8080");
    Ok(axum::serve(listener, app).await?)
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

struct Notes;

impl RequiredScope for Notes {
    const NAME: &str = "notes";
}

async fn notes(State(server): State<AuthorizationServer>, token: Extension<Authenticated>) -> Result<String, Refused> {
    Ok(format!("the notes of {}\n", server.resource().require_subject(&token)?))
}
