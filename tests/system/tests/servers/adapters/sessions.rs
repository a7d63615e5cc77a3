//! The guide "Sign-in and sessions": the code that it shows, with both session libraries.

use grantor::config::Profile;
use grantor::interaction::ReturnTo;
use grantor_pages::SignInPage;
use serde::Deserialize;
use support::world::{World, config_at};
use support_servers::http::{Request, value_after};
use system::Thin;

use crate::adapters::interaction::{Browser, location};

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

/// The sign-in page, in the language of the browser.
fn sign_in_page<'a>(return_to: &'a ReturnTo, accept_language: Option<&'a [u8]>) -> SignInPage<'a> {
    let languages = str::from_utf8(accept_language.unwrap_or_default()).unwrap_or_default();
    SignInPage::new("/sign-in", return_to).languages(languages)
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

    use axum::extract::{FromRequestParts as _, Query, State};
    use axum::http::request::Parts;
    use axum::http::{HeaderMap, HeaderValue, StatusCode};
    use axum::response::{IntoResponse, Redirect, Response};
    use axum::routing::get;
    use axum::{Form, Router};
    use grantor::interaction::{ReturnTo, SignedIn};
    use grantor::{AuthorizationServer, Subject};
    use grantor_axum::{Interaction, Users, accept, page};
    use grantor_pages::Pages;
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
    async fn show_sign_in(State(pages): State<Pages>, headers: HeaderMap, Query(next): Query<Next>) -> Response {
        let languages = headers.get("Accept-Language").map(HeaderValue::as_bytes);
        page(pages.sign_in(&sign_in_page(&next.return_to, languages)))
    }

    /// `POST /sign-in`
    async fn sign_in(
        State(pages): State<Pages>,
        session: Session,
        headers: HeaderMap,
        Form(form): Form<SignIn>,
    ) -> Result<Response, StatusCode> {
        let header = |name| headers.get(name).map(HeaderValue::as_bytes);
        if !is_own_form(header("Sec-Fetch-Site")) {
            return Err(StatusCode::FORBIDDEN);
        }
        let Some(user) = check_password(&form.user, &form.password).await else {
            let shown = sign_in_page(&form.return_to, header("Accept-Language"));
            return Ok(page(pages.sign_in(&shown.failed(&form.user))));
        };
        let unavailable = |_| StatusCode::SERVICE_UNAVAILABLE;
        session.cycle_id().await.map_err(unavailable)?;
        session.insert("user", user).await.map_err(unavailable)?;
        Ok(Redirect::to(form.return_to.as_str()).into_response())
    }

    fn app(server: &AuthorizationServer, pages: Pages) -> Router {
        Router::new()
            .route("/sign-in", get(show_sign_in).post(sign_in))
            .merge(Interaction::new(server, pages.clone(), MyUsers).routes())
            .layer(SessionManagerLayer::new(MemoryStore::default()).with_same_site(SameSite::Lax))
            .with_state(pages)
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
    use actix_web::web::{self, Data, Form, Query};
    use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer};
    use grantor::interaction::{ReturnTo, SignedIn};
    use grantor::{AuthorizationServer, Subject};
    use grantor_actix::{Interaction, Users, page};
    use grantor_pages::Pages;

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
    async fn show_sign_in(pages: Data<Pages>, request: HttpRequest, Query(next): Query<Next>) -> HttpResponse {
        let languages = request.headers().get("Accept-Language").map(HeaderValue::as_bytes);
        page(pages.sign_in(&sign_in_page(&next.return_to, languages)))
    }

    /// `POST /sign-in`
    async fn sign_in(
        pages: Data<Pages>,
        session: Session,
        request: HttpRequest,
        Form(form): Form<SignIn>,
    ) -> Result<HttpResponse, Error> {
        let header = |name| request.headers().get(name).map(HeaderValue::as_bytes);
        if !is_own_form(header("Sec-Fetch-Site")) {
            return Ok(HttpResponse::Forbidden().finish());
        }
        let Some(user) = check_password(&form.user, &form.password).await else {
            let shown = sign_in_page(&form.return_to, header("Accept-Language"));
            return Ok(page(pages.sign_in(&shown.failed(&form.user))));
        };
        session.renew();
        session.insert("user", user)?;
        Ok(HttpResponse::SeeOther().insert_header((LOCATION, form.return_to.as_str())).finish())
    }

    pub(super) fn serve(server: &AuthorizationServer, listener: TcpListener) -> SocketAddr {
        let address = listener.local_addr().unwrap();
        let pages = Data::new(demo::pages());
        let interaction = Interaction::new(server, demo::pages(), MyUsers);
        let key = Key::generate();
        let app = move || {
            App::new()
                .app_data(pages.clone())
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
        let policy = sign_in.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("-src"), "{framework:?}: {policy}");
        let german = browser.send(Request::get(location(&first)).header("Accept-Language", "de")).await;
        for (page, button) in [(&sign_in, "<button>Sign in</button>"), (&german, "<button>Anmelden</button>")] {
            assert!(page.text().contains(button), "{framework:?}: {}", page.text());
        }
        let hidden = value_after(&sign_in.text(), "name=\"return_to\"").to_owned();
        assert!(hidden.contains("&#38;") && !hidden.replace("&#38;", "").contains('&'), "{hidden}");
        assert_eq!(hidden.replace("&#38;", "&"), target, "{framework:?}");
        let form = |password| [("user", "alice"), ("password", password), ("return_to", target.as_str())];
        let wrong = browser.send(Request::post("/sign-in", &form("guess"))).await;
        assert_eq!((wrong.status, wrong.header("set-cookie")), (200, None), "{framework:?}: {wrong:?}");
        assert!(wrong.text().contains("Wrong user name or password."), "{framework:?}");
        assert_eq!(value_after(&wrong.text(), "name=\"user\""), "alice", "{framework:?}");
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
    let with_diesel = lines(include_str!("../../../../../examples/with_diesel/src/main.rs"));
    let own = lines(include_str!("sessions.rs")) + &with_diesel;
    let blocks = include_str!("../../../../../src/guide/sign_in.md").split("```").skip(1).step_by(2);
    // A block without `rust` is a documentation test by itself.
    let blocks: Vec<_> = blocks.filter_map(|block| block.strip_prefix("rust\n")).collect();
    assert_eq!(blocks.len(), 6);
    for block in blocks {
        let block = lines(block);
        assert!(own.contains(&block), "{block}");
    }
}
