//! What the examples have to answer: the same service with nothing but the core under it.

use grantor::scope::{Permission, Resource};
use grantor::wire::{self, Body, Endpoint, protective_headers};
use grantor::{AuthorizationError, AuthorizationServer, Decision, ResourceError};

use crate::demo::{self, Session};
use crate::exchange::{Answer, Request};

pub(crate) async fn answer(server: &AuthorizationServer, request: &Request) -> Answer {
    let lent = lend(request);
    let of = |endpoint: &Endpoint| server.path(*endpoint) == request.path;
    let mut answer = match request.path.as_str() {
        "/consent" => consent(server, request).await,
        "/api/me" => me(server, &lent).await.unwrap_or_else(|error| plain(error.into_response())),
        _ if of(&Endpoint::Authorization) => authorize(server, request, &lent).await,
        _ => match Endpoint::MACHINE.iter().copied().find(of) {
            Some(endpoint) => plain(server.serve(endpoint, &lent).await),
            None => Answer::new(404, [], Vec::new()),
        },
    };
    let length = answer.body.len().to_string();
    answer.headers.push(("content-length".into(), length));
    answer.headers.sort();
    if request.method == "HEAD" {
        answer.body.clear();
    }
    answer
}

fn lend(request: &Request) -> wire::Request<'_> {
    let query = request.query.as_deref().unwrap_or_default();
    let lent = wire::Request::new(request.method).query(query).body(Body::Octets(&request.body));
    let headers = request.headers.iter();
    headers.fold(lent, |lent, (name, value)| lent.header(name, value)).peer([127, 0, 0, 1].into())
}

async fn authorize(server: &AuthorizationServer, request: &Request, lent: &wire::Request<'_>) -> Answer {
    let session = session(request);
    let page = async {
        let pending = server.authorize(lent).await?;
        let handle = server.hold(&pending, &session.user, session.id.as_bytes()).await?;
        Ok::<_, AuthorizationError>(demo::consent_page(&pending, &session, &handle))
    };
    match page.await {
        Ok(page) => {
            let common = [("content-type", "text/html; charset=utf-8")].into_iter().chain(protective_headers());
            let cookie = ("set-cookie".into(), session.set_cookie());
            let headers = common.map(|(name, value)| (name.into(), value.into())).chain([cookie]);
            Answer::new(200, headers, page.into_bytes())
        }
        Err(error) => plain(error.response(Some(&session.user))),
    }
}

async fn consent(server: &AuthorizationServer, request: &Request) -> Answer {
    let session = session(request);
    let body = Some(&request.body).filter(|body| body.len() <= server.body_limit());
    let decision = body.and_then(|body| demo::decision(body));
    let (handle, decision) = decision.unwrap_or((String::new(), Decision::Deny));
    let decided = server.decide(&handle, &session.user, session.id.as_bytes(), &decision).await;
    plain(decided.unwrap_or_else(|error| error.response(Some(&session.user))))
}

async fn me(server: &AuthorizationServer, lent: &wire::Request<'_>) -> Result<Answer, ResourceError> {
    let token = server.authenticate(lent).await?;
    server.require(&token, "account-profile", Permission::Read, Resource::Account)?;
    let body =
        serde_json::json!({ "user": server.require_subject(&token)?.as_str(), "scope": token.scopes().as_str() });
    Ok(Answer::new(200, [("content-type".into(), "application/json".into())], body.to_string().into_bytes()))
}

fn plain(response: wire::Response) -> Answer {
    let headers = response.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Answer::new(response.status(), headers.collect::<Vec<_>>(), response.into_body())
}

fn session(request: &Request) -> Session {
    let cookie = request.headers.iter().find(|(name, _)| *name == "Cookie");
    Session::of(cookie.and_then(|(_, value)| str::from_utf8(value).ok()))
}
