//! Signing in and out.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::accounts::{Account, DEMO_ACCOUNTS};
use crate::pages::{Failure, Frame, page};
use crate::session::Visitor;
use crate::web::Platform;

#[derive(Template)]
#[template(path = "sign_in.html", config = "examples/platform/askama.toml")]
struct SignInPage {
    frame: Frame,
    next: String,
    username: String,
    refused: bool,
    demo_accounts: [(&'static str, &'static str, &'static str, &'static str); 3],
}

#[derive(Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(crate) struct Credentials {
    username: String,
    password: String,
    #[serde(default)]
    next: String,
}

pub(crate) async fn form(visitor: Visitor, Query(query): Query<Next>) -> Response {
    show(&visitor, query.next, String::new(), false)
}

pub(crate) async fn submit(
    State(platform): State<Platform>,
    visitor: Visitor,
    Form(credentials): Form<Credentials>,
) -> Result<Response, Failure> {
    let Credentials { username, password, next } = credentials;
    match Account::sign_in(&platform.database, &username, &password).await? {
        Some(account) => {
            visitor.sign_in(&account).await?;
            Ok(Redirect::to(local(&next)).into_response())
        }
        None => Ok(show(&visitor, next, username, true)),
    }
}

pub(crate) async fn out(visitor: Visitor) -> Result<Redirect, Failure> {
    visitor.sign_out().await?;
    Ok(Redirect::to("/"))
}

fn show(visitor: &Visitor, next: String, username: String, refused: bool) -> Response {
    let frame = Frame::of(visitor);
    page(&SignInPage { frame, next, username, refused, demo_accounts: DEMO_ACCOUNTS })
}

/// The way back, if it leads to this service: a stranger's address would make the sign-in an open redirector.
fn local(next: &str) -> &str {
    let is_path = next.starts_with('/') && !next.starts_with("//");
    if is_path && next.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'\\') { next } else { "/" }
}
