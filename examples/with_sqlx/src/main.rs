//! A service whose own tables and sessions are in SQLite through sqlx, beside the SQLite store of grantor.
//!
//! Run: `cargo run`, in this folder. `ISSUER=https://example.com/notes` serves it behind a proxy, below a path.

mod sessions;

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use axum::extract::{ConnectInfo, FromRequestParts, Query, Request, State};
use axum::http::{StatusCode, request::Parts};
use axum::middleware::map_request;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Router, routing::get};
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::scope::{ScopeCatalog, ScopeDefinition};
use grantor::{Authenticated, AuthorizationServer, Config, MemoryThrottle, SqliteStore, Subject, TracingEvents};
use grantor_axum::{Interaction, Refused, RequiredScope, Users, require_scope};
use grantor_pages::Pages;
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use tower_sessions::{Expiry, Session, SessionManagerLayer, cookie::SameSite, cookie::time::Duration};

use crate::sessions::Sessions;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().init();
    let issuer = std::env::var("ISSUER").unwrap_or_else(|_| "http://127.0.0.1:8080".to_owned());
    let secret = std::env::var("NOTES_SECRET").or_else(|error| match issuer.starts_with("http:") {
        true => Ok("development".repeat(3)),
        false => Err(format!("NOTES_SECRET, 32 or more random characters: {error}")),
    })?;
    let app = app(&issuer, &secret, ".".as_ref()).await?.into_make_service_with_connect_info::<SocketAddr>();
    println!("{issuer}");
    Ok(axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?, app).await?)
}

/// What the handlers of the service share.
#[derive(Clone)]
struct Notes {
    server: AuthorizationServer,
    database: SqlitePool,
}

/// Opens both databases in the folder, and returns the routes of the service.
async fn app(issuer: &str, secret: &str, folder: &Path) -> Result<Router, Box<dyn Error>> {
    let options = SqliteConnectOptions::new().filename(folder.join("notes.sqlite")).create_if_missing(true);
    let database = SqlitePool::connect_with(options).await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS notes (owner TEXT NOT NULL, note TEXT NOT NULL)")
        .execute(&database)
        .await?;

    let mut config = Config::strict(issuer);
    config.development = issuer.starts_with("http:");
    config.scopes = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes").with_title("Read notes")).build()?;
    let builder = AuthorizationServer::builder(config, SqliteStore::open(folder.join("grantor.sqlite"))?);
    let server = builder.throttle(MemoryThrottle::new()).events(TracingEvents).build()?;
    let client = server.own_client("notes-app").name("Notes App").redirect_uri("http://127.0.0.1:8081/callback");
    client.scopes("notes").secret(secret).ensure().await?;
    tokio::spawn(grantor_axum::purge(server.clone()));

    let sessions = Sessions::new(database.clone()).await?;
    tokio::spawn(sessions.clone().purge());
    let layer = SessionManagerLayer::new(sessions)
        .with_name("notes") // Beside another service of the same host, whose cookie is called `id` too.
        .with_secure(issuer.starts_with("https:"))
        .with_same_site(SameSite::Lax)
        // Each visit counts: without the second line, only a sign-in does.
        .with_expiry(Expiry::OnInactivity(Duration::days(7)))
        .with_always_save(true);
    // An issuer with a path has all its endpoints below it. The other routes of the service go there too.
    let path = server.issuer_path();
    let notes = get(notes).route_layer(require_scope::<ReadNotes>(server.clone())?);
    let users = MyUsers { sign_in: format!("{path}/sign-in") };
    Ok(Router::new()
        .route(&format!("{path}/notes"), notes)
        .route(&users.sign_in, get(sign_in))
        .with_state(Notes { server: server.clone(), database })
        .merge(Interaction::new(&server, Pages::new("Notes"), users).routes())
        .layer(layer)
        .layer(map_request(behind_the_proxy)))
}

/// Takes the address of the browser from a proxy on this machine, for the throttle.
async fn behind_the_proxy(mut request: Request) -> Request {
    let header = request.headers().get("X-Real-IP").and_then(|value| value.to_str().ok()?.parse::<IpAddr>().ok());
    if let Some(ConnectInfo(peer)) = request.extensions_mut().get_mut::<ConnectInfo<SocketAddr>>()
        && let (true, Some(address)) = (peer.ip().is_loopback(), header)
    {
        peer.set_ip(address);
    }
    request
}

struct MyUsers {
    sign_in: String,
}

impl Users for MyUsers {
    async fn signed_in(&self, request: &mut Parts) -> Result<Option<SignedIn>, Response> {
        let session = Session::from_request_parts(request, &()).await.map_err(IntoResponse::into_response)?;
        let user = session.get::<String>("user").await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE.into_response())?;
        Ok(user.and_then(|user| Subject::new(user).ok()).map(SignedIn::new))
    }

    fn sign_in(&self, return_to: &ReturnTo) -> Response {
        Redirect::to(&return_to.query(&self.sign_in)).into_response()
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

struct ReadNotes;

impl RequiredScope for ReadNotes {
    const NAME: &str = "notes";
}

/// The notes of the token's user, from the service's own table.
async fn notes(State(notes): State<Notes>, token: Extension<Authenticated>) -> Result<String, Response> {
    let user = notes.server.resource().require_subject(&token).map_err(|error| Refused::from(error).into_response())?;
    let query = sqlx::query_scalar("SELECT note FROM notes WHERE owner = ?").bind(user.as_str());
    let found: sqlx::Result<Vec<String>> = query.fetch_all(&notes.database).await;
    found.map(|notes| notes.join("\n")).map_err(|_| StatusCode::SERVICE_UNAVAILABLE.into_response())
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::{HeaderMap, Request, header};
    use tower::ServiceExt as _;

    use super::*;

    const SECRET: &str = "developmentdevelopmentdevelopment";
    const AUTHORIZE: &str = "/notes/oauth2/auth?response_type=code&client_id=notes-app&scope=notes\
        &redirect_uri=http%3A%2F%2F127.0.0.1%3A8081%2Fcallback\
        &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";

    async fn get(app: &Router, target: &str, cookies: &str) -> (StatusCode, HeaderMap, String) {
        let request = Request::get(target).header("Host", "example.com").header("Cookie", cookies);
        let answer = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (parts.status, parts.headers, String::from_utf8(body.into()).unwrap())
    }

    fn location(headers: &HeaderMap) -> &str {
        headers[header::LOCATION].to_str().unwrap()
    }

    #[tokio::test]
    async fn a_user_stays_signed_in_over_a_restart() {
        let folder = std::env::temp_dir().join(format!("grantor-with-sqlx-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = app("https://example.com/notes", SECRET, &folder).await.unwrap();
        let (_, headers, _) = get(&first, AUTHORIZE, "").await;
        assert!(location(&headers).starts_with("/notes/sign-in?return_to=%2Fnotes%2Foauth2%2Fauth"), "{headers:?}");
        let (_, headers, _) = get(&first, location(&headers), "").await;
        assert_eq!(location(&headers), AUTHORIZE);
        let cookie = headers[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap();
        drop(first);

        let second = app("https://example.com/notes", SECRET, &folder).await.unwrap();
        let (status, _, page) = get(&second, AUTHORIZE, cookie).await;
        assert!(status == StatusCode::OK && page.contains("alice"), "{status}: {page}");
        let (status, headers, _) = get(&second, "/notes/notes", cookie).await;
        assert!(status == StatusCode::UNAUTHORIZED && headers.contains_key("www-authenticate"), "{status}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
