//! Where the registration is pasted once an administrator of Platform has approved it.

use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::response::{Redirect, Response};
use serde::Deserialize;

use super::pages::{Failure, SettingsPage, page};
use super::session::Visit;
use super::{Application, Registration};

pub(super) async fn form(State(application): State<Arc<Application>>, visit: Visit) -> Result<Response, Failure> {
    let registration = application.registration.read().await;
    let client_id = registration.as_ref().map(|registration| registration.client_id.clone());
    page(&SettingsPage { form_token: visit.form_token().await?, client_id })
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Submission {
    form_token: String,
    client_id: String,
    client_secret: String,
}

pub(super) async fn submit(
    State(application): State<Arc<Application>>,
    visit: Visit,
    Form(form): Form<Submission>,
) -> Result<Redirect, Failure> {
    visit.confirm(&form.form_token).await?;
    let (client_id, client_secret) = (form.client_id.trim().to_owned(), form.client_secret.trim().to_owned());
    if client_id.is_empty() || client_secret.is_empty() {
        return Err(Failure::IncompleteRegistration);
    }
    *application.registration.write().await = Some(Registration { client_id, client_secret });
    visit.notify("The registration is saved.".into()).await?;
    Ok(Redirect::to("/"))
}
