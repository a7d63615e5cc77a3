//! A service with its own tables through diesel and its sessions in `tower-sessions-rusqlite-store`, beside the SQLite
//! store of grantor.
//!
//! Run: `cargo run`, in this folder

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Router, routing::get};
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection, sql_query};
use grantor::{AuthorizationServer, Config, MemoryThrottle, SqliteStore, TracingEvents};
use tower_sessions::{
    ExpiredDeletion as _, Expiry, Session, SessionManagerLayer, cookie::SameSite, cookie::time::Duration,
};
use tower_sessions_rusqlite_store::{RusqliteStore, tokio_rusqlite::Connection};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let app = app(".".as_ref()).await?.into_make_service_with_connect_info::<SocketAddr>();
    println!("http://127.0.0.1:8080");
    Ok(axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?, app).await?)
}

/// The connection of the service to its own tables.
type Database = Arc<Mutex<SqliteConnection>>;

/// Opens the databases in the folder, and returns the routes of the service.
async fn app(folder: &Path) -> Result<Router, Box<dyn Error>> {
    let mut own = SqliteConnection::establish(&folder.join("visits.sqlite").to_string_lossy())?;
    sql_query("CREATE TABLE IF NOT EXISTS visits (id INTEGER PRIMARY KEY)").execute(&mut own)?;

    let mut config = Config::strict("http://127.0.0.1:8080");
    config.development = true;
    config.client_credentials.on = true;
    let builder = AuthorizationServer::builder(config, SqliteStore::open(folder.join("grantor.sqlite"))?);
    let server = builder.throttle(MemoryThrottle::new()).events(TracingEvents).build()?;
    tokio::spawn(grantor_axum::purge(server.clone()));

    let sessions = RusqliteStore::new(Connection::open(folder.join("sessions.sqlite")).await?);
    sessions.migrate().await?;
    tokio::spawn(sessions.clone().continuously_delete_expired(std::time::Duration::from_secs(60)));
    let layer = SessionManagerLayer::new(sessions)
        .with_secure(server.issuer().starts_with("https:"))
        .with_same_site(SameSite::Lax)
        .with_expiry(Expiry::OnInactivity(Duration::days(7)))
        .with_always_save(true);
    let endpoints = grantor_axum::routes(&server).with_state(server);
    let own = Arc::new(Mutex::new(own));
    Ok(Router::new().route("/", get(visit)).with_state(own).merge(endpoints).layer(layer))
}

/// Counts the visits of this session, and writes each into the table of the service.
async fn visit(State(database): State<Database>, session: Session) -> Result<String, StatusCode> {
    let unavailable = |_| StatusCode::SERVICE_UNAVAILABLE;
    let visits: u32 = session.get::<u32>("visits").await.map_err(unavailable)?.unwrap_or_default() + 1;
    session.insert("visits", visits).await.map_err(unavailable)?;
    let write = move || {
        let mut database = database.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        sql_query("INSERT INTO visits DEFAULT VALUES").execute(&mut *database)
    };
    let written = tokio::task::spawn_blocking(write).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    written.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(format!("visit {visits}"))
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::{HeaderMap, Request};
    use diesel::QueryableByName;
    use diesel::sql_types::BigInt;
    use tower::ServiceExt as _;

    use super::*;

    #[derive(QueryableByName)]
    struct Count {
        #[diesel(sql_type = BigInt)]
        count: i64,
    }

    async fn get(app: &Router, path: &str, cookies: &str) -> (HeaderMap, String) {
        let request = Request::get(path).header("Cookie", cookies).body(Body::empty()).unwrap();
        let (parts, body) = app.clone().oneshot(request).await.unwrap().into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (parts.headers, String::from_utf8(body.into()).unwrap())
    }

    #[tokio::test]
    async fn a_session_outlasts_a_restart_beside_the_other_databases() {
        let folder = std::env::temp_dir().join(format!("grantor-with-diesel-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = app(&folder).await.unwrap();
        let (headers, text) = get(&first, "/", "").await;
        assert_eq!(text, "visit 1");
        let cookie = headers["set-cookie"].to_str().unwrap().split(';').next().unwrap();
        drop(first);

        let second = app(&folder).await.unwrap();
        assert_eq!(get(&second, "/", cookie).await.1, "visit 2");
        assert_eq!(get(&second, "/", "").await.1, "visit 1");
        let (_, metadata) = get(&second, "/.well-known/oauth-authorization-server", "").await;
        assert!(metadata.contains(r#""token_endpoint":"http://127.0.0.1:8080/oauth2/token""#), "{metadata}");
        let mut own = SqliteConnection::establish(&folder.join("visits.sqlite").to_string_lossy()).unwrap();
        let rows: Vec<Count> = sql_query("SELECT count(*) AS count FROM visits").load(&mut own).unwrap();
        assert_eq!(rows[0].count, 3);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
