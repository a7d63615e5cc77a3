//! Signing in and out.

use std::borrow::Cow;
use std::net::SocketAddr;

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{ConnectInfo, Query, State};
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use grantor::Subject;
use grantor::wire::{Endpoint, Request};
use serde::Deserialize;
use url::{Host, Url};

use crate::accounts::{Account, DEMO_ACCOUNTS};
use crate::guesses::TooMany;
use crate::pages::{Failure, Frame, page_with_form_action};
use crate::session::Visitor;
use crate::web::Platform;

#[derive(Template)]
#[template(path = "sign_in.html", config = "examples/platform/askama.toml")]
struct SignInPage {
    frame: Frame,
    next: String,
    username: String,
    problem: Option<Cow<'static, str>>,
    demo_accounts: [(&'static str, &'static str, &'static str, &'static str); 3],
}

#[derive(Default, Deserialize)]
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

pub(crate) async fn form(
    State(platform): State<Platform>,
    visitor: Visitor,
    query: Result<Query<Next>, QueryRejection>,
) -> Response {
    let next = query.map(|Query(query)| query.next).unwrap_or_default();
    show(&platform, &visitor, next, String::new(), None).await
}

pub(crate) async fn submit(
    State(platform): State<Platform>,
    visitor: Visitor,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    form: Result<Form<Credentials>, FormRejection>,
) -> Result<Response, Failure> {
    let Ok(Form(Credentials { username, password, next })) = form else {
        return Err(Failure::BadRequest("User name and password did not arrive. Please try again.".into()));
    };
    let peer = peer.map(|Extension(ConnectInfo(address))| address.ip());
    let turn = match platform.guesses.turn(&username, peer).await {
        Ok(turn) => turn,
        Err(TooMany { seconds }) => {
            let problem = format!("Too many tries. Please wait {seconds} seconds and try again.");
            let mut response = show(&platform, &visitor, next, username, Some(problem.into())).await;
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            return Ok(([(RETRY_AFTER, seconds.to_string())], response).into_response());
        }
    };
    let account = Account::sign_in(&platform.database, &username, &password).await?;
    turn.end(account.is_some());
    match account {
        Some(account) => {
            visitor.sign_in(&account).await?;
            Ok(Redirect::to(local(&next)).into_response())
        }
        None => {
            let problem = "User name and password do not belong together.";
            Ok(show(&platform, &visitor, next, username, Some(problem.into())).await)
        }
    }
}

/// Signs out, and goes on where the form says, so that somebody else can answer the same question.
pub(crate) async fn out(visitor: Visitor, form: Result<Form<Next>, FormRejection>) -> Result<Redirect, Failure> {
    visitor.sign_out().await?;
    let Form(Next { next }) = form.unwrap_or_default();
    Ok(Redirect::to(local(&next)))
}

async fn show(
    platform: &Platform,
    visitor: &Visitor,
    next: String,
    username: String,
    problem: Option<Cow<'static, str>>,
) -> Response {
    let leads_to = where_it_ends(platform, &next).await.unwrap_or_default();
    let frame = Frame::of(visitor);
    let page = SignInPage { frame, next, username, problem, demo_accounts: DEMO_ACCOUNTS };
    page_with_form_action(&page, &leads_to)
}

/// Where the browser ends up if the request that waits behind the sign-in is one that the application is
/// told to be wrong: browsers hold every redirect that follows a form against the page's `form-action`.
async fn where_it_ends(platform: &Platform, next: &str) -> Option<String> {
    let (path, query) = next.split_once('?')?;
    if path != platform.server.path(Endpoint::Authorization) {
        return None;
    }
    let pending = platform.server.authorize(&Request::new("GET").query(query.as_bytes())).await;
    let error = pending.err().filter(|error| error.needs_sign_in())?;
    let response = error.response(Some(&Subject::new("whoever signs in").ok()?));
    let location = Url::parse(response.header("Location")?).ok()?;
    // The policy's grammar of hosts has no IPv6 address, and an app has a scheme alone.
    match (location.scheme(), location.host()) {
        ("http" | "https", Some(Host::Domain(_) | Host::Ipv4(_))) => Some(location.origin().ascii_serialization()),
        (scheme, _) => Some(format!("{scheme}:")),
    }
}

/// The way back, if it leads to this service: a stranger's address would make the sign-in an open redirector.
pub(crate) fn local(next: &str) -> &str {
    let is_path = next.starts_with('/') && !next.starts_with("//");
    if is_path && next.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'\\') { next } else { "/" }
}
