//! The common parts of all pages: the frame around them, their headers, and the page of a failure.

use std::borrow::Cow;
use std::fmt::Display;

use askama::Template;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use grantor::interaction::{Pages, ReturnTo};
use grantor::wire::protective_headers;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tracing::error;

use crate::accounts::Account;
use crate::session::Visitor;
use crate::web::Platform;

/// What the layout shows around the page: the navigation of its visitor.
pub(crate) enum Frame {
    Of(Account),
    SignedOut,
    /// The session was not read.
    Bare,
}

impl Frame {
    pub(crate) fn of(visitor: &Visitor) -> Self {
        visitor.account.clone().map_or(Self::SignedOut, Self::Of)
    }

    pub(crate) fn for_account(account: &Account) -> Self {
        Self::Of(account.clone())
    }

    pub(crate) const fn account(&self) -> Option<&Account> {
        match self {
            Self::Of(account) => Some(account),
            Self::SignedOut | Self::Bare => None,
        }
    }

    pub(crate) fn is_administrator(&self) -> bool {
        self.account().is_some_and(|account| account.is_administrator)
    }
}

/// Encodes a text as one path segment, since the id of a client may be a URL.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Sends a page whose forms go to this service only.
pub(crate) fn page(template: &impl Template) -> Response {
    page_with_form_action(template, "")
}

/// Sends a page whose form may be answered by a redirect to another place.
pub(crate) fn page_with_form_action(template: &impl Template, other: &str) -> Response {
    send(template, OWN, &format!("form-action 'self' {other}"))
}

/// Sends a page with a page of the flow in a frame, which inherits this page's policy.
pub(crate) fn page_with_preview(template: &impl Template, pages: &impl Pages) -> Response {
    send(template, &pages.sources().replace("style-src", "style-src 'self'"), "form-action 'self'")
}

/// Sends a page that runs this service's own script, for buttons that copy. The page must work without the script.
pub(crate) fn page_with_script(template: &impl Template) -> Response {
    send(template, OWN, "form-action 'self'; script-src 'self'")
}

/// The sources of the platform's own pages.
const OWN: &str = "style-src 'self'; img-src 'self'";

fn send(template: &impl Template, sources: &str, policy: &str) -> Response {
    let text = match template.render() {
        Ok(text) => text,
        Err(error) => return Failure::internal(error).into_response(),
    };
    let policy = format!("default-src 'none'; {sources}; {policy}; frame-ancestors 'none'; base-uri 'none'");
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

/// Why the requested page is not shown.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The visitor must sign in, and then continues at this path.
    SignInFirst {
        return_to: ReturnTo,
        sent: Sent,
    },
    Forbidden,
    /// A form that may have come from another origin.
    ForeignForm,
    NotFound,
    /// The request is not valid.
    BadRequest(Cow<'static, str>),
    /// An internal error, which was logged.
    Internal,
}

/// What is lost if the visitor must sign in first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    Form,
}

impl Failure {
    /// Logs the cause. The page does not show it.
    pub(crate) fn internal(cause: impl Display) -> Self {
        error!("{cause}");
        Self::Internal
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::internal(error)
    }
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    frame: Frame,
    message: Message,
}

/// The texts on the page of a failure. They are an extension of the response, so that [`with_navigation`] can add the
/// visitor's navigation.
#[derive(Clone, Debug)]
struct Message {
    title: &'static str,
    explanation: Cow<'static, str>,
}

impl Message {
    fn show(self, status: StatusCode, frame: Frame) -> Response {
        let mut response = page(&FailurePage { frame, message: self });
        *response.status_mut() = status;
        response
    }
}

/// Adds the visitor's navigation to the page of a failure.
pub(crate) async fn with_navigation(State(platform): State<Platform>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let response = next.run(Request::from_parts(parts.clone(), body)).await;
    let Some(message) = response.extensions().get::<Message>().cloned() else { return response };
    match Visitor::from_request_parts(&mut parts, &platform).await {
        Ok(visitor) => message.show(response.status(), Frame::of(&visitor)),
        Err(_) => response,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, title, explanation) = match self {
            Self::SignInFirst { return_to, sent } => {
                let page = if sent == Sent::Form { "/sign-in?lost=form" } else { "/sign-in" };
                return Redirect::to(&return_to.query(page)).into_response();
            }
            Self::Forbidden => (StatusCode::FORBIDDEN, "Access denied", "Your account may not open this page.".into()),
            Self::ForeignForm => {
                let text = "The form may have come from the page of another site, so nothing was done. Open \
                            Platform in a new window, in an up-to-date browser, and try again there."
                    .into();
                (StatusCode::FORBIDDEN, "That did not come from Platform", text)
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "Nothing here", "There is no page at this address.".into()),
            Self::BadRequest(why) => (StatusCode::BAD_REQUEST, "That did not work", why),
            Self::Internal => {
                let text = "Something went wrong on our side. Nothing you did was lost; please try again.".into();
                (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", text)
            }
        };
        let message = Message { title, explanation };
        let mut response = message.clone().show(status, Frame::Bare);
        response.extensions_mut().insert(message);
        response
    }
}
