use axum::extract::{FromRequestParts, Query, State};
use axum::http::{StatusCode, request::Parts};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Router, routing::get};
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::scope::{ScopeCatalog, ScopeDefinition};
use grantor::{AuthorizationServer, Config, MemoryThrottle, SqliteStore, Subject, TracingEvents};
use grantor_axum::{Interaction, Refused, RequireScope, RequiredScope, Users};
use grantor_pages::Pages;
use tower_sessions::{MemoryStore, Session, SessionManagerLayer, cookie::SameSite};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let mut config = Config::strict("http://127.0.0.1:8080");
    config.development = true; // Accepts http on the loopback.
    config.scopes = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes").with_title("Read notes")).build()?;
    let builder = AuthorizationServer::builder(config, SqliteStore::open("notes.sqlite")?);
    let server = builder.throttle(MemoryThrottle::new()).events(TracingEvents).build()?;
    let client = server.own_client("notes-app").name("Notes App").redirect_uri("http://127.0.0.1:8081/callback");
    client.scopes("notes").secret("32-or-more-random-characters-from-your-configuration").ensure().await?;
    tokio::spawn(grantor_axum::purge(server.clone()));

    // A `Strict` cookie would not come with users who arrive from a client. Remove `with_secure` when you serve https.
    let sessions = SessionManagerLayer::new(MemoryStore::default()).with_same_site(SameSite::Lax).with_secure(false);
    let app = Router::new()
        .route("/notes", get(notes))
        .route("/sign-in", get(sign_in))
        .with_state(server.clone())
        .merge(Interaction::new(&server, Pages::new("Notes"), MyUsers).routes())
        .layer(sessions)
        .into_make_service_with_connect_info::<std::net::SocketAddr>();
    Ok(axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?, app).await?)
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

async fn notes(State(server): State<AuthorizationServer>, guard: RequireScope<Notes>) -> Result<String, Refused> {
    Ok(format!("the notes of {}\n", server.require_subject(&guard.token)?))
}
