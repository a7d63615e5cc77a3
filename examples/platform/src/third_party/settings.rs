//! Where the registration is pasted once an administrator of Platform has approved it.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::response::{Redirect, Response};
use serde::Deserialize;

use super::failure::Failure;
use super::message::Message;
use super::oauth::SCOPES;
use super::pages::{SettingsPage, page};
use super::session::Visit;
use super::store::Contents;
use super::withdraw::Left;
use super::{Application, Registration};

pub(super) async fn form(State(application): State<Arc<Application>>) -> Result<Response, Failure> {
    page(&SettingsPage {
        form_token: application.settings_token.secret(),
        client_id: application.registration().await.ok().map(|registration| registration.client_id),
        platform: &application.platform.issuer,
        own: &application.own,
        callback: &application.platform.callback,
        scopes: SCOPES,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Submission {
    form_token: String,
    client_id: String,
    client_secret: String,
}

/// Replaces the registration. Connections made with the previous one cannot be used any more.
pub(super) async fn submit(
    State(application): State<Arc<Application>>,
    visit: Visit,
    Form(form): Form<Submission>,
) -> Result<Redirect, Failure> {
    if form.form_token != *application.settings_token.secret() {
        return Err(Failure::ForeignForm);
    }
    let (client_id, client_secret) = (form.client_id.trim().to_owned(), form.client_secret.trim().to_owned());
    if client_id.is_empty() || client_secret.is_empty() {
        return Err(Failure::IncompleteRegistration);
    }
    let new = Registration { client_id, client_secret };
    let exchange = |contents: &mut Contents| {
        let before = contents.registration.clone().or_else(|| application.started_with.clone());
        let is_same = before.as_ref().is_some_and(|before| before.client_id == new.client_id);
        contents.registration = Some(new);
        // A new secret of the same client leaves connections as they are.
        let connections = if is_same { HashMap::new() } else { mem::take(&mut contents.connections) };
        (before, connections.into_values().collect())
    };
    let (before, connections) = application.store.change(exchange).await;
    visit.notify(saved(application.withdraw(before, connections).await)).await?;
    Ok(Redirect::to("/"))
}

fn saved(withdrawn: Result<(), Left>) -> Message {
    match withdrawn {
        Ok(()) => "The registration is saved.".into(),
        Err(Left { connections, technical }) => {
            let what = if connections == 1 {
                "one connection that was".into()
            } else {
                format!("{connections} connections that were")
            };
            let text = format!(
                "The registration is saved. Platform did not withdraw {what} made with the previous registration. We \
                 have deleted the tokens. Users can withdraw their authorization at Platform."
            );
            Message::with_technical(text, technical)
        }
    }
}
