//! What a connected person sees and can do.

use axum::Form;
use axum::response::{Redirect, Response};
use serde::Deserialize;
use serde_json::json;

use super::api::{Email, Issues, Profile, Repositories, Repository};
use super::connect::Confirmation;
use super::connection::now;
use super::pages::{AccountPage, Draft, Failure, Moment, Refusal, amount, page};
use super::session::Connected;

/// As many repositories as are asked about one by one.
const MOST_DRAFTS: usize = 10;

pub(super) async fn show(mut connected: Connected) -> Result<Response, Failure> {
    let profile: Result<Profile, Refusal> = shown(connected.get("me").await)?;
    let email: Result<Email, Refusal> = shown(connected.get("email").await)?;
    let repositories: Result<Repositories, Refusal> = shown(connected.get("repositories").await)?;
    let drafts = match repositories {
        Ok(found) => Ok(drafts(&mut connected, found.repositories).await?),
        Err(refusal) => Err(refusal),
    };
    let Connected { visit, connection } = &connected;
    page(&AccountPage {
        notice: visit.take_notice().await?,
        form_token: visit.form_token().await?,
        profile,
        email,
        drafts,
        scopes: connection.tokens.scopes(),
        access_ends: connection.tokens.access_ends.map(Moment::new),
        can_refresh: connection.tokens.refresh.is_some(),
        replaced: connection.earlier.as_ref().map(|(_, at)| Moment::new(*at)),
    })
}

async fn drafts(connected: &mut Connected, repositories: Vec<Repository>) -> Result<Vec<Draft>, Failure> {
    let mut drafts = Vec::new();
    for repository in repositories.into_iter().take(MOST_DRAFTS) {
        let issues = connected.get::<Issues>(&issues_of(&repository.name)).await;
        drafts.push(Draft { repository, issues: shown(issues.map(|found| found.issues))? });
    }
    Ok(drafts)
}

pub(super) async fn refresh(mut connected: Connected, Form(form): Form<Confirmation>) -> Result<Redirect, Failure> {
    connected.visit.confirm(&form.form_token).await?;
    connected.refresh().await?;
    back(&connected, "Platform gave us new tokens.".into()).await
}

/// Shows how long a replaced token still works: five minutes, says Platform's documentation.
pub(super) async fn call_with_earlier(
    connected: Connected,
    Form(form): Form<Confirmation>,
) -> Result<Redirect, Failure> {
    connected.visit.confirm(&form.form_token).await?;
    let Some((token, replaced)) = &connected.connection.earlier else {
        return back(&connected, "There is no old access token yet: refresh first.".into()).await;
    };
    let age = amount(now() - *replaced);
    let outcome = match shown(connected.visit.application.platform.call(token, "me", None).await)? {
        Ok(answer) => format!("Platform answered {}, so it still works", answer.status()),
        Err(refusal) => refusal.to_string(),
    };
    back(&connected, format!("The access token that was replaced {age} ago: {outcome}.")).await
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
    let opened = connected.post(&issues_of(&form.repository), &json!({ "title": form.title })).await;
    let notice = match shown(opened)? {
        Ok(()) => format!("Opened an issue in {}.", form.repository),
        Err(refusal) => format!("The issue was not opened: {refusal}."),
    };
    back(&connected, notice).await
}

fn issues_of(repository: &str) -> String {
    format!("repositories/{repository}/issues")
}

/// A refusal is shown where the data would be; anything else takes the whole page.
fn shown<T>(outcome: Result<T, Failure>) -> Result<Result<T, Refusal>, Failure> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(Failure::Refused(refusal)) => Ok(Err(refusal)),
        Err(failure) => Err(failure),
    }
}

async fn back(connected: &Connected, notice: String) -> Result<Redirect, Failure> {
    connected.visit.notify(notice).await?;
    Ok(Redirect::to("/account"))
}
