//! The pages, and what they show.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::api::{Email, Issue, Profile, Repository};
use super::connection::now;
use super::failure::Failure;
use super::message::Message;

#[derive(Template)]
#[template(path = "third_party/home.html")]
pub(super) struct HomePage<'a> {
    pub(super) notice: Option<Message>,
    pub(super) is_registered: bool,
    pub(super) platform: &'a str,
    pub(super) callback: &'a str,
    pub(super) scopes: [(&'a str, &'a str); 4],
}

#[derive(Template)]
#[template(path = "third_party/settings.html")]
pub(super) struct SettingsPage<'a> {
    pub(super) form_token: &'a str,
    pub(super) client_id: Option<String>,
    pub(super) platform: &'a str,
    pub(super) own: &'a str,
    pub(super) callback: &'a str,
    pub(super) scopes: [(&'a str, &'a str); 4],
}

#[derive(Template)]
#[template(path = "third_party/account.html")]
pub(super) struct AccountPage {
    pub(super) notice: Option<Message>,
    pub(super) form_token: String,
    pub(super) profile: Result<Profile, Message>,
    pub(super) email: Result<Email, Message>,
    pub(super) drafts: Result<Vec<Draft>, Message>,
    pub(super) can_open_issues: bool,
    pub(super) scopes: Vec<String>,
    pub(super) access_ends: Option<Moment>,
    pub(super) can_refresh: bool,
    pub(super) replaced: Option<Moment>,
}

/// A draft of release notes.
pub(super) struct Draft {
    pub(super) repository: Repository,
    pub(super) issues: Result<Vec<Issue>, Message>,
}

#[derive(Template)]
#[template(path = "third_party/message.html")]
pub(super) struct MessagePage {
    pub(super) title: &'static str,
    pub(super) message: Message,
    /// Whether connecting again helps.
    pub(super) connects: bool,
    /// The address of the start page.
    pub(super) start: String,
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
