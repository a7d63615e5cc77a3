//! Signing in and out.

use std::borrow::Cow;
use std::net::SocketAddr;

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{ConnectInfo, Query, State};
use axum::http::header::{RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use grantor::interaction::ReturnTo;
use grantor::wire::{Endpoint, Request};
use serde::Deserialize;

use crate::accounts::{Account, DEMO_ACCOUNTS, PasswordCheck};
use crate::database::DatabaseError;
use crate::guesses::{Guesser, TooMany};
use crate::known_browsers;
use crate::pages::{Failure, Frame, page_with_form_action};
use crate::session::Visitor;
use crate::web::Platform;
use crate::words;

/// The maximum size of a user name and of a password in bytes.
const LONGEST_USERNAME: usize = 255;
const LONGEST_PASSWORD: usize = 1024;
/// The maximum size of the form in bytes. Every byte of its fields may be escaped.
pub(crate) const FORM_BYTES: usize = 256 * 1024;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    entered: Entered,
    /// The application whose request continues after the sign-in.
    application: Option<String>,
    demo_accounts: [(&'static str, &'static str, &'static str, &'static str); 3],
}

#[derive(Default, Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    return_to: String,
    #[serde(default)]
    lost: String,
}

#[derive(Deserialize)]
pub(crate) struct Credentials {
    username: String,
    password: String,
    #[serde(default)]
    return_to: String,
}

pub(crate) async fn form(
    State(platform): State<Platform>,
    visitor: Visitor,
    query: Result<Query<Next>, QueryRejection>,
) -> Response {
    let Query(Next { return_to, lost }) = query.unwrap_or_default();
    let entered = Entered { is_form_lost: !lost.is_empty(), ..Entered::at(local(return_to)) };
    show(&platform, &visitor, entered).await
}

pub(crate) async fn submit(
    State(platform): State<Platform>,
    visitor: Visitor,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    form: Result<Form<Credentials>, FormRejection>,
) -> Result<Response, Failure> {
    let Ok(Form(Credentials { username, password, return_to })) = form else {
        return Err(Failure::BadRequest("User name and password did not arrive. Please try again.".into()));
    };
    let return_to = local(return_to);
    if username.len() > LONGEST_USERNAME || password.len() > LONGEST_PASSWORD {
        let problem =
            format!("A user name has at most {LONGEST_USERNAME} bytes, and a password at most {LONGEST_PASSWORD}.");
        let mut response = show(&platform, &visitor, Entered::refused(return_to, String::new(), problem.into())).await;
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return Ok(response);
    }
    let peer = peer.map(|Extension(ConnectInfo(address))| address.ip());
    let known = known_browsers::find(&platform, &headers, &username).await?;
    let turn = match platform.guesses.turn(&username, Guesser::of(known, peer)).await {
        Ok(turn) => turn,
        Err(TooMany { seconds }) => {
            let unit = if seconds == 1 { "second" } else { "seconds" };
            let problem = format!("Too many tries. Please wait {seconds} {unit} and try again.").into();
            let mut response = show(&platform, &visitor, Entered::refused(return_to, username, problem)).await;
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            return Ok(([(RETRY_AFTER, seconds.to_string())], response).into_response());
        }
    };
    let check = PasswordCheck::of(&platform.database, &username, password).await?;
    let is_right = turn.check(move |memory| check.is_right(memory)).await.map_err(DatabaseError::from_join)?;
    let account = if is_right { Account::find(&platform.database, &username).await? } else { None };
    match account {
        Some(account) => {
            visitor.sign_in(&account).await?;
            let redirect = Redirect::to(return_to.as_str());
            if known.is_some() {
                return Ok(redirect.into_response());
            }
            let cookie = known_browsers::remember(&platform, &account.subject).await?;
            Ok((AppendHeaders([(SET_COOKIE, cookie)]), redirect).into_response())
        }
        None => {
            let problem = "Wrong user name or password.".into();
            Ok(show(&platform, &visitor, Entered::refused(return_to, username, problem)).await)
        }
    }
}

/// Signs out. Another user may sit at the browser next, so that it is no longer known to the consent page either.
pub(crate) async fn out(State(platform): State<Platform>, visitor: Visitor) -> Result<Response, Failure> {
    visitor.sign_out().await?;
    let cookie = (SET_COOKIE, platform.flow.forget_browser());
    Ok((AppendHeaders([cookie]), Redirect::to("/")).into_response())
}

/// What the page shows beside the empty fields.
struct Entered {
    /// Where the user continues after the sign-in.
    return_to: ReturnTo,
    username: String,
    problem: Option<Cow<'static, str>>,
    /// Whether a form was lost because the session had expired.
    is_form_lost: bool,
}

impl Entered {
    const fn at(return_to: ReturnTo) -> Self {
        Self { return_to, username: String::new(), problem: None, is_form_lost: false }
    }

    fn refused(return_to: ReturnTo, username: String, problem: Cow<'static, str>) -> Self {
        Self { username, problem: Some(problem), ..Self::at(return_to) }
    }
}

async fn show(platform: &Platform, visitor: &Visitor, entered: Entered) -> Response {
    let Ahead { application, leads_to } = ahead(platform, visitor, &entered.return_to).await.unwrap_or_default();
    let page = SignInPage { frame: Frame::of(visitor), entered, application, demo_accounts: DEMO_ACCOUNTS };
    page_with_form_action(&page, &leads_to)
}

/// The request that continues after the sign-in.
#[derive(Default)]
struct Ahead {
    /// The name of the application that asks for access, if its request is valid.
    application: Option<String>,
    leads_to: String,
}

/// Reads the authorization request that continues after the sign-in, if there is one.
///
/// If the request is invalid, the sign-in leads to a redirect to the application with the error. `leads_to` is what the
/// page's `form-action` must allow then: browsers check it for every redirect that follows a form.
async fn ahead(platform: &Platform, visitor: &Visitor, return_to: &ReturnTo) -> Option<Ahead> {
    let (path, query) = return_to.as_str().split_once('?')?;
    if path != platform.server.path(Endpoint::Authorization) {
        return None;
    }
    let request = Request::new("GET").query(query.as_bytes()).session(visitor.browser.session());
    match platform.server.authorize(&request).await {
        Ok(pending) => Some(Ahead { application: Some(words::called(pending.client())), leads_to: String::new() }),
        Err(error) if error.needs_sign_in() => {
            let leads_to = error.form_action_sources()?.to_owned();
            Some(Ahead { application: None, leads_to })
        }
        Err(_) => None,
    }
}

/// Returns the path, or the start page if the text is not a path of this service. Any other address would make the
/// sign-in an open redirector.
pub(crate) fn local(text: impl Into<String>) -> ReturnTo {
    ReturnTo::parse(text).or_else(|_| ReturnTo::parse("/")).expect("a fixed path")
}
