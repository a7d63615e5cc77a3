//! "Release Notes", a web application of another company: it drafts release notes from the issues that
//! its people let it read at Platform. It is an OAuth client, and shares nothing with the service but HTTP.

mod account;
mod api;
mod connect;
mod connection;
mod oauth;
mod pages;
mod session;
mod settings;
mod transport;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::RwLock;
use tower_sessions::cookie::SameSite;
use tower_sessions::{MemoryStore, SessionManagerLayer};

use self::connection::Connections;
use self::oauth::Platform;
use self::pages::Failure;

/// What an administrator of Platform hands out with the approval.
#[derive(Clone)]
pub(crate) struct Registration {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

/// Where both sides are, and what is known of the registration when the application starts.
pub(crate) struct Settings {
    /// The issuer, for example `http://localhost:8080`.
    pub(crate) platform: String,
    /// The address of this application, for example `http://127.0.0.1:8081`.
    pub(crate) own: String,
    pub(crate) registration: Option<Registration>,
}

/// Routes the whole application.
pub(crate) fn app(settings: Settings) -> Router {
    // The name differs from Platform's: browsers send cookies to every port of a host.
    let sessions = SessionManagerLayer::new(MemoryStore::default())
        .with_name("release_notes_session")
        .with_same_site(SameSite::Lax)
        .with_secure(settings.own.starts_with("https:"));
    Router::new()
        .route("/", get(connect::home))
        .route("/settings", get(settings::form).post(settings::submit))
        .route("/connect", get(connect::begin))
        .route("/callback", get(connect::callback))
        .route("/disconnect", post(connect::disconnect))
        .route("/account", get(account::show))
        .route("/account/refresh", post(account::refresh))
        .route("/account/earlier", post(account::call_with_earlier))
        .route("/account/issue", post(account::open_issue))
        .route("/style.css", get(async || asset("text/css; charset=utf-8", include_str!("style.css"))))
        .route("/icon.svg", get(async || asset("image/svg+xml", include_str!("icon.svg"))))
        .fallback(async || Failure::NotFound)
        .with_state(Arc::new(Application {
            platform: Platform::new(&settings),
            registration: RwLock::new(settings.registration),
            connections: Connections::default(),
        }))
        .layer(sessions)
        .layer(map_response(protect))
        .layer(from_fn(finish))
}

/// What every handler can ask for.
pub(crate) struct Application {
    platform: Platform,
    registration: RwLock<Option<Registration>>,
    connections: Connections,
}

impl Application {
    async fn registration(&self) -> Result<Registration, Failure> {
        self.registration.read().await.clone().ok_or(Failure::NotConnected)
    }
}

/// Answers a request to its end even if the browser went away: tokens of a refresh cut in two are lost.
async fn finish(request: Request, next: Next) -> Response {
    tokio::spawn(next.run(request)).await.unwrap_or_else(|_| Failure::Broken.into_response())
}

async fn protect(mut response: Response) -> Response {
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                  frame-ancestors 'none'; base-uri 'none'";
    let protection = [
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in protection {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn asset(media_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, media_type), (CACHE_CONTROL, "max-age=300")], text)
}
