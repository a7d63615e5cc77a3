//! The review of clients that register themselves or have a metadata document: one administrator, one list, two
//! buttons.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use demo::random_id;
use grantor::Subject;
use grantor::application::RegistrationLimits;
use grantor::application::{ApplicationFilter, Logo};
use grantor::interaction::ReturnTo;
use grantor::store::Page;
use grantor::{Application, Approval, AuthorizationServer, ClientId, RegistrarError};
use grantor_axum::page;
use grantor_pages::{Pages, SignInPage};

/// The name of the administrator.
pub(crate) const ADMINISTRATOR: &str = "admin";
/// The number of applications on the page.
const SHOWN: usize = 50;
const FORM_BYTES: usize = 16 * 1024;

/// The review, its password and its session. Clones share them.
#[derive(Clone)]
pub(crate) struct Review {
    server: AuthorizationServer,
    password: Arc<str>,
    /// The latest session. A new sign-in ends the earlier one.
    session: Arc<Mutex<Option<Session>>>,
}

/// A session of the administrator.
#[derive(Clone)]
struct Session {
    id: String,
    /// The CSRF token of the forms [RFC 6749 section 10.12].
    form_token: String,
}

type Fields = Vec<(String, String)>;

impl Review {
    /// Returns a review with a new random password.
    pub(crate) fn new(server: AuthorizationServer) -> Self {
        Self { server, password: random_id().into(), session: Arc::default() }
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    fn begin_session(&self) -> Session {
        let session = Session { id: random_id(), form_token: random_id() };
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        session
    }

    /// The session of the cookie, if it is the current one.
    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let cookies = headers.get(COOKIE)?.to_str().ok()?;
        let id = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("review="))?;
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        is_same(&session.id, id).then_some(session)
    }
}

/// The pages.
pub(crate) fn routes(review: Review) -> Router {
    Router::new()
        .route("/review", get(list))
        .route("/review/sign-in", post(sign_in))
        .route("/review/decide", post(decide))
        .layer(DefaultBodyLimit::max(FORM_BYTES))
        .with_state(review)
}

async fn sign_in(State(review): State<Review>, Form(fields): Form<Fields>) -> Response {
    let user = value(&fields, "user");
    if !is_same(value(&fields, "password"), &review.password) || user != ADMINISTRATOR {
        return (StatusCode::UNAUTHORIZED, sign_in_page(Some(user))).into_response();
    }
    let session = review.begin_session();
    let cookie = format!("review={}; Path=/review; HttpOnly; SameSite=Strict", session.id);
    (AppendHeaders([(SET_COOKIE, cookie)]), Redirect::to("/review")).into_response()
}

async fn list(State(review): State<Review>, headers: HeaderMap) -> Response {
    match review.session(&headers) {
        Some(session) => listed(&review, &session, "").await,
        None => sign_in_page(None),
    }
}

async fn decide(State(review): State<Review>, headers: HeaderMap, Form(fields): Form<Fields>) -> Response {
    let Some(session) = review.session(&headers) else { return Redirect::to("/review").into_response() };
    if !is_same(value(&fields, "form_token"), &session.form_token) {
        return (StatusCode::FORBIDDEN, show("<p role=\"alert\">Please start over.</p>", "")).into_response();
    }
    match take(&review.server, &fields).await {
        Ok(()) => Redirect::to("/review").into_response(),
        Err(problem) => {
            let mut response = listed(&review, &session, &format!("Nothing was done: {problem}.")).await;
            *response.status_mut() = StatusCode::CONFLICT;
            response
        }
    }
}

/// Carries out the decision in the form, on the version that was shown.
async fn take(server: &AuthorizationServer, fields: &Fields) -> Result<(), String> {
    let registrar = server.registrar().ok_or("the store does not support applications")?;
    let administrator = Subject::new(ADMINISTRATOR).map_err(|error| error.to_string())?;
    let registrar = registrar.with_actor(administrator);
    let id = ClientId::new(value(fields, "id")).map_err(|error| error.to_string())?;
    let version = value(fields, "version").parse().map_err(|_| "the version is not a number")?;
    let outcome = if value(fields, "decision") == "approve" {
        let logo = Logo::new(demo::LOGO, &RegistrationLimits::default()).map_err(|error| error.to_string())?;
        let approval = Approval::default().name(value(fields, "name")).website(value(fields, "website")).logo(logo);
        registrar.approve(&id, version, approval).await.map(drop)
    } else {
        registrar.reject(&id, version, "Rejected at the review.").await
    };
    outcome.map_err(|error| match error {
        RegistrarError::Invalid(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    })
}

/// The list of applications that await review.
async fn listed(review: &Review, session: &Session, problem: &str) -> Response {
    let Some(registrar) = review.server.registrar() else { return StatusCode::NOT_FOUND.into_response() };
    let found = registrar.list(&ApplicationFilter::AwaitingReview, Page::first(SHOWN)).await;
    let Ok(found) = found else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
    let items: String = found.iter().map(|application| item(application, &session.form_token)).collect();
    let items = if items.is_empty() { "<p>Nothing awaits review.</p>".to_owned() } else { items };
    let problem = match problem {
        "" => String::new(),
        problem => format!("<p role=\"alert\">{}</p>", escape(problem)),
    };
    show(&problem, &items)
}

/// One application. All texts are its own claims; the administrator enters what users will see.
fn item(application: &Application, form_token: &str) -> String {
    // If a change awaits review, the buttons decide about the change.
    let form = application.proposed.as_ref().unwrap_or_else(|| application.form());
    let uris: String = form.redirect_uris.iter().map(|uri| format!("<li>{}</li>", escape(uri.as_str()))).collect();
    let (id, version) = (escape(application.id().as_str()), application.version());
    let (name, website) = (escape(&form.name), escape(&form.website));
    format!(
        "<form method=\"post\" action=\"/review/decide\"><h2>{id}</h2><p>Registered {}. It may ask for: {}. \
         Its answers go to:</p><ul>{uris}</ul>\
         <input type=\"hidden\" name=\"form_token\" value=\"{form_token}\">\
         <input type=\"hidden\" name=\"id\" value=\"{id}\"><input type=\"hidden\" name=\"version\" value=\"{version}\">\
         <p><label>Name that users see <input name=\"name\" value=\"{name}\"></label></p>\
         <p><label>Website <input name=\"website\" value=\"{website}\"></label></p>\
         <p><button name=\"decision\" value=\"approve\">Approve</button> \
         <button name=\"decision\" value=\"reject\">Reject</button></p></form>",
        application.submitted,
        escape(form.scopes.as_str()),
    )
}

/// The sign-in page, in English like the list. `failed` is the user name of an attempt that failed.
fn sign_in_page(failed: Option<&str>) -> Response {
    let return_to = ReturnTo::parse("/review").expect("a fixed path");
    let form = failed.into_iter().fold(SignInPage::new("/review/sign-in", &return_to), SignInPage::failed);
    page(Pages::new("Review").sign_in(&form))
}

fn show(notice: &str, content: &str) -> Response {
    page(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Review</title>\
         <meta name=\"viewport\" content=\"width=device-width\"></head><body><main><h1>Review</h1>{notice}{content}\
         </main></body></html>"
    ))
}

/// Escapes a text for HTML, also in attributes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

fn value<'f>(fields: &'f Fields, wanted: &str) -> &'f str {
    fields.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value)
}

/// Compares two secrets of equal length in constant time.
fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differences == 0
}
