//! The pages: what they show, and how what went wrong is put in words.

use std::fmt;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::api::{Email, Issue, Profile, Repository};
use super::connection::now;

#[derive(Template)]
#[template(path = "third_party/home.html", config = "examples/platform/askama.toml")]
pub(super) struct HomePage<'a> {
    pub(super) notice: Option<String>,
    pub(super) is_registered: bool,
    pub(super) platform: &'a str,
    pub(super) callback: &'a str,
    pub(super) scopes: [(&'a str, &'a str); 4],
}

#[derive(Template)]
#[template(path = "third_party/settings.html", config = "examples/platform/askama.toml")]
pub(super) struct SettingsPage {
    pub(super) form_token: String,
    pub(super) client_id: Option<String>,
}

#[derive(Template)]
#[template(path = "third_party/account.html", config = "examples/platform/askama.toml")]
pub(super) struct AccountPage {
    pub(super) notice: Option<String>,
    pub(super) form_token: String,
    pub(super) profile: Result<Profile, Refusal>,
    pub(super) email: Result<Email, Refusal>,
    pub(super) drafts: Result<Vec<Draft>, Refusal>,
    pub(super) scopes: Vec<String>,
    pub(super) access_ends: Option<Moment>,
    pub(super) can_refresh: bool,
    pub(super) replaced: Option<Moment>,
}

/// Release notes in the making.
pub(super) struct Draft {
    pub(super) repository: Repository,
    pub(super) issues: Result<Vec<Issue>, Refusal>,
}

#[derive(Template)]
#[template(path = "third_party/message.html", config = "examples/platform/askama.toml")]
struct MessagePage {
    title: &'static str,
    text: String,
}

pub(super) fn page(template: &impl Template) -> Result<Response, Failure> {
    template.render().map(|text| Html(text).into_response()).map_err(|_| Failure::Broken)
}

/// A time for machines, and how far away it is for people.
pub(super) struct Moment {
    pub(super) date_time: String,
    pub(super) words: String,
}

impl Moment {
    pub(super) fn new(at: OffsetDateTime) -> Self {
        let distance = at - now();
        let amount = amount(distance.abs());
        let words = if distance.is_negative() { format!("{amount} ago") } else { format!("in {amount}") };
        Self { date_time: at.format(&Rfc3339).unwrap_or_default(), words }
    }
}

pub(super) fn amount(duration: Duration) -> String {
    let (hours, minutes) = (duration.whole_hours(), duration.whole_minutes() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{} s", duration.whole_seconds()),
        (0, _) => format!("{minutes} min {} s", duration.whole_seconds() % 60),
        _ => format!("{hours} h {minutes} min"),
    }
}

/// What Platform answered instead of what was asked for.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: Option<StatusCode>,
    pub(super) error: Option<String>,
    pub(super) description: Option<String>,
}

impl Refusal {
    pub(super) fn is(&self, error: &str) -> bool {
        self.error.as_deref() == Some(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Platform answered")?;
        if let Some(status) = self.status {
            write!(formatter, " {status}")?;
        }
        if let Some(error) = &self.error {
            write!(formatter, " {error}")?;
        }
        match &self.description {
            Some(description) => write!(formatter, " ({description})"),
            None => Ok(()),
        }
    }
}

/// Why there is no page as asked for.
#[derive(Debug)]
pub(super) enum Failure {
    /// Something of the application's own.
    Broken,
    Declined,
    /// The form was not one of this session's pages.
    ForeignForm,
    IncompleteRegistration,
    NoRefreshToken,
    /// Begin at the beginning; a notice there may say why.
    NotConnected,
    NotFound,
    Refused(Refusal),
    /// An answer that this browser did not ask for, or not from Platform.
    StrayAnswer,
    /// Platform gives no answer that could be used.
    Unreachable(String),
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, title, text) = match self {
            Self::NotConnected => return Redirect::to("/").into_response(),
            Self::Broken => {
                (StatusCode::INTERNAL_SERVER_ERROR, "Something broke", "That is our fault. Please try again.".into())
            }
            Self::Declined => {
                let text = "Nothing was connected, and we have seen nothing of your account. You can connect whenever \
                            you like.";
                (StatusCode::OK, "You declined", text.into())
            }
            Self::ForeignForm => {
                let text = "It came from a page that is too old, or not ours. Go back, reload the page and try again.";
                (StatusCode::FORBIDDEN, "We did not take that form", text.into())
            }
            Self::IncompleteRegistration => {
                let text = "Both are needed, the client id and the client secret. Please go back.";
                (StatusCode::BAD_REQUEST, "Something is missing", text.into())
            }
            Self::NoRefreshToken => {
                let text = "Platform gave us no refresh token. When the access token is over, connect again.";
                (StatusCode::CONFLICT, "There is nothing to refresh with", text.into())
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "Nothing here", "There is no page at this address.".into()),
            Self::Refused(refusal) => (StatusCode::BAD_GATEWAY, "Platform said no", format!("{refusal}.")),
            Self::StrayAnswer => {
                let text = "It does not belong to the connection that this browser began last, so we did not use it. \
                            Please begin again.";
                (StatusCode::BAD_REQUEST, "We did not expect this answer", text.into())
            }
            Self::Unreachable(why) => {
                let text = format!("We asked Platform, but {why}. Nothing is lost: please try again in a while.");
                (StatusCode::BAD_GATEWAY, "Platform is not available", text)
            }
        };
        match page(&MessagePage { title, text }) {
            Ok(response) => (status, response).into_response(),
            Err(_) => status.into_response(),
        }
    }
}
