//! The pages that both adapters mount in one call.

use std::future::pending;
use std::net::{SocketAddr, TcpListener};

use actix_web::http::header as actix_header;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Redirect, Response};
use grantor::client::AskConsent;
use grantor::config::{Profile, PushedRequests};
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::{ApplicationForm, Approval, AuthorizationServer, Config, Subject};
use grantor_pages::Pages;
use support::world::{self, With as _, World};
use support_servers::http::{Answer, Request, value_after};
use system::Thin;

/// Who is signed in, by a cookie: a session in small.
#[derive(Clone)]
pub(crate) struct People;

fn user(cookies: &str) -> Option<SignedIn> {
    let name = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("user="))?;
    Some(SignedIn::new(Subject::new(name).unwrap()))
}

impl grantor_axum::Users for People {
    async fn signed_in(&self, request: &mut Parts) -> Result<Option<SignedIn>, Response> {
        Ok(request.headers.get(COOKIE).and_then(|cookies| user(cookies.to_str().unwrap())))
    }

    fn sign_in(&self, return_to: &ReturnTo) -> Response {
        Redirect::to(&return_to.query("/sign-in")).into_response()
    }
}

impl grantor_actix::Users for People {
    async fn signed_in(&self, request: &HttpRequest) -> Result<Option<SignedIn>, actix_web::Error> {
        let cookies = request.headers().get(actix_header::COOKIE);
        Ok(cookies.and_then(|cookies| user(cookies.to_str().unwrap())))
    }

    fn sign_in(&self, return_to: &ReturnTo) -> HttpResponse {
        HttpResponse::SeeOther().insert_header((actix_header::LOCATION, return_to.query("/sign-in"))).finish()
    }

    fn switch_account(&self) -> Option<&str> {
        Some("/switch")
    }
}

/// Serves all of the servers in one application, with a sign-out for the first at `/sign-out`.
fn serve(framework: Thin, servers: Vec<AuthorizationServer>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    match framework {
        Thin::Axum => {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let all: Vec<_> = servers
                .iter()
                .map(|server| grantor_axum::Interaction::new(server, Pages::new("Notes"), People).hosts(["localhost"]))
                .collect();
            let cookie = all[0].forget_browser();
            let sign_out = axum::routing::get(move || async move { [(SET_COOKIE, cookie)] });
            let app = all.into_iter().fold(axum::Router::new(), |app, own| app.merge(own.routes()));
            let app = app.route("/sign-out", sign_out);
            tokio::spawn(grantor_axum::accept::serve(listener, app, pending()));
        }
        Thin::Actix => {
            let all: Vec<_> = servers
                .iter()
                .map(|server| grantor_actix::Interaction::new(server, Pages::new("Notes"), People).hosts(["localhost"]))
                .collect();
            let app = move || {
                let cookie = all[0].forget_browser();
                let sign_out = move || {
                    let cookie = cookie.clone();
                    async move { HttpResponse::Ok().insert_header((actix_header::SET_COOKIE, cookie)).finish() }
                };
                let app = all.iter().fold(App::new(), |app, own| app.configure(own.configure()));
                app.route("/sign-out", web::get().to(sign_out))
            };
            tokio::spawn(HttpServer::new(app).workers(1).disable_signals().listen(listener).unwrap().run());
        }
    }
    address
}

/// A browser that keeps its cookies.
pub(crate) struct Browser {
    address: SocketAddr,
    cookies: Vec<String>,
}

impl Browser {
    pub(crate) const fn new(address: SocketAddr) -> Self {
        Self { address, cookies: Vec::new() }
    }

    fn sign_in(&mut self, name: &str) {
        self.sign_out();
        self.cookies.push(format!("user={name}"));
    }

    fn sign_out(&mut self) {
        self.cookies.retain(|cookie| !cookie.starts_with("user="));
    }

    pub(crate) async fn send(&mut self, request: Request) -> Answer {
        let answer = request.cookies(&self.cookies.join("; ")).send_to(self.address).await;
        for (_, cookie) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let cookie = cookie.split(';').next().unwrap();
            let is_same = |own: &String| own.split('=').next() == cookie.split('=').next();
            self.cookies.retain(|own| !is_same(own));
            self.cookies.push(cookie.to_owned());
        }
        answer
    }

    pub(crate) async fn get(&mut self, target: &str) -> Answer {
        self.send(Request::get(target)).await
    }

    pub(crate) async fn answer(&mut self, page: &Answer, decision: &str, scope: &str) -> Answer {
        let text = page.text();
        let return_to = value_after(&text, "name=\"return_to\"").replace("&#38;", "&").replace("&amp;", "&");
        let form = [
            ("handle", value_after(&text, "name=\"handle\"")),
            ("return_to", &return_to),
            ("decision", decision),
            ("scope", scope),
        ];
        self.send(Request::post("/oauth2/auth/consent", &form)).await
    }
}

pub(crate) fn location(answer: &Answer) -> &str {
    answer.header("location").unwrap_or_else(|| panic!("{answer:?}"))
}

#[tokio::test]
async fn the_pages_of_a_service_are_mounted_in_one_call() {
    for framework in Thin::BOTH {
        let world = World::platform().await;
        let mut browser = Browser::new(serve(framework, vec![world.server.clone()]));
        let target = format!("/oauth2/auth?{}", world.query(&[]));
        let first = browser.get(&target).await;
        assert_eq!(first.status, 303, "{first:?}");
        assert_eq!(location(&first), ReturnTo::parse(target.as_str()).unwrap().query("/sign-in"));
        let cookie = first.header("set-cookie").unwrap();
        assert!(cookie.starts_with("__Host-grantor-") && cookie.ends_with("; Secure"), "{cookie}");
        browser.sign_in("alice");
        let page = browser.send(Request::get(&target).header("Accept-Language", "de")).await;
        assert_eq!((page.status, page.header("set-cookie")), (200, None), "{framework:?}: {page:?}");
        assert!(page.text().contains("<html lang=\"de\">") && page.text().contains("<bdi>alice</bdi>"));
        assert_eq!(page.header("document-policy"), Some("force-load-at-top"));
        let logo = page.text().split("src=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
        let logo = Browser::new(browser.address).get(&logo).await;
        assert_eq!((logo.status, logo.header("content-type")), (200, Some("image/png")));
        assert_eq!(logo.header("set-cookie"), None, "caches keep the logo");
        let redirect = browser.answer(&page, "allow", "repo-code:rw").await;
        let code = location(&redirect).split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).unwrap();
        let form = [("grant_type", "authorization_code"), ("code", code)];
        let exchange = Request::post("/oauth2/token", &form).basic(&world.client.id, &world.client.secret);
        assert_eq!(browser.send(exchange).await.status, 200);
        let list = browser.get("/oauth2/auth/applications").await;
        let token = value_after(&list.text(), "name=\"token\"").to_owned();
        let form = [("client_id", world.client.id.as_str()), ("token", &token)];
        let revoked = browser.send(Request::post("/oauth2/auth/applications", &form)).await;
        assert_eq!(revoked.status, 303, "{revoked:?}");
        assert!(!browser.get(location(&revoked)).await.text().contains("<section"));
        // A form of another site comes without cookies. The answer must not replace those of the browser.
        for path in [&target, "/oauth2/auth/consent", "/oauth2/auth/applications"] {
            let forged = Browser::new(browser.address).send(Request::post(path, &form)).await;
            assert_eq!(forged.header("set-cookie"), None, "{framework:?}: {path}: {forged:?}");
        }
        for target in [&target, "/oauth2/auth/applications", "/.well-known/oauth-authorization-server"] {
            let foreign = browser.send(Request::get(target).host("evil.example")).await;
            assert_eq!((foreign.status, foreign.header("set-cookie")), (421, None), "{framework:?}: {target}");
        }
    }
}

/// The core decides without a page only where it sees that a user navigates.
#[tokio::test]
async fn what_a_browser_says_about_a_navigation_reaches_the_core() {
    for framework in Thin::BOTH {
        let world = World::strict().await;
        let client = world.register_as(world::form(), Approval::default().ask_consent(AskConsent::Never)).await;
        let mut browser = Browser::new(serve(framework, vec![world.server.clone()]));
        browser.sign_in("alice");
        let target = format!("/oauth2/auth?{}", world.query_of(&client, &world::PKCE));
        for (destination, status) in [("document", 303), ("iframe", 200), ("empty", 200)] {
            let visit = Request::get(&target).header("Sec-Fetch-Mode", "navigate");
            let answer = browser.send(visit.header("Sec-Fetch-Dest", destination)).await;
            assert_eq!(answer.status, status, "{framework:?}: {destination}: {answer:?}");
            assert_eq!(answer.header("location").is_some_and(|uri| uri.contains("code=")), status == 303);
        }
        let prefetch = browser.send(Request::get(&target).header("Sec-Purpose", "prefetch")).await;
        assert_eq!(prefetch.status, 200, "{framework:?}");
    }
}

#[tokio::test]
async fn two_servers_in_one_program_answer_each_for_itself() {
    for framework in Thin::BOTH {
        let mut servers = Vec::new();
        for name in ["one", "two"] {
            let config = world::config_at(Profile::Platform, &format!("https://auth.example/{name}"));
            servers.push((name, World::built(config, |builder| builder).await));
        }
        let address = serve(framework, servers.iter().map(|(_, world)| world.server.clone()).collect());
        let mut cookies = Vec::new();
        for (name, world) in &servers {
            let named = |form: &mut ApplicationForm| form.name = format!("Application of {name}");
            let client = world.register(world::form().with(named)).await;
            let mut browser = Browser::new(address);
            browser.sign_in("alice");
            let metadata = browser.get(&format!("/.well-known/oauth-authorization-server/{name}")).await;
            assert_eq!(metadata.json()["issuer"], world.server.issuer(), "{framework:?}");
            let page = browser.get(&format!("/{name}/oauth2/auth?{}", world.query_of(&client, &[]))).await.text();
            assert!(page.contains(&format!("Application of {name}")), "{framework:?}: {page}");
            assert!(page.contains(&format!("action=\"/{name}/oauth2/auth/consent\"")), "{framework:?}: {page}");
            cookies.push(browser.cookies[1].split('=').next().unwrap().to_owned());
        }
        assert_ne!(cookies[0], cookies[1], "each has a cookie of its own");
    }
}

#[tokio::test]
async fn a_sign_out_during_consent_comes_back_to_the_question() {
    for framework in Thin::BOTH {
        let world = World::platform().await;
        let mut browser = Browser::new(serve(framework, vec![world.server.clone()]));
        browser.sign_in("alice");
        let target = format!("/oauth2/auth?{}", world.query(&[("state", "a b\"<")]));
        let page = browser.get(&target).await;
        browser.sign_out();
        let out = browser.answer(&page, "allow", "repo-code:rw").await;
        assert_eq!(location(&out), ReturnTo::parse(target.as_str()).unwrap().query("/sign-in"), "{framework:?}");
        browser.sign_in("alice");
        let again = browser.get(&target).await;
        assert!(location(&browser.answer(&again, "allow", "repo-code:rw").await).contains("code="));
    }
}

/// A browser that came with a pushed request and was sent to the sign-in, and the address that it comes back to.
async fn sent_to_sign_in(framework: Thin) -> (World, Browser, String) {
    let pushed = |config: &mut Config| config.pushed_requests.mode = PushedRequests::Optional;
    let world = World::with(Profile::Platform, pushed).await;
    let mut browser = Browser::new(serve(framework, vec![world.server.clone()]));
    let target = format!("/oauth2/auth?{}", world.reference(&world.push().await));
    assert_eq!(browser.get(&target).await.status, 303);
    (world, browser, target)
}

/// The next user of the browser does not find what it had begun.
#[tokio::test]
async fn a_sign_out_can_forget_the_browser() {
    for framework in Thin::BOTH {
        let (world, mut browser, target) = sent_to_sign_in(framework).await;
        browser.sign_in("alice");
        assert_eq!(browser.get("/sign-out").await.status, 200);
        browser.sign_out();
        world.advance(303);
        browser.sign_in("bob");
        assert_eq!(browser.get(&target).await.status, 400, "{framework:?}");
    }
}

#[tokio::test]
async fn a_pushed_request_outlasts_a_slow_sign_in() {
    for framework in Thin::BOTH {
        let (world, mut browser, target) = sent_to_sign_in(framework).await;
        world.advance(303);
        browser.sign_in("alice");
        assert_eq!(browser.get(&target).await.status, 200, "{framework:?}");
        let mut other = Browser::new(browser.address);
        other.sign_in("alice");
        assert_eq!(other.get(&target).await.status, 400, "{framework:?}");
    }
}
