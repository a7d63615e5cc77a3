//! The guide "Sign-in and sessions": the code that it shows, with both session libraries.

use grantor::config::Profile;
use grantor::interaction::ReturnTo;
use serde::Deserialize;
use support::http::Request;
use support::world::{World, config_at};
use system::Thin;

use crate::interaction::{Browser, location};

#[derive(Clone)]
struct MyUsers;

#[derive(Deserialize)]
struct SignIn {
    user: String,
    return_to: ReturnTo,
}

mod on_axum {
    use std::future::pending;
    use std::net::{SocketAddr, TcpListener};

    use axum::extract::FromRequestParts as _;
    use axum::http::StatusCode;
    use axum::http::request::Parts;
    use axum::response::{IntoResponse, Redirect, Response};
    use axum::routing::post;
    use axum::{Form, Router};
    use grantor::interaction::{Pages, ReturnTo, SignedIn};
    use grantor::{AuthorizationServer, Subject};
    use grantor_axum::{Interaction, Users, accept};
    use tower_sessions::cookie::SameSite;
    use tower_sessions::{MemoryStore, Session, SessionManagerLayer};

    use super::{MyUsers, SignIn};

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

    /// Where the form of the sign-in page is sent to. A real service checks a password first.
    async fn sign_in(session: Session, Form(form): Form<SignIn>) -> Result<Redirect, StatusCode> {
        let unavailable = |_| StatusCode::SERVICE_UNAVAILABLE;
        session.cycle_id().await.map_err(unavailable)?;
        session.insert("user", form.user).await.map_err(unavailable)?;
        Ok(Redirect::to(form.return_to.as_str()))
    }

    fn app(server: &AuthorizationServer, pages: impl Pages) -> Router {
        Router::new()
            .route("/sign-in", post(sign_in))
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
    use actix_web::http::header::LOCATION;
    use actix_web::web::{self, Form};
    use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer};
    use grantor::interaction::{ReturnTo, SignedIn};
    use grantor::{AuthorizationServer, Subject};
    use grantor_actix::{Interaction, Users};

    use super::{MyUsers, SignIn};

    impl Users for MyUsers {
        async fn signed_in(&self, request: &HttpRequest) -> Result<Option<SignedIn>, Error> {
            let user: Option<String> = request.get_session().get("user")?;
            Ok(user.and_then(|user| Subject::new(user).ok()).map(SignedIn::new))
        }

        fn sign_in(&self, return_to: &ReturnTo) -> HttpResponse {
            HttpResponse::SeeOther().insert_header((LOCATION, return_to.query("/sign-in"))).finish()
        }
    }

    /// Where the form of the sign-in page is sent to. A real service checks a password first.
    async fn sign_in(session: Session, Form(form): Form<SignIn>) -> Result<HttpResponse, Error> {
        session.renew();
        session.insert("user", form.user)?;
        Ok(HttpResponse::SeeOther().insert_header((LOCATION, form.return_to.as_str())).finish())
    }

    pub(super) fn serve(server: &AuthorizationServer, listener: TcpListener) -> SocketAddr {
        let address = listener.local_addr().unwrap();
        let interaction = Interaction::new(server, demo::pages(), MyUsers);
        let key = Key::generate();
        let app = move || {
            App::new()
                .wrap(SessionMiddleware::new(CookieSessionStore::default(), key.clone()))
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
        let form = [("user", "alice"), ("return_to", target.as_str())];
        let signed_in = browser.send(Request::post("/sign-in", &form)).await;
        assert_eq!((signed_in.status, location(&signed_in)), (303, target.as_str()), "{framework:?}");
        let cookie = signed_in.header("set-cookie").unwrap();
        assert!(["HttpOnly", "Secure", "SameSite=Lax"].iter().all(|own| cookie.contains(own)), "{cookie}");
        let page = browser.get(&target).await;
        assert!(page.text().contains("<bdi>alice</bdi>"), "{framework:?}: {page:?}");
        assert!(location(&browser.answer(&page, "allow", "repo-code:rw").await).contains("code="), "{framework:?}");
        let forged = [("user", "mallory"), ("return_to", "//evil.example")];
        let refused = browser.send(Request::post("/sign-in", &forged)).await;
        assert!([400, 422].contains(&refused.status), "{framework:?}: {refused:?}");
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
