//! The routes of the platform, and what every request passes through.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ORIGIN};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use grantor::AuthorizationServer;
use grantor::interaction::Flow;
use grantor_axum::Interaction;
use grantor_pages::Pages;

use crate::api::Api;
use crate::database::Database;
use crate::guesses::Guesses;
use crate::pages::{Failure, Frame, page, with_navigation};
use crate::session::{self, Visitor};
use crate::users::PlatformUsers;
use crate::{api, applications, review, sign_in};

/// The state of all handlers.
#[derive(Clone, Debug)]
pub(crate) struct Platform {
    pub(crate) server: AuthorizationServer,
    /// The pages that users see, and what the sign-in and the previews need of them.
    pub(crate) pages: Pages,
    pub(crate) flow: Flow,
    pub(crate) database: Database,
    /// The address of the service, without a slash at the end.
    pub(crate) base: Arc<str>,
    /// The address of the third-party application.
    pub(crate) third_party: Arc<str>,
    pub(crate) guesses: Arc<Guesses>,
}

impl Platform {
    /// Whether browsers reach it over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.base.starts_with("https:")
    }

    /// Over TLS, with the prefix that keeps other hosts and plain HTTP from setting the cookie.
    pub(crate) fn cookie_name(&self, name: &str) -> String {
        if self.is_secure() { format!("__Host-{name}") } else { name.to_owned() }
    }
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
        .route("/copy.js", get(copy_script))
        .route("/sample_logo.png", get(sample_logo))
        .route("/sign-in", get(sign_in::form).post(sign_in::submit).layer(DefaultBodyLimit::max(sign_in::FORM_BYTES)))
        .route("/sign-out", post(sign_in::out))
        .merge(applications::routes())
        .merge(review::routes())
        .fallback(async || Failure::NotFound)
        .layer(from_fn_with_state(platform.clone(), with_navigation))
        .layer(session::layer(&platform))
        .layer(from_fn(refuse_other_origins))
        .with_state(platform.clone());
    // Its forms have tokens of their own.
    let interaction = Interaction::new(&platform.server, platform.pages.clone(), PlatformUsers(platform.clone()));
    let interaction = interaction.routes().layer(session::layer(&platform));
    // Applications call it, without a cookie.
    let api = api::app(Api { resource: platform.server.clone().into(), database: platform.database.clone() });
    // The passwords of the demo accounts are public, so other hosts are refused. `Interaction` refuses them too.
    pages.merge(api).layer(grantor_axum::refuse_other_hosts(platform.server.hosts())).merge(interaction)
}

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    third_party: Arc<str>,
}

async fn home(State(platform): State<Platform>, visitor: Visitor) -> Response {
    page(&HomePage { frame: Frame::of(&visitor), third_party: platform.third_party })
}

async fn style() -> impl IntoResponse {
    asset("text/css; charset=utf-8", include_str!("../assets/style.css"))
}

async fn icon() -> impl IntoResponse {
    asset("image/svg+xml", include_str!("../assets/icon.svg"))
}

async fn copy_script() -> impl IntoResponse {
    asset("text/javascript; charset=utf-8", include_str!("../assets/copy.js"))
}

async fn sample_logo() -> impl IntoResponse {
    asset("image/png", applications::SAMPLE_LOGO)
}

fn asset(media_type: &'static str, content: impl IntoResponse) -> impl IntoResponse {
    ([(CONTENT_TYPE, media_type), (CACHE_CONTROL, "max-age=300")], content)
}

/// Refuses forms from pages of another origin. `SameSite` cookies stop only other sites, and all ports of a host are
/// one site.
///
/// A browser too old for `Sec-Fetch-Site` sends only `Origin`. Its value is `null` for pages that send no referrer,
/// which an attacker's page can do like those of this service, so `null` proves nothing. Programs send neither header,
/// and no page can make a browser do so.
async fn refuse_other_origins(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_foreign = match headers.get("Sec-Fetch-Site").map(|value| value.as_bytes()) {
        Some(from) => !matches!(from, b"same-origin" | b"none"),
        None => headers.contains_key(ORIGIN),
    };
    if is_foreign && !request.method().is_safe() {
        return Failure::ForeignForm.into_response();
    }
    next.run(request).await
}
