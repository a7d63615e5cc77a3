//! The authorization endpoint: who is signed in is asked, and the answer goes to the application.

mod page;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{any, post};
use grantor::wire::Endpoint;
use grantor::{AuthorizationServer, Consent, Decision};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::adapter::{Incoming, respond};
use crate::pages::{Failure, Sent, page_with_form_action};
use crate::refusal;
use crate::registration::failure;
use crate::repositories;
use crate::session::Visitor;
use crate::sign_in::local;
use crate::web::Platform;

/// The form carries its own way back, in which every octet of `state` may be escaped twice.
const FORM_OCTETS: usize = 256 * 1024;

pub(crate) fn routes(server: &AuthorizationServer) -> Router<Platform> {
    Router::new()
        .route(&server.path(Endpoint::Authorization), any(ask))
        .route("/consent", post(decide).layer(DefaultBodyLimit::max(FORM_OCTETS)))
}

/// Checks the request, has its user sign in, and asks.
async fn ask(State(platform): State<Platform>, visitor: Visitor, request: Request) -> Result<Response, Failure> {
    let server = &platform.server;
    let way_back = way_back(request.uri());
    let incoming = Incoming::read(request, server.body_limit()).await;
    let pending = match server.authorize(&incoming.lend()).await {
        Ok(pending) => pending,
        Err(error) if visitor.account.is_none() && error.needs_sign_in() => {
            return Err(Failure::SignInFirst { next: way_back, sent: Sent::Nothing });
        }
        Err(error) => return Ok(refusal::answer(&visitor, error, None)),
    };
    let Some(account) = &visitor.account else {
        return Err(Failure::SignInFirst { next: way_back, sent: Sent::Nothing });
    };
    let repositories = repositories::all_of(&platform.database, &account.subject).await?;
    match server.hold(&pending, &account.subject, &visitor.session_octets()).await {
        Ok(handle) => {
            let application = platform.registrar()?.application(pending.client().id()).await.map_err(failure)?;
            let description = application.form().description().map(str::to_owned);
            let asked = page::Asked { pending: &pending, description, repositories: &repositories };
            let page = page::ConsentPage::new(server.config(), account, asked, &handle, way_back);
            Ok(page_with_form_action(&page, &pending.form_action_sources()))
        }
        Err(error) => Ok(refusal::answer(&visitor, error, None)),
    }
}

/// Takes the decision; the handle is worth nothing without this user's session.
async fn decide(State(platform): State<Platform>, visitor: Visitor, body: Bytes) -> Result<Response, Failure> {
    let Some(form) = Form::read(&body) else {
        return Err(Failure::BadRequest("The form did not arrive as it was sent. Please start over.".into()));
    };
    // Only back to the question itself: the form may have been altered.
    let path = platform.server.path(Endpoint::Authorization);
    let is_question = form.next.split_once('?').is_some_and(|(start, _)| start == path);
    let way_back = is_question.then(|| local(&form.next).to_owned());
    let Some(account) = &visitor.account else {
        return Err(Failure::SignInFirst { next: way_back.unwrap_or_else(|| "/".to_owned()), sent: Sent::Form });
    };
    let session = visitor.session_octets();
    match platform.server.decide(&form.handle, &account.subject, &session, &form.decision).await {
        Ok(redirect) => Ok(respond(redirect)),
        Err(error) => Ok(refusal::answer(&visitor, error, way_back.as_deref())),
    }
}

/// What the page's form sent.
struct Form {
    handle: String,
    next: String,
    decision: Decision,
}

impl Form {
    fn read(body: &[u8]) -> Option<Self> {
        let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(body).ok()?;
        let all = |wanted: &'static str| fields.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value);
        let decision = match all("decision").next()?.as_str() {
            "allow" => Decision::Approve(Consent::ticked(all("scope"), all("resource"))),
            "deny" => Decision::Deny,
            _ => return None,
        };
        let next = all("next").next().cloned().unwrap_or_default();
        Some(Self { handle: all("handle").next()?.clone(), next, decision })
    }
}

/// Path and query with nothing but visible ASCII, which mean the same octets.
fn way_back(uri: &Uri) -> String {
    const RAW: AsciiSet = CONTROLS.add(b' ').add(b'\\');
    let text = uri.path_and_query().map_or("/", |path| path.as_str());
    utf8_percent_encode(text, &RAW).to_string()
}
