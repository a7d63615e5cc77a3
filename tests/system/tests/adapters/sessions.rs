//! The guide "Sign-in and sessions": the code that it shows, with both session libraries.

use grantor::config::Profile;
use grantor::interaction::ReturnTo;
use serde::Deserialize;
use support::http::{Request, value_after};
use support::world::{World, config_at};
use system::Thin;

use crate::interaction::{Browser, location};

#[derive(Clone)]
struct MyUsers;

/// The query of `GET /sign-in`.
#[derive(Deserialize)]
struct Next {
    return_to: ReturnTo,
}

/// The form of `POST /sign-in`.
#[derive(Deserialize)]
struct SignIn {
    user: String,
    password: String,
    return_to: ReturnTo,
}

/// The sign-in page. A `ReturnTo` has no quotation marks or angle brackets, so only its `&` must be escaped.
fn sign_in_page(return_to: &ReturnTo, problem: &'static str) -> String {
    let return_to = return_to.as_str().replace('&', "&amp;");
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in</title>
<p role="alert">{problem}</p>
<form method="post" action="/sign-in">
<input type="hidden" name="return_to" value="{return_to}">
<label>User <input name="user" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
</form>
"#
    )
}

/// Returns whether a page of this service sent the form. A form of another site could sign the user in to an account of
/// the attacker.
fn is_own_form(sec_fetch_site: Option<&[u8]>) -> bool {
    sec_fetch_site.is_none_or(|site| site == b"same-origin")
}

/// In place of the reader's function: one user with one password. The id never changes, unlike the name.
async fn check_password(user: &str, password: &str) -> Option<String> {
    ((user, password) == ("alice", "correct horse")).then(|| "user-1".to_owned())
}

mod on_axum {
    use std::future::pending;
    use std::net::{SocketAddr, TcpListener};

    use axum::extract::{FromRequestParts as _, Query};
    use axum::http::request::Parts;
    use axum::http::{HeaderMap, HeaderValue, StatusCode};
    use axum::response::{IntoResponse, Redirect, Response};
    use axum::routing::get;
    use axum::{Form, Router};
    use grantor::interaction::{Pages, ReturnTo, SignedIn};
    use grantor::{AuthorizationServer, Subject};
    use grantor_axum::{Interaction, Users, accept, page};
    use tower_sessions::cookie::SameSite;
    use tower_sessions::{MemoryStore, Session, SessionManagerLayer};

    use super::{MyUsers, Next, SignIn, check_password, is_own_form, sign_in_page};

    impl Users for MyUsers {
        async fn signed_in(&self, request: &mut Parts) -> Result<Option<SignedIn>, Response> {
            let unavailable = |_| StatusCode::SERVICE_UNAVAILABLE.into_response();
            let session = Session::from_request_parts(request, &()).await.map_err(IntoResponse::into_response)?;
            let user: Option<String> = session.get("user").await.map_err(unavailable)?;
            Ok(user.and_then(|user| Subject::new(user).ok()).map(SignedIn::new))
        }

        fn sign_in(&self, return_to: &ReturnTo) -> Response {
            Redirect::to(&return_to.query("/sign-in")).into_response()
        }
    }

    /// `GET /sign-in`
    async fn show_sign_in(Query(next): Query<Next>) -> Response {
        page(sign_in_page(&next.return_to, ""))
    }

    /// `POST /sign-in`
    async fn sign_in(session: Session, headers: HeaderMap, Form(form): Form<SignIn>) -> Result<Response, StatusCode> {
        if !is_own_form(headers.get("Sec-Fetch-Site").map(HeaderValue::as_bytes)) {
            return Err(StatusCode::FORBIDDEN);
        }
        let Some(user) = check_password(&form.user, &form.password).await else {
            return Ok(page(sign_in_page(&form.return_to, "Wrong user name or password.")));
        };
        let unavailable = |_| StatusCode::SERVICE_UNAVAILABLE;
        session.cycle_id().await.map_err(unavailable)?;
        session.insert("user", user).await.map_err(unavailable)?;
        Ok(Redirect::to(form.return_to.as_str()).into_response())
    }

    fn app(server: &AuthorizationServer, pages: impl Pages) -> Router {
        Router::new()
            .route("/sign-in", get(show_sign_in).post(sign_in))
            .merge(Interaction::new(server, pages, MyUsers).routes())
            .layer(SessionManagerLayer::new(MemoryStore::default()).with_same_site(SameSite::Lax))
    }

    pub(super) fn serve(server: &AuthorizationServer, listener: TcpListener) -> SocketAddr {
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        tokio::spawn(accept::serve(listener, app(server, demo::pages()), pending()));
        address
    }
}

mod on_actix {
    use std::net::{SocketAddr, TcpListener};

    use actix_session::storage::CookieSessionStore;
    use actix_session::{Session, SessionExt as _, SessionMiddleware};
    use actix_web::cookie::Key;
    use actix_web::http::header::{HeaderValue, LOCATION};
    use actix_web::web::{self, Form, Query};
    use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer};
    use grantor::interaction::{ReturnTo, SignedIn};
    use grantor::{AuthorizationServer, Subject};
    use grantor_actix::{Interaction, Users, page};

    use super::{MyUsers, Next, SignIn, check_password, is_own_form, sign_in_page};

    impl Users for MyUsers {
        async fn signed_in(&self, request: &HttpRequest) -> Result<Option<SignedIn>, Error> {
            let user: Option<String> = request.get_session().get("user")?;
            Ok(user.and_then(|user| Subject::new(user).ok()).map(SignedIn::new))
        }

        fn sign_in(&self, return_to: &ReturnTo) -> HttpResponse {
            HttpResponse::SeeOther().insert_header((LOCATION, return_to.query("/sign-in"))).finish()
        }
    }

    /// `GET /sign-in`
    async fn show_sign_in(Query(next): Query<Next>) -> HttpResponse {
        page(sign_in_page(&next.return_to, ""))
    }

    /// `POST /sign-in`
    async fn sign_in(session: Session, request: HttpRequest, Form(form): Form<SignIn>) -> Result<HttpResponse, Error> {
        if !is_own_form(request.headers().get("Sec-Fetch-Site").map(HeaderValue::as_bytes)) {
            return Ok(HttpResponse::Forbidden().finish());
        }
        let Some(user) = check_password(&form.user, &form.password).await else {
            return Ok(page(sign_in_page(&form.return_to, "Wrong user name or password.")));
        };
        session.renew();
        session.insert("user", user)?;
        Ok(HttpResponse::SeeOther().insert_header((LOCATION, form.return_to.as_str())).finish())
    }

    pub(super) fn serve(server: &AuthorizationServer, listener: TcpListener) -> SocketAddr {
        let address = listener.local_addr().unwrap();
        let interaction = Interaction::new(server, demo::pages(), MyUsers);
        let key = Key::generate();
        let app = move || {
            App::new()
                .wrap(SessionMiddleware::new(CookieSessionStore::default(), key.clone()))
                .route("/sign-in", web::get().to(show_sign_in))
                .route("/sign-in", web::post().to(sign_in))
                .configure(interaction.configure())
        };
        tokio::spawn(HttpServer::new(app).workers(1).disable_signals().listen(listener).unwrap().run());
        address
    }
}

#[tokio::test]
async fn a_user_signs_in_with_the_sessions_of_the_guide() {
    for framework in Thin::BOTH {
        let world = World::built(config_at(Profile::Platform, "https://localhost"), |builder| builder).await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = match framework {
            Thin::Axum => on_axum::serve(&world.server, listener),
            Thin::Actix => on_actix::serve(&world.server, listener),
        };
        let mut browser = Browser::new(address);
        let target = format!("/oauth2/auth?{}", world.query(&[]));
        let first = browser.get(&target).await;
        assert_eq!(location(&first), ReturnTo::parse(target.as_str()).unwrap().query("/sign-in"), "{framework:?}");
        let sign_in = browser.get(location(&first)).await;
        assert_eq!((sign_in.status, sign_in.header("x-frame-options")), (200, Some("DENY")), "{framework:?}");
        assert!(sign_in.header("content-type").unwrap().starts_with("text/html"), "{framework:?}");
        let hidden = value_after(&sign_in.text(), "name=\"return_to\"").to_owned();
        assert!(hidden.contains("&amp;") && !hidden.replace("&amp;", "").contains('&'), "{hidden}");
        assert_eq!(hidden.replace("&amp;", "&"), target, "{framework:?}");
        let form = |password| [("user", "alice"), ("password", password), ("return_to", target.as_str())];
        let wrong = browser.send(Request::post("/sign-in", &form("guess"))).await;
        assert_eq!((wrong.status, wrong.header("set-cookie")), (200, None), "{framework:?}: {wrong:?}");
        assert!(wrong.text().contains("Wrong user name or password."), "{framework:?}");
        assert_eq!(value_after(&wrong.text(), "name=\"return_to\""), hidden, "{framework:?}");
        let sent = |site: &str| Request::post("/sign-in", &form("correct horse")).header("Sec-Fetch-Site", site);
        for site in ["cross-site", "same-site", "none"] {
            let refused = browser.send(sent(site)).await;
            assert_eq!((refused.status, refused.header("set-cookie")), (403, None), "{framework:?}: {site}");
        }
        let signed_in = browser.send(sent("same-origin")).await;
        assert_eq!((signed_in.status, location(&signed_in)), (303, target.as_str()), "{framework:?}");
        let cookie = signed_in.header("set-cookie").unwrap();
        assert!(["HttpOnly", "Secure", "SameSite=Lax"].iter().all(|own| cookie.contains(own)), "{cookie}");
        let page = browser.get(&target).await;
        assert!(page.text().contains("<bdi>user-1</bdi>"), "{framework:?}: {page:?}");
        assert!(location(&browser.answer(&page, "allow", "repo-code:rw").await).contains("code="), "{framework:?}");
        let forged = [("user", "alice"), ("password", "correct horse"), ("return_to", "//evil.example")];
        let refused = browser.send(Request::post("/sign-in", &forged)).await;
        assert!([400, 422].contains(&refused.status), "{framework:?}: {refused:?}");
        let refused = browser.get("/sign-in?return_to=%2F%2Fevil.example").await;
        assert_eq!(refused.status, 400, "{framework:?}: {refused:?}");
        // Of a browser that is too old for `Sec-Fetch-Site`.
        let old = Browser::new(address).send(Request::post("/sign-in", &form("correct horse"))).await;
        assert_eq!((old.status, location(&old)), (303, target.as_str()), "{framework:?}");
    }
}

#[test]
fn the_blocks_of_the_guide_are_lines_of_this_file() {
    let lines = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let own = lines(include_str!("sessions.rs"));
    let blocks: Vec<_> = include_str!("../../../../src/guide/sign_in.md").split("```").skip(1).step_by(2).collect();
    assert_eq!(blocks.len(), 5);
    for block in blocks {
        let block = lines(block.strip_prefix("rust\n").unwrap());
        assert!(own.contains(&block), "{block}");
    }
}
