//! Connecting to Platform and disconnecting from it.

use std::sync::Arc;

use axum::Form;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::Application;
use super::failure::Failure;
use super::message::{Message, Refusal};
use super::oauth::SCOPES;
use super::pages::{HomePage, page};
use super::session::{Connected, Visit};

pub(super) async fn home(State(application): State<Arc<Application>>, visit: Visit) -> Result<Response, Failure> {
    let is_registered = application.registration().await.is_ok();
    // Without a registration the account page cannot work, and would redirect here.
    if is_registered && visit.is_connected().await? {
        return Ok(Redirect::to("/account").into_response());
    }
    page(&HomePage {
        notice: visit.take_notice().await?,
        is_registered,
        platform: &application.platform.issuer,
        callback: &application.platform.callback,
        scopes: SCOPES,
    })
}

pub(super) async fn begin(State(application): State<Arc<Application>>, visit: Visit) -> Result<Redirect, Failure> {
    let (url, attempt) = application.platform.authorization(&application.registration().await?).await?;
    visit.begin(&attempt).await?;
    Ok(Redirect::to(url.as_str()))
}

/// The parameters of the redirect from Platform.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    state: String,
    iss: Option<String>,
    code: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

pub(super) async fn callback(
    State(application): State<Arc<Application>>,
    visit: Visit,
    answer: Result<Query<Answer>, QueryRejection>,
) -> Result<Redirect, Failure> {
    let Ok(Query(answer)) = answer else { return Err(Failure::StrayAnswer) };
    let Some(attempt) = visit.take_attempt(&answer.state).await? else { return Err(Failure::StrayAnswer) };
    if !application.platform.is_issuer(answer.iss.as_deref()).await? {
        return Err(Failure::StrayAnswer);
    }
    let code = match (answer.error, answer.code) {
        (Some(error), _) if error == "access_denied" => return Err(Failure::Declined),
        (Some(error), _) => {
            let description = answer.error_description;
            return Err(Failure::Refused(Refusal { status: None, error: Some(error), description }));
        }
        (None, Some(code)) => code,
        (None, None) => return Err(Failure::StrayAnswer),
    };
    let registration = application.registration().await?;
    let tokens = application.platform.exchange(&registration, code, attempt).await?;
    let earlier = visit.connect(tokens).await?.into_iter().collect();
    if let Err(left) = application.withdraw(Some(registration), earlier).await {
        let text = "You are connected. Platform did not withdraw the connection that you had before; you can withdraw \
                    it there.";
        visit.notify(Message::with_technical(text, left.technical)).await?;
    }
    Ok(Redirect::to("/account"))
}

/// A form with only the token.
#[derive(Deserialize)]
pub(super) struct Confirmation {
    #[serde(default)]
    pub(super) form_token: String,
}

/// Revokes the tokens, then deletes them. If Platform cannot be reached, they are kept.
pub(super) async fn disconnect(connected: Connected, Form(form): Form<Confirmation>) -> Result<Redirect, Failure> {
    let Connected { visit, connection, .. } = &connected;
    visit.confirm(&form.form_token).await?;
    let registration = visit.application.registration().await?;
    let why = match visit.application.platform.revoke(&registration, connection.tokens.revocable()).await {
        Ok(()) => "Disconnected. Platform has withdrawn our access, and we have forgotten it.".into(),
        Err(Failure::Refused(refusal)) => {
            let text = "We have forgotten our access, but Platform did not withdraw it. You can withdraw it there.";
            Message::with_technical(text, refusal.to_string())
        }
        Err(failure) => return Err(failure),
    };
    visit.forget(why).await?;
    Ok(Redirect::to("/"))
}
