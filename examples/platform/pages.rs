//! What all pages share: the frame around them, their headers, and the page of a failure.

use std::borrow::Cow;
use std::fmt::Display;

use askama::Template;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use grantor::wire::protective_headers;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tracing::error;

use crate::accounts::Account;
use crate::session::Visitor;

/// What the layout shows beside the page itself.
pub(crate) struct Frame {
    pub(crate) account: Option<Account>,
}

impl Frame {
    pub(crate) fn of(visitor: &Visitor) -> Self {
        Self { account: visitor.account.clone() }
    }

    pub(crate) fn for_account(account: &Account) -> Self {
        Self { account: Some(account.clone()) }
    }

    pub(crate) fn is_administrator(&self) -> bool {
        self.account.as_ref().is_some_and(|account| account.is_administrator)
    }
}

/// Sends a page whose forms go to this service alone.
pub(crate) fn page(template: &impl Template) -> Response {
    page_with_form_action(template, "")
}

/// Sends a page whose form may be answered by a redirect to another place.
pub(crate) fn page_with_form_action(template: &impl Template, other: &str) -> Response {
    let text = match template.render() {
        Ok(text) => text,
        Err(error) => return Failure::trouble(error).into_response(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' {other}; frame-ancestors 'none'; base-uri 'none'"
    );
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response();
    let headers = response.headers_mut();
    for (name, value) in protective_headers() {
        headers.insert(HeaderName::from_bytes(name.as_bytes()).expect("a fixed name"), HeaderValue::from_static(value));
    }
    if let Ok(policy) = policy.parse() {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Why there is no page as asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody is signed in; then it goes on to this path.
    SignInFirst(String),
    Forbidden,
    NotFound,
    /// What was sent cannot be meant.
    BadRequest(Cow<'static, str>),
    /// Something broke; it was logged.
    Trouble,
}

impl Failure {
    /// Logs what broke; the page does not tell.
    pub(crate) fn trouble(cause: impl Display) -> Self {
        error!("{cause}");
        Self::Trouble
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::trouble(error)
    }
}

#[derive(Template)]
#[template(path = "failure.html", config = "examples/platform/askama.toml")]
struct FailurePage {
    frame: Frame,
    title: &'static str,
    explanation: Cow<'static, str>,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, title, explanation) = match self {
            Self::SignInFirst(next) => {
                let next = utf8_percent_encode(&next, NON_ALPHANUMERIC);
                return Redirect::to(&format!("/sign-in?next={next}")).into_response();
            }
            Self::Forbidden => {
                (StatusCode::FORBIDDEN, "Not yours to see", "Your account may not open this page.".into())
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "Nothing here", "There is no page at this address.".into()),
            Self::BadRequest(why) => (StatusCode::BAD_REQUEST, "That did not work", why),
            Self::Trouble => {
                let text = "Something went wrong on our side. Nothing you did was lost; please try again.".into();
                (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", text)
            }
        };
        let mut response = page(&FailurePage { frame: Frame { account: None }, title, explanation });
        *response.status_mut() = status;
        response
    }
}
