//! The page for a refused authorization request or decision, instead of the core's own.

use askama::Template;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use grantor::{AuthorizationError, Clock as _, Reason, Subject, SystemClock, Timestamp};
use grantor_axum::respond;

use crate::pages::{Frame, page};
use crate::session::Visitor;
use crate::words::{self, When};

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage {
    frame: Frame,
    kind: Kind,
    /// The address that shows the same request again.
    again: Option<String>,
    at: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    LinkCannotBeAccessed,
    AlreadyAnswered,
    Stale,
    Unavailable,
}

/// Returns the redirect to the application, or a page without the cause. The cause is in the log.
pub(crate) fn answer(visitor: &Visitor, error: AuthorizationError, again: Option<&str>) -> Response {
    let subject = visitor.account.as_ref().map(|account| &account.subject);
    let is_redirect = error.redirects() && (subject.is_some() || !error.needs_sign_in());
    if is_redirect { respond(error.response(subject)) } else { in_words(visitor, error, subject, again) }
}

fn in_words(visitor: &Visitor, error: AuthorizationError, subject: Option<&Subject>, again: Option<&str>) -> Response {
    let about_the_form = match error.reason() {
        Reason::AlreadyDecided => Some(Kind::AlreadyAnswered),
        Reason::UnknownConsentTicket | Reason::HoldExpired if again.is_some() => Some(Kind::Stale),
        _ => None,
    };
    let core = error.response(subject);
    let kind = match core.status() {
        429 | 500.. => Kind::Unavailable,
        _ => about_the_form.unwrap_or(Kind::LinkCannotBeAccessed),
    };
    let now: Timestamp = SystemClock.now();
    let again = again.filter(|_| kind == Kind::Stale).map(str::to_owned);
    let mut response = page(&RefusalPage { frame: Frame::of(visitor), kind, again, at: words::when(now) });
    // Status and headers are the core's. A header that both have is the page's: it is at least as strict, and allows
    // the style sheet.
    let core = respond(core);
    *response.status_mut() = core.status();
    for (name, value) in core.headers() {
        if *name != CONTENT_LENGTH && !response.headers().contains_key(name) {
            let (name, value): (HeaderName, HeaderValue) = (name.clone(), value.clone());
            response.headers_mut().insert(name, value);
        }
    }
    response
}
