//! What the examples must answer: the same service with nothing but the core under it.

use demo::Alice;
use grantor::interaction::{Flow, Route, Step, Visitor};
use grantor::scope::{Permission, ScopeSet};
use grantor::wire::{self, Body, Endpoint};
use grantor::{Authenticated, AuthorizationServer, ResourceError, ResourceServer};

use support_servers::http::{Answer, Request};

pub(crate) async fn answer(server: &AuthorizationServer, request: &Request) -> Answer {
    let borrowed = to_request(request);
    let path = str::from_utf8(&request.path).unwrap();
    let of = |endpoint: &Endpoint| server.paths(*endpoint).iter().any(|own| is_routed(own, path));
    let flow = Flow::new(server, demo::pages());
    let page = Route::ALL.into_iter().find(|route| flow.path(*route) == path);
    let mut answer = match (path, page) {
        (_, Some(route)) => shown(&flow, route, request, borrowed).await,
        ("/api/me", None) => me(server, &borrowed).await.unwrap_or_else(|error| plain(error.into_response())),
        (_, None) => match (Endpoint::MACHINE.iter().copied().find(of), guarded(server, path)) {
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

/// A page, with the cookie of a new browser.
async fn shown(flow: &Flow, route: Route, request: &Request, borrowed: wire::Request<'_>) -> Answer {
    let values =
        |wanted: &'static str| request.headers.iter().filter(move |(name, _)| name == wanted).map(|(_, own)| own);
    let browser = flow.browser(values("Cookie").map(Vec::as_slice));
    let languages = values("Accept-Language").next().map(|value| str::from_utf8(value).unwrap()).unwrap_or_default();
    let user = Alice::user();
    let visitor = Visitor::new(&browser).languages(languages).user(&user);
    let is_too_large = request.body.as_ref().is_some_and(|body| body.len() > Flow::FORM_BYTES);
    let borrowed = if is_too_large { borrowed.body(Body::TooLarge) } else { borrowed };
    let Step::Respond(response) = flow.serve(route, &borrowed, &visitor).await else { panic!("she is signed in") };
    let mut answer = plain(response);
    let cookie = browser.set_cookie(route, str::from_utf8(&request.method).unwrap());
    answer.headers.extend(cookie.map(|cookie| ("set-cookie".into(), cookie.into())));
    answer
}

async fn me(server: &AuthorizationServer, borrowed: &wire::Request<'_>) -> Result<Answer, ResourceError> {
    let token = server.resource().authenticate_for_account(borrowed, "account-profile", Some(Permission::Read)).await?;
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

/// An answer as it is read from the wire: header names in lower case.
fn made(status: u16, headers: impl IntoIterator<Item = (String, String)>, body: Vec<u8>) -> Answer {
    let headers = headers.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
    Answer { status, headers, body }
}
