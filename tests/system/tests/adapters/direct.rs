//! What the examples must answer: the same service with nothing but the core under it.

use demo::Session;
use grantor::scope::{Permission, ScopeSet};
use grantor::wire::{self, Body, Endpoint, protective_headers};
use grantor::{
    Authenticated, AuthorizationError, AuthorizationServer, Consent, Decision, ResourceError, ResourceServer,
};

use support::http::{Answer, Request};

pub(crate) async fn answer(server: &AuthorizationServer, request: &Request) -> Answer {
    let borrowed = to_request(request);
    let path = str::from_utf8(&request.path).unwrap();
    let of = |endpoint: &Endpoint| server.paths(*endpoint).iter().any(|own| is_routed(own, path));
    let mut answer = match path {
        "/consent" => consent(server, request).await,
        "/api/me" => me(server, &borrowed).await.unwrap_or_else(|error| plain(error.into_response())),
        _ if of(&Endpoint::Authorization) => authorize(server, request, &borrowed).await,
        _ => match (Endpoint::MACHINE.iter().copied().find(of), guarded(server, path)) {
            (Some(endpoint), _) => plain(server.serve(endpoint, &borrowed).await),
            (None, Some((resource, needed))) => {
                me_there(&resource, &borrowed, &needed).await.unwrap_or_else(|error| plain(error.into_response()))
            }
            (None, None) => made(404, [], Vec::new()),
        },
    };
    if answer.status != 204 {
        let length = answer.body.len().to_string();
        answer.headers.push(("content-length".into(), length));
    }
    answer.headers.sort();
    if request.method == b"HEAD" {
        answer.body.clear();
    }
    answer
}

/// Whether a route has that path; a name in braces matches one segment.
fn is_routed(route: &str, path: &str) -> bool {
    match route.split_once('{') {
        Some((start, _)) => path.strip_prefix(start).is_some_and(|rest| !rest.is_empty() && !rest.contains('/')),
        None => route == path,
    }
}

fn to_request(request: &Request) -> wire::Request<'_> {
    let method = str::from_utf8(&request.method).unwrap();
    let (query, body) = (request.query.as_deref().unwrap_or_default(), request.body.as_deref().unwrap_or_default());
    let borrowed =
        wire::Request::new(method).path(str::from_utf8(&request.path).unwrap()).query(query).body(Body::Bytes(body));
    let headers = request.headers.iter();
    headers.fold(borrowed, |borrowed, (name, value)| borrowed.header(name, value)).peer([127, 0, 0, 1].into())
}

async fn authorize(server: &AuthorizationServer, request: &Request, borrowed: &wire::Request<'_>) -> Answer {
    let session = session(request);
    let page = async {
        let pending = server.authorize(borrowed).await?;
        let handle = server.hold(&pending, &session.user, session.id.as_bytes()).await?;
        Ok::<_, AuthorizationError>(demo::consent_page(&pending, &session, &handle))
    };
    match page.await {
        Ok(page) => {
            let common = [("content-type", "text/html; charset=utf-8")].into_iter().chain(protective_headers());
            let cookie = ("set-cookie".into(), session.set_cookie());
            let headers = common.map(|(name, value)| (name.into(), value.into())).chain([cookie]);
            made(200, headers, page.into_bytes())
        }
        Err(error) => plain(error.response(Some(&session.user))),
    }
}

async fn consent(server: &AuthorizationServer, request: &Request) -> Answer {
    let session = session(request);
    let body = request.body.as_deref().filter(|body| body.len() <= server.body_limit());
    let decision = body.and_then(decision);
    let (handle, decision) = decision.unwrap_or((String::new(), Decision::Deny));
    let decided = server.decide(&handle, &session.user, session.id.as_bytes(), &decision).await;
    plain(decided.unwrap_or_else(|error| error.response(Some(&session.user))))
}

/// Reads what the page's form sent: the handle and the decision.
fn decision(body: &[u8]) -> Option<(String, Decision)> {
    let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(body).ok()?;
    let value = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let chosen =
        |wanted: &'static str| fields.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let decision = match value("decision")?.as_str() {
        "allow" => Decision::Approve(Consent::chosen(chosen("scope"), chosen("resource"))),
        _ => Decision::Deny,
    };
    Some((value("handle")?, decision))
}

async fn me(server: &AuthorizationServer, borrowed: &wire::Request<'_>) -> Result<Answer, ResourceError> {
    let token = server.authenticate_for(borrowed, "account-profile", Some(Permission::Read)).await?;
    Ok(about(&token))
}

fn guarded(server: &AuthorizationServer, path: &str) -> Option<(ResourceServer, ScopeSet)> {
    demo::protected_resources(server).into_iter().find(|(own, _)| own == path).map(|(_, needed)| needed)
}

async fn me_there(
    resource: &ResourceServer,
    borrowed: &wire::Request<'_>,
    needed: &ScopeSet,
) -> Result<Answer, ResourceError> {
    Ok(about(&resource.authenticate_for(borrowed, needed).await?))
}

fn about(token: &Authenticated) -> Answer {
    let user = token.subject().expect("a token of a user").as_str();
    let body = serde_json::json!({ "user": user, "scope": token.scopes().as_str() });
    made(200, [("content-type".into(), "application/json".into())], body.to_string().into_bytes())
}

fn plain(response: wire::Response) -> Answer {
    let headers = response.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
    made(response.status(), headers.collect::<Vec<_>>(), response.into_body())
}

fn session(request: &Request) -> Session {
    let cookie = request.headers.iter().find(|(name, _)| name == "Cookie");
    Session::of(cookie.and_then(|(_, value)| str::from_utf8(value).ok()))
}

/// An answer as it is read from the wire: header names in lower case.
fn made(status: u16, headers: impl IntoIterator<Item = (String, String)>, body: Vec<u8>) -> Answer {
    let headers = headers.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
    Answer { status, headers, body }
}
