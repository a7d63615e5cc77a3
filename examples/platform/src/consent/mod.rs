//! The authorization endpoint. It asks the signed-in user, and sends the answer to the application.

mod page;

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::header::SET_COOKIE;
use axum::http::{StatusCode, Uri};
use axum::response::{AppendHeaders, IntoResponse as _, Response};
use axum::routing::{any, post};
use axum::{Extension, Router};
use grantor::wire::{self, Endpoint};
use grantor::{AuthorizationServer, Consent, Decision, PendingAuthorization};
use grantor_axum::{Incoming, respond};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::accounts::Account;
use crate::pages::{Failure, Sent, page_with_form_action};
use crate::registration::failure;
use crate::session::Visitor;
use crate::sign_in::local;
use crate::web::Platform;
use crate::{publications, refusal, repositories};

/// The form contains the address of its own page, in which every byte of `state` may be escaped twice.
const FORM_BYTES: usize = 256 * 1024;

pub(crate) fn routes(server: &AuthorizationServer) -> Router<Platform> {
    Router::new()
        .route(&server.path(Endpoint::Authorization), any(ask))
        .route("/consent", post(decide).layer(DefaultBodyLimit::max(FORM_BYTES)))
}

/// Checks the request, has its user sign in, and asks.
async fn ask(State(platform): State<Platform>, visitor: Visitor, request: Incoming) -> Result<Response, Failure> {
    let way_back = way_back(&request.parts.uri);
    question(&platform, &visitor, &request.to_request(), way_back, None).await
}

/// Asks, or asks again if the answer that was sent `before` is incomplete.
async fn question(
    platform: &Platform,
    visitor: &Visitor,
    request: &wire::Request<'_>,
    way_back: String,
    before: Option<&Form>,
) -> Result<Response, Failure> {
    let server = &platform.server;
    let sent = request.session(visitor.browser.as_bytes());
    let signed_in = visitor.account.as_ref().map_or(sent, |account| sent.subject(&account.subject));
    let pending = match server.authorize(&signed_in).await {
        Ok(pending) => pending,
        Err(error) if visitor.account.is_none() && error.needs_sign_in() => {
            return Ok(sign_in_first(platform, visitor, way_back));
        }
        Err(error) => return Ok(refusal::answer(visitor, error, None)),
    };
    let Some(account) = &visitor.account else { return Ok(sign_in_first(platform, visitor, way_back)) };
    let (description, publisher) = described(platform, &pending).await?;
    let repositories = repositories::all_of(&platform.database, &account.subject).await?;
    match server.hold(&pending, &account.subject, &visitor.session_bytes()).await {
        Ok(handle) => {
            let asked = page::Asked { pending: &pending, description, publisher, repositories: &repositories };
            let mut page = page::ConsentPage::new(server.config(), account, asked, &handle, way_back);
            if let Some(before) = before {
                page.repeat(before);
            }
            let mut response = page_with_form_action(&page, &pending.form_action_sources());
            if before.is_some() {
                *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            }
            Ok(response)
        }
        Err(error) => Ok(refusal::answer(visitor, error, None)),
    }
}

/// Asks the user to sign in. If the request was pushed, the same browser may return with it after it has expired.
fn sign_in_first(platform: &Platform, visitor: &Visitor, way_back: String) -> Response {
    let query = way_back.split_once('?').map_or("", |(_, query)| query);
    let is_reference = |piece: &str| piece.strip_prefix("request_uri=").is_some_and(|uri| !uri.is_empty());
    let cookie = query.split('&').any(is_reference).then(|| (SET_COOKIE, visitor.keep_browser(platform)));
    (AppendHeaders(cookie), Failure::SignInFirst { next: way_back, sent: Sent::Nothing }).into_response()
}

/// What the developer said about the application, and who the developer is. `None` for an unreviewed application, which
/// may not even be stored yet.
async fn described(
    platform: &Platform,
    pending: &PendingAuthorization,
) -> Result<(Option<String>, page::Publisher), Failure> {
    if pending.is_client_unreviewed() {
        return Ok((None, page::Publisher { name: None, since: None }));
    }
    let application = platform.registrar()?.application(pending.client().id()).await.map_err(failure)?;
    let owner = match application.owner.as_ref() {
        Some(owner) => Account::find(&platform.database, owner.as_str()).await?,
        None => None,
    };
    let since = publications::since(&platform.database, application.id()).await?;
    let description = application.form().description.clone();
    Ok((description, page::Publisher { name: owner.map(|account| account.name), since }))
}

/// Applies the decision. The handle is not valid without this user's session.
///
/// Consent to nothing is not a denial: if the user unticks everything, the page is shown again.
async fn decide(
    State(platform): State<Platform>,
    visitor: Visitor,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    body: Bytes,
) -> Result<Response, Failure> {
    let Some(form) = Form::read(&body) else {
        return Err(Failure::BadRequest("The form did not arrive as it was sent. Please start over.".into()));
    };
    // Only back to the consent page: the form may have been altered.
    let path = platform.server.path(Endpoint::Authorization);
    let is_question = form.next.split_once('?').is_some_and(|(start, _)| start == path);
    let way_back = is_question.then(|| local(&form.next).to_owned());
    let Some(account) = &visitor.account else {
        return Err(Failure::SignInFirst { next: way_back.unwrap_or_else(|| "/".to_owned()), sent: Sent::Form });
    };
    if let Some(problem) = form.problem() {
        let Some(way_back) = way_back else { return Err(Failure::BadRequest(problem.into())) };
        let query = way_back.split_once('?').map_or("", |(_, query)| query).to_owned();
        let mut request = wire::Request::new("GET").query(query.as_bytes());
        if let Some(Extension(ConnectInfo(address))) = peer {
            request = request.peer(address.ip());
        }
        return question(&platform, &visitor, &request, way_back, Some(&form)).await;
    }
    let session = visitor.session_bytes();
    match platform.server.decide(&form.handle, &account.subject, &session, &form.decision()).await {
        Ok(redirect) => Ok(respond(redirect)),
        Err(error) => Ok(refusal::answer(&visitor, error, way_back.as_deref())),
    }
}

/// What the page's form sent.
struct Form {
    handle: String,
    next: String,
    is_allowed: bool,
    scopes: Vec<String>,
    resources: Vec<String>,
    /// Whether the page has a list of resources to choose from.
    lists_resources: bool,
}

impl Form {
    fn read(body: &[u8]) -> Option<Self> {
        let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(body).ok()?;
        let all = |wanted: &'static str| fields.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value);
        let is_allowed = match all("decision").next()?.as_str() {
            "allow" => true,
            "deny" => false,
            _ => return None,
        };
        Some(Self {
            handle: all("handle").next()?.clone(),
            next: all("next").next().cloned().unwrap_or_default(),
            is_allowed,
            scopes: all("scope").cloned().collect(),
            resources: all("resource").cloned().collect(),
            lists_resources: all("lists").any(|list| list == "resources"),
        })
    }

    /// Returns what is missing, if the answer is to allow and does not say what.
    fn problem(&self) -> Option<&'static str> {
        let lacks_resources = self.lists_resources && self.resources.is_empty();
        match (self.is_allowed, self.scopes.is_empty(), lacks_resources) {
            (true, true, _) => Some("Nothing is chosen. Tick at least one thing that it may do, or choose “Deny”."),
            (true, false, true) => Some("No repository is chosen. Tick at least one, or choose “Deny”."),
            _ => None,
        }
    }

    fn decision(&self) -> Decision {
        if self.is_allowed {
            Decision::Approve(Consent::chosen(
                self.scopes.iter().map(String::as_str),
                self.resources.iter().map(String::as_str),
            ))
        } else {
            Decision::Deny
        }
    }
}

/// Returns path and query in visible ASCII only. Their meaning is the same.
fn way_back(uri: &Uri) -> String {
    const RAW: AsciiSet = CONTROLS.add(b' ').add(b'\\');
    let text = uri.path_and_query().map_or("/", |path| path.as_str());
    utf8_percent_encode(text, &RAW).to_string()
}
