//! The routes of the platform, and what every request passes through.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use grantor::AuthorizationServer;

use crate::adapter::machine_endpoints;
use crate::database::Database;
use crate::guesses::Guesses;
use crate::pages::{Failure, Frame, page};
use crate::session::{self, Visitor};
use crate::{api, applications, authorized, consent, logos, review, sign_in};

/// What every handler can ask for.
#[derive(Clone, Debug)]
pub(crate) struct Platform {
    pub(crate) server: AuthorizationServer,
    pub(crate) database: Database,
    /// The address of the service, without a slash at the end.
    pub(crate) base: Arc<str>,
    /// The address of the third-party application.
    pub(crate) third_party: Arc<str>,
    pub(crate) guesses: Arc<Guesses>,
}

impl FromRef<Platform> for AuthorizationServer {
    fn from_ref(platform: &Platform) -> Self {
        platform.server.clone()
    }
}

pub(crate) fn app(platform: Platform) -> Router {
    let pages = Router::new()
        .route("/", get(home))
        .route("/style.css", get(style))
        .route("/icon.svg", get(icon))
        .route("/sign-in", get(sign_in::form).post(sign_in::submit))
        .route("/sign-out", post(sign_in::out))
        .merge(consent::routes(&platform.server))
        .merge(authorized::routes())
        .merge(applications::routes())
        .merge(review::routes())
        .fallback(async || Failure::NotFound)
        .layer(session::layer(&platform))
        .layer(from_fn(refuse_other_origins))
        .with_state(platform.clone());
    // Neither session nor cookie: applications ask the first two, anybody the last.
    let machines = machine_endpoints(&platform.server).with_state(platform.server.clone());
    let api = Router::new().nest("/api", api::routes()).with_state(platform.clone());
    let logos = logos::routes().with_state(platform);
    pages.merge(machines).merge(api).merge(logos)
}

#[derive(Template)]
#[template(path = "home.html", config = "examples/platform/askama.toml")]
struct HomePage {
    frame: Frame,
    third_party: Arc<str>,
}

async fn home(State(platform): State<Platform>, visitor: Visitor) -> Response {
    page(&HomePage { frame: Frame::of(&visitor), third_party: platform.third_party })
}

async fn style() -> impl IntoResponse {
    asset("text/css; charset=utf-8", include_str!("assets/style.css"))
}

async fn icon() -> impl IntoResponse {
    asset("image/svg+xml", include_str!("assets/icon.svg"))
}

fn asset(media_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, media_type), (CACHE_CONTROL, "max-age=300")], text)
}

/// Refuses forms that another origin's page sends: `SameSite` cookies stop other sites, and every port of
/// a host is the same site.
async fn refuse_other_origins(request: Request, next: Next) -> Response {
    let from = request.headers().get("Sec-Fetch-Site").map(|value| value.as_bytes());
    let is_foreign = !matches!(from, None | Some(b"same-origin" | b"none"));
    if is_foreign && !request.method().is_safe() {
        return Failure::Forbidden.into_response();
    }
    next.run(request).await
}
