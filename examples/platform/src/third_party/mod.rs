//! "Release Notes", a web application of another company. It drafts release notes from the issues that its users let it
//! read at Platform. It is an OAuth client, and shares only HTTP with the service.

mod account;
mod api;
mod connect;
mod connection;
mod failure;
mod host;
mod message;
mod oauth;
mod pages;
mod purge;
mod session;
mod session_store;
mod settings;
mod store;
mod transport;
mod withdraw;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use oauth2::CsrfToken;
use serde::{Deserialize, Serialize};

use self::failure::Failure;
use self::oauth::Platform;
use self::store::Store;

/// The credentials from Platform's approval.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Registration {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

/// The addresses of both sides, and the registration if it is known at the start.
pub(crate) struct Settings {
    /// The issuer, for example `http://localhost:8080`.
    pub(crate) platform: String,
    /// The address of this application, for example `http://127.0.0.1:8081`.
    pub(crate) own: String,
    pub(crate) registration: Option<Registration>,
    /// Where connections are kept; without it they end with the process.
    pub(crate) file: Option<PathBuf>,
}

/// Returns the routes of the application. It must be called in the runtime that serves them.
///
/// # Errors
///
/// If the file exists and cannot be read.
pub(crate) fn app(settings: Settings) -> io::Result<Router> {
    let application = Arc::new(Application::new(settings)?);
    tokio::spawn(purge::now_and_then(Arc::downgrade(&application)));
    let own: Arc<str> = application.own.as_str().into();
    let sessions = session_store::layer(&application.store, &own);
    Ok(Router::new()
        .route("/", get(connect::home))
        .route("/settings", get(settings::form).post(settings::submit))
        .route("/connect", get(connect::begin))
        .route("/callback", get(connect::callback))
        .route("/disconnect", post(connect::disconnect))
        .route("/account", get(account::show))
        .route("/account/refresh", post(account::refresh))
        .route("/account/earlier", post(account::call_with_earlier))
        .route("/account/issue", post(account::open_issue))
        .fallback(async || Failure::NotFound)
        .with_state(application)
        .layer(sessions)
        .layer(from_fn_with_state(own, host::check))
        .route("/style.css", get(async || asset("text/css; charset=utf-8", include_str!("style.css"))))
        .route("/icon.svg", get(async || asset("image/svg+xml", include_str!("icon.svg"))))
        .layer(map_response(protect))
        .layer(from_fn(finish)))
}

/// The state of all handlers.
pub(crate) struct Application {
    platform: Platform,
    own: String,
    started_with: Option<Registration>,
    /// The token in the form of the settings, against forms of other sites. It need not belong to a session, since
    /// anyone who opens the settings may change them.
    settings_token: CsrfToken,
    store: Arc<Store>,
}

impl Application {
    fn new(settings: Settings) -> io::Result<Self> {
        Ok(Self {
            platform: Platform::new(&settings),
            store: Arc::new(Store::open(settings.file, settings.registration.as_ref())?),
            own: settings.own,
            started_with: settings.registration,
            settings_token: CsrfToken::new_random(),
        })
    }

    async fn registration(&self) -> Result<Registration, Failure> {
        let pasted = self.store.read(|contents| contents.registration.clone()).await;
        pasted.or_else(|| self.started_with.clone()).ok_or(Failure::NotConnected)
    }
}

/// Completes a request even if the browser disconnects: an interrupted refresh would lose its tokens.
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
