//! The pages of an interaction for devices.

use grantor::config::Profile;
use grantor::interaction::{Flow, Route};
use grantor::wire::message::DeviceAuthorizationResponse;
use grantor::wire::{Body, Request, Response};

use super::{asked, poll, reconfigured, world, world_with};
use crate::interaction::{Plain, Visit, line, sign_in};
use support::intercepted::over_with;
use support::intercepted::scripts::Calls;
use support::world::{World, e400, encode, ok, pair};

fn signed_in<'a>(flow: &'a Flow, user: &str) -> Visit<'a> {
    let mut visit = Visit::new(flow);
    visit.sign_in(user);
    visit
}

/// The code page's form, with that code.
async fn typed(visit: &Visit<'_>, code: &str, more: &[(&str, &str)]) -> Response {
    let page = visit.get(Route::Device, "").await;
    let token = line(&page, "token");
    visit.post(Route::Device, &[&[("token", token.as_str()), ("user_code", code)], more].concat()).await
}

async fn answered(visit: &Visit<'_>, page: &Response, decision: &str, more: &[(&str, &str)]) -> Response {
    let handle = line(page, "handle");
    let own = [("handle", handle.as_str()), ("decision", decision)];
    visit.post(Route::Consent, &[&own, more].concat()).await
}

/// What a page says after the redirect to it.
async fn outcome(visit: &Visit<'_>, response: &Response) -> String {
    let (path, query) = response.header("Location").unwrap().split_once('?').unwrap();
    assert_eq!((response.status(), path), (303, "/device"));
    line(&visit.get(Route::Device, query).await, "outcome")
}

fn code(device: &DeviceAuthorizationResponse) -> &str {
    &device.user_code
}

/// 8628-3.3-01, DEV-04
#[tokio::test]
async fn a_user_types_the_code_and_allows() {
    let world = world().await;
    let flow = Flow::new(&world.server, Plain);
    assert_eq!(flow.path(Route::Device), "/device");
    let visit = signed_in(&flow, "alice");
    let device = asked(&world).await;
    let page = typed(&visit, code(&device), &[]).await;
    assert_eq!(page.status(), 200);
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(policy.starts_with("form-action 'self'; frame-ancestors 'none'"), "{policy}");
    let fields = [("user_code", code(&device)), ("scope", "repo-code:rw")];
    let answer = answered(&visit, &page, "allow", &fields).await;
    assert_eq!(outcome(&visit, &answer).await, "Some(Allowed)");
    assert_eq!(pair(&poll(&world, &device.device_code).await).scope, "repo-code:rw");
    // A forged link makes the page say nothing.
    for query in ["allowed=", "allowed=1", "denied"] {
        assert_eq!(line(&visit.get(Route::Device, query).await, "outcome"), "None", "{query}");
    }
    let denied = asked(&world).await;
    let page = typed(&visit, code(&denied), &[]).await;
    let answer = answered(&visit, &page, "deny", &[("user_code", code(&denied))]).await;
    assert_eq!(outcome(&visit, &answer).await, "Some(Denied)");
    e400(&poll(&world, &denied.device_code).await, "access_denied");
}

/// 8628-3.3-01, 8628-3.3.1-01
#[tokio::test]
async fn opening_the_page_changes_nothing() {
    let mut world = world().await;
    reconfigured(&mut world, |config| config.devices.complete_uri = true);
    let device = asked(&world).await;
    let calls = Calls::recorded();
    let watched = over_with(&world, calls.clone(), |builder| builder.throttle(support::attempts::Attempts::default()));
    let flow = Flow::new(&watched.server, Plain);
    let link = device.verification_uri_complete.as_ref().unwrap();
    let query = link.split_once('?').unwrap().1;
    for method in ["GET", "HEAD"] {
        let mut visit = Visit::new(&flow);
        let request = || Request::new(method).query(query.as_bytes());
        let return_to = sign_in(visit.step(Route::Device, request()).await);
        assert_eq!(return_to.as_str(), format!("/device?{query}"));
        visit.sign_in("scanner");
        let page = crate::interaction::respond(visit.step(Route::Device, request()).await);
        assert_eq!((line(&page, "code").as_str(), line(&page, "in_link").as_str()), (code(&device), "true"));
    }
    assert!(calls.take().is_empty(), "no store call");
    // What cannot be a code is not repeated.
    let visit = signed_in(&flow, "alice");
    let page = visit.get(Route::Device, "user_code=%3Cb%3E").await;
    assert!(String::from_utf8_lossy(page.body()).contains("code \nin_link false"), "{page:?}");
    assert_eq!(typed(&visit, code(&device), &[]).await.status(), 200, "another user can still type it");
}

/// 8628-5.4-01
#[tokio::test]
async fn a_code_in_a_link_needs_a_comparison() {
    let world = world().await;
    let flow = Flow::new(&world.server, Plain);
    let visit = signed_in(&flow, "alice");
    let device = asked(&world).await;
    let fields = [("user_code", code(&device)), ("in_link", "yes"), ("scope", "repo-code:rw")];
    let page = typed(&visit, code(&device), &[("in_link", "yes")]).await;
    let again = answered(&visit, &page, "allow", &fields).await;
    assert_eq!((again.status(), line(&again, "problem").as_str()), (422, "Some(CodeNotCompared)"));
    assert_eq!(line(&again, "boxes"), "repo-code:rw=true repo-issue:rw=false account-profile:r=false");
    e400(&poll(&world, &device.device_code).await, "authorization_pending");
    // A form that leaves its fields out does not help.
    let forged = answered(&visit, &again, "allow", &[("scope", "repo-code:rw")]).await;
    assert_eq!(forged.status(), 400);
    let compared = [&fields[..], &[("device_shows_code", "yes")]].concat();
    let answer = answered(&visit, &again, "allow", &compared).await;
    assert_eq!(outcome(&visit, &answer).await, "Some(Allowed)");
    ok(&poll(&world, &device.device_code).await);
    // Another site's form, without the ticket of the page, claims nothing.
    let other = asked(&world).await;
    for handle in ["x", line(&again, "handle").as_str()] {
        let form = [("handle", handle), ("decision", "allow"), ("user_code", code(&other))];
        assert_eq!(visit.post(Route::Consent, &form).await.status(), 400, "{handle}");
    }
    assert_eq!(super::stored(&world, &other.device_code).await.unwrap().typed_by(), None);
    // The page remembers that the code came in a link, whatever the form says.
    let linked = typed(&visit, code(&other), &[("in_link", "yes")]).await;
    let again = answered(&visit, &linked, "allow", &[("user_code", code(&other))]).await;
    assert_eq!((again.status(), line(&again, "problem").as_str()), (422, "Some(NoScope)"));
    assert_eq!(line(&again, "device"), "in_link true");
    // Nothing chosen is a problem too.
    let device = asked(&world).await;
    let page = typed(&visit, code(&device), &[]).await;
    let again = answered(&visit, &page, "allow", &[("user_code", code(&device))]).await;
    assert_eq!((again.status(), line(&again, "problem").as_str()), (422, "Some(NoScope)"));
}

/// 8628-5.1-01, 8628-5.5-01
#[tokio::test]
async fn a_wrong_code_shows_the_form() {
    let world = world().await;
    let throttle = grantor::MemoryThrottle::new().with_clock(world.clock.clone());
    let watched = over_with(&world, Calls::recorded(), |builder| builder.throttle(throttle));
    let flow = Flow::new(&watched.server, Plain);
    let visit = signed_in(&flow, "alice");
    for _ in 0..5 {
        let page = typed(&visit, "BCDF-GHJK", &[]).await;
        assert_eq!((page.status(), line(&page, "problem").as_str()), (400, "Some(Unknown)"));
        assert_eq!(line(&page, "code"), "BCDF-GHJK");
    }
    let page = typed(&visit, "BCDF-GHJK", &[]).await;
    assert_eq!((page.status(), page.header("Retry-After")), (429, Some("300")));
    assert_eq!(line(&page, "problem"), "Some(TooMany { retry_after: 300 })");
}

/// 8628-3.3-01: no other site sends the form, and a user who signed out signs in again.
#[tokio::test]
async fn a_form_needs_its_token_and_a_user() {
    let world = world().await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = signed_in(&flow, "alice");
    let device = asked(&world).await;
    let other = signed_in(&flow, "alice");
    let token = line(&other.get(Route::Device, "").await, "token");
    for token in ["", "x", token.as_str()] {
        let form = [("token", token), ("user_code", code(&device))];
        assert_eq!(visit.post(Route::Device, &form).await.status(), 400);
    }
    assert_eq!(super::stored(&world, &device.device_code).await.unwrap().typed_by(), None);
    let page = typed(&visit, code(&device), &[]).await;
    let handle = line(&page, "handle");
    visit.user = None;
    let form = encode(&[("handle", &handle), ("decision", "allow"), ("user_code", code(&device))]);
    let request = Request::new("POST").body(Body::Bytes(form.as_bytes()));
    assert_eq!(sign_in(visit.step(Route::Consent, request).await).as_str(), "/device");
    let request = Request::new("POST").body(Body::Bytes(b"user_code=BCDF-GHJK"));
    assert_eq!(sign_in(visit.step(Route::Device, request).await).as_str(), "/device");
    visit.sign_in("bob");
    let stale = answered(&visit, &page, "allow", &[("user_code", code(&device)), ("scope", "repo-code:rw")]).await;
    assert_eq!((line(&stale, "kind").as_str(), line(&stale, "again").as_str()), ("Stale", "Some(\"/device\")"));
}

/// 8628-5.5-01
#[tokio::test]
async fn another_account_gets_the_code_back() {
    let world = world().await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = signed_in(&flow, "alice");
    let device = asked(&world).await;
    let page = typed(&visit, code(&device), &[]).await;
    let switched = answered(&visit, &page, "switch", &[("user_code", code(&device))]).await;
    assert_eq!((switched.status(), switched.header("Location")), (303, Some("/switch?return_to=%2Fdevice")));
    visit.sign_in("bob");
    let page = typed(&visit, code(&device), &[]).await;
    let fields = [("user_code", code(&device)), ("scope", "repo-code:rw")];
    let answer = answered(&visit, &page, "allow", &fields).await;
    assert_eq!(outcome(&visit, &answer).await, "Some(Allowed)");
    ok(&poll(&world, &device.device_code).await);
}

#[tokio::test]
async fn the_page_is_at_the_published_address_or_beside_the_others() {
    let at = async |uri: &'static str| {
        let world = world_with(Profile::Strict, |config| config.devices.verification_uri = uri.into()).await;
        Flow::new(&world.server, Plain).path(Route::Device)
    };
    assert_eq!(at("https://auth.example/tv").await, "/tv");
    for elsewhere in ["https://short.example/d", "https://auth.example", "https://auth.example:8443/d"] {
        assert_eq!(at(elsewhere).await, "/oauth2/auth/device", "{elsewhere}");
    }
    let off = World::platform().await;
    let flow = Flow::new(&off.server, Plain);
    assert_eq!(signed_in(&flow, "alice").get(Route::Device, "").await.status(), 404);
}
