//! The page of a connected user, and its actions.

use axum::Form;
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::api::{Issues, Repositories, Repository};
use super::connect::Confirmation;
use super::connection::now;
use super::failure::Failure;
use super::message::Message;
use super::oauth::{EMAIL, ISSUES, ISSUES_TO_READ, PROFILE, REPOSITORIES};
use super::pages::{AccountPage, Draft, Moment, amount, page};
use super::session::Connected;

/// The maximum number of repositories whose issues are requested, one by one.
const MAX_DRAFTS: usize = 10;

pub(super) async fn show(mut connected: Connected) -> Result<Response, Failure> {
    let profile = look(&mut connected, PROFILE, "me").await?;
    let email = look(&mut connected, EMAIL, "email").await?;
    let drafts = match look::<Repositories>(&mut connected, REPOSITORIES, "repositories").await? {
        Ok(found) => Ok(drafts(&mut connected, found.repositories).await?),
        Err(message) => Err(message),
    };
    let Connected { visit, connection, .. } = &connected;
    page(&AccountPage {
        notice: visit.take_notice().await?,
        form_token: visit.form_token().await?,
        profile,
        email,
        drafts,
        can_open_issues: connection.tokens.allow(ISSUES),
        scopes: connection.tokens.scopes(),
        access_ends: connection.tokens.access_ends.map(Moment::new),
        can_refresh: connection.tokens.refresh.is_some(),
        replaced: connection.earlier.as_ref().map(|(_, at)| Moment::new(*at)),
    })
}

async fn drafts(connected: &mut Connected, repositories: Vec<Repository>) -> Result<Vec<Draft>, Failure> {
    let mut drafts = Vec::new();
    for repository in repositories.into_iter().take(MAX_DRAFTS) {
        let issues = look::<Issues>(connected, ISSUES_TO_READ, &issues_of(&repository.name)).await?;
        drafts.push(Draft { repository, issues: issues.map(|found| found.issues) });
    }
    Ok(drafts)
}

/// Gets what the scope covers, or a message instead. Without the scope, Platform is not called. Any other failure
/// replaces the whole page.
async fn look<T: DeserializeOwned>(
    connected: &mut Connected,
    scope: &str,
    path: &str,
) -> Result<Result<T, Message>, Failure> {
    const NOT_ALLOWED: &str = "You did not let us see this.";
    if !connected.connection.tokens.allow(scope) {
        return Ok(Err(NOT_ALLOWED.into()));
    }
    match connected.get(path).await {
        Ok(found) => Ok(Ok(found)),
        Err(Failure::Refused(refusal)) if refusal.is_of_scope() => {
            Ok(Err(Message::with_technical(NOT_ALLOWED, refusal.to_string())))
        }
        Err(Failure::Refused(refusal)) if refusal.status.is_some() => {
            Ok(Err(Message::with_technical(refusal.words(), refusal.to_string())))
        }
        Err(failure) => Err(failure),
    }
}

pub(super) async fn refresh(mut connected: Connected, Form(form): Form<Confirmation>) -> Result<Redirect, Failure> {
    connected.visit.confirm(&form.form_token).await?;
    connected.refresh().await?;
    back(&connected, "Platform gave us new tokens.").await
}

/// Shows how long a replaced token still works: five minutes, says Platform's documentation.
pub(super) async fn call_with_earlier(
    connected: Connected,
    Form(form): Form<Confirmation>,
) -> Result<Redirect, Failure> {
    connected.visit.confirm(&form.form_token).await?;
    let Some((token, replaced)) = &connected.connection.earlier else {
        return back(&connected, "There is no old access token yet: refresh first.").await;
    };
    let age = amount(now() - *replaced);
    let token_words = format!("The access token that was replaced {age} ago");
    let notice = match connected.visit.application.platform.call(token, "me", None).await {
        Ok(answer) => format!("{token_words}: Platform answered {}, so it still works.", answer.status()).into(),
        Err(Failure::Refused(refusal)) if refusal.status == Some(StatusCode::UNAUTHORIZED) => {
            Message::with_technical(format!("{token_words} no longer works."), refusal.to_string())
        }
        Err(Failure::Refused(refusal)) if refusal.is_of_scope() => Message::with_technical(
            format!("{token_words} still works: Platform knows it, and that you did not let us see your name."),
            refusal.to_string(),
        ),
        Err(Failure::Refused(refusal)) => Message::with_technical(refusal.words(), refusal.to_string()),
        Err(failure) => return Err(failure),
    };
    back(&connected, notice).await
}

/// The form that opens an issue.
#[derive(Deserialize)]
pub(super) struct NewIssue {
    #[serde(default)]
    form_token: String,
    #[serde(default)]
    repository: String,
    #[serde(default)]
    title: String,
}

pub(super) async fn open_issue(mut connected: Connected, Form(form): Form<NewIssue>) -> Result<Redirect, Failure> {
    connected.visit.confirm(&form.form_token).await?;
    let title = form.title.trim();
    if title.is_empty() {
        return back(&connected, "The issue was not opened: it needs a title.").await;
    }
    let notice = match connected.post(&issues_of(&form.repository), &json!({ "title": title })).await {
        Ok(()) => format!("Opened an issue in {}.", form.repository).into(),
        Err(Failure::Refused(refusal)) if refusal.status.is_some() => {
            Message::with_technical(format!("The issue was not opened. {}", refusal.words()), refusal.to_string())
        }
        Err(failure) => return Err(failure),
    };
    back(&connected, notice).await
}

fn issues_of(repository: &str) -> String {
    format!("repositories/{repository}/issues")
}

async fn back(connected: &Connected, notice: impl Into<Message>) -> Result<Redirect, Failure> {
    connected.visit.notify(notice).await?;
    Ok(Redirect::to("/account"))
}
