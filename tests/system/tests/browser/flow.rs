//! The pages of `grantor-pages`, mounted by `grantor-axum`.

use std::future::pending;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Form, Router};
use grantor::client::AskConsent;
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::{ApplicationForm, Approval, Config, Subject};
use grantor_axum::{Interaction, Users, page};
use grantor_pages::{Pages, SignInPage};
use serde::Deserialize;
use support::folder::repository;
use support::world::{self, Credentials, With as _, World};
use thirtyfour::prelude::*;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::browser::{Browser, SCREENS};

/// Every browser belongs to Alice.
struct Alice;

impl Users for Alice {
    async fn signed_in(&self, _: &mut Parts) -> Result<Option<SignedIn>, Response> {
        Ok(Some(SignedIn::new(Subject::new("alice").unwrap()).name("alice@example.com")))
    }

    fn sign_in(&self, _: &ReturnTo) -> Response {
        unreachable!("Alice is signed in")
    }

    fn switch_account(&self) -> Option<&str> {
        Some("/switch")
    }
}

/// The form of the sign-in page, which the flow does not need: Alice is signed in.
#[derive(Deserialize)]
struct SignIn {
    user: String,
    password: String,
    return_to: ReturnTo,
}

async fn show_sign_in(State(pages): State<Pages>) -> Response {
    page(pages.sign_in(&SignInPage::new("/sign-in", &ReturnTo::parse("/done?a=1&b=2").unwrap())))
}

async fn sign_in(State(pages): State<Pages>, Form(form): Form<SignIn>) -> Response {
    if form.password == "correct horse" {
        return Redirect::to(form.return_to.as_str()).into_response();
    }
    page(pages.sign_in(&SignInPage::new("/sign-in", &form.return_to).failed(&form.user)))
}

/// A service on the loopback, where the application waits for its answer too.
struct Service {
    world: World,
    base: String,
}

impl Service {
    async fn start() -> Self {
        Self::with(|base| Config::platform(base)).await
    }

    async fn with(config: impl FnOnce(&str) -> Config) -> Self {
        Self::answering_after(Duration::ZERO, config).await
    }

    /// The same, whose answer to a decision is on its way for so long.
    async fn answering_after(delay: Duration, config: impl FnOnce(&str) -> Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mut config = config(&base);
        config.development = true;
        let world = World::built(config, |builder| builder).await;
        let pages = Pages::new("Platform").accent("#0b6e4f").unwrap().logo("/logo.svg");
        let app = Router::new()
            .merge(Interaction::new(&world.server, pages.clone(), Alice).routes())
            .route("/sign-in", get(show_sign_in).post(sign_in))
            .route("/logo.svg", get(async || ([(CONTENT_TYPE, "image/svg+xml")], LOGO)))
            // For the page of the application, which names no icon.
            .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
            .route("/done", get(async || "The application has its answer."))
            .with_state(pages)
            .layer(from_fn(move |request: Request, next: Next| async move {
                let is_decision = request.method() == Method::POST;
                let response = next.run(request).await;
                if is_decision {
                    sleep(delay).await;
                }
                response
            }));
        tokio::spawn(grantor_axum::accept::serve(listener, app, pending()));
        Self { world, base }
    }

    /// The address of a request of a new application for these scopes.
    async fn question(&self, name: &str, scopes: &str) -> String {
        let asked = |form: &mut ApplicationForm| {
            form.name = name.into();
            form.redirect_uris = vec!["http://127.0.0.1/done".into()];
            form.scopes = scopes.into();
            form.resource_scope = Some(ResourceScope::All);
        };
        let client = self.world.register(world::form().with(asked)).await;
        let redirect_uri = format!("{}/done", self.base);
        format!("{}/oauth2/auth?{}", self.base, self.world.query_of(&client, &[("redirect_uri", &redirect_uri)]))
    }
}

/// A host that no browser finds. The address bar shows what it would have got.
pub(crate) const NOWHERE: &str = "https://app.invalid/done";

impl Browser {
    /// Goes to an address that leads [nowhere](NOWHERE), and returns the code that the browser has there.
    async fn code_at(&self, address: &str) -> String {
        let _ = self.driver.goto(address).await;
        self.code_nowhere().await
    }

    pub(crate) async fn code_nowhere(&self) -> String {
        for _ in 0..100 {
            let url = self.url().await;
            if let Some(query) = url.strip_prefix(NOWHERE) {
                return value_of(query, "code").unwrap_or_else(|| panic!("no code: {url}"));
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("the browser stayed at {}", self.url().await)
    }
}

fn value_of(query: &str, name: &str) -> Option<String> {
    query.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_page_is_skipped_or_shown_once() {
    let strict = |base: &str| {
        let mut config = Config::strict(base);
        config.scopes = ScopeCatalog::platform();
        config
    };
    let (service, browser) = (Service::with(strict).await, Browser::start("flow-silent").await);
    let client = async |ask_consent| {
        let form = world::form().with(|form| form.redirect_uris = vec![NOWHERE.into()]);
        service.world.register_as(form, Approval::default().ask_consent(ask_consent)).await
    };
    let question =
        |client: &Credentials| format!("{}/oauth2/auth?{}", service.base, service.world.query_of(client, &world::PKCE));
    let skipping = client(AskConsent::Never).await;
    let code = browser.code_at(&question(&skipping)).await;
    world::ok(&service.world.exchange_as(&skipping, &code).await);

    let once = client(AskConsent::Once).await;
    browser.open(&question(&once)).await;
    browser.assert_sees("Example App wants to access your Platform account").await;
    browser.driver.find(By::Id("approve")).await.unwrap().click().await.unwrap();
    let code = browser.code_nowhere().await;
    world::ok(&service.world.exchange_as(&once, &code).await);
    browser.open("about:blank").await;
    let code = browser.code_at(&question(&once)).await;
    world::ok(&service.world.exchange_as(&once, &code).await);
    browser.open(&format!("{}&prompt=consent", question(&once))).await;
    browser.assert_sees("Example App wants to access your Platform account").await;
}

/// The response to the first click is on its way when the second one comes, with and without Stop before it.
#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_second_click_reaches_the_application() {
    let service = Service::answering_after(Duration::from_millis(600), |base| {
        let mut config = Config::strict(base);
        config.scopes = ScopeCatalog::platform();
        config
    });
    let (service, browser) = (service.await, Browser::start("flow-second-click").await);
    for (delay, stops) in [(40, false), (120, false), (300, false), (120, true), (300, true)] {
        let client = service.world.register(world::form().with(|form| form.redirect_uris = vec![NOWHERE.into()])).await;
        let query = service.world.query_of(&client, &world::PKCE);
        browser.open(&format!("{}/oauth2/auth?{query}", service.base)).await;
        service.world.events.take();
        let stop = if stops { "window.stop();" } else { "" };
        let clicks = format!(
            "const allow = document.getElementById('approve'); allow.click();
            setTimeout(() => {{ {stop} allow.click(); }}, {delay});"
        );
        browser.driver.execute(clicks, vec![]).await.unwrap();
        let code = browser.code_nowhere().await;
        let pair = world::pair(&service.world.exchange_as(&client, &code).await);
        assert!(service.world.opens(&pair.access).await, "{delay} ms");
        let events = service.world.events.take();
        let issued = events.iter().filter(|event| event.starts_with("CodeIssued")).count();
        assert_eq!(issued, 1, "{delay} ms: {events:?}");
        // A client that got the code from the first response too loses nothing.
        world::e400(&service.world.exchange_as(&client, &code).await, "invalid_grant");
        assert!(service.world.opens(&pair.access).await, "{delay} ms");
        browser.open("about:blank").await;
    }
}

const LOGO: &str =
    r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#0b6e4f"/></svg>"##;
const FOUR: &str = "repo-code:rw repo-issue:r account-profile:r account-email:r";
const TWELVE: &str = "repo-code:rw repo-pr:rw repo-issue:rw repo-notes:rw repo-release:rw repo-commit-status:r \
                      repo-platform-trigger:rw repo-platform-history:r repo-manage:rw repo-security:r \
                      account-profile:r account-email:r";

/// Scrolls in steps until the first pixel of the button is in view, and counts what has not been wholly in view then.
const SCROLL: &str = "
    const rows = [...document.querySelectorAll('.row'), document.querySelector('#resources')];
    const button = document.querySelector('#approve');
    const start = scrollY, seen = new Set();
    for (let last = -1; ; scrollBy(0, 100)) {
        for (const row of rows) {
            const { top, bottom } = row.getBoundingClientRect();
            if (top >= 0 && bottom <= innerHeight) seen.add(row);
        }
        if (button.getBoundingClientRect().top < innerHeight || scrollY == last) break;
        last = scrollY;
    }
    return [start, rows.length, rows.length - seen.size];";

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn every_permission_was_in_view_before_allow_is() {
    let (service, browser) = (Service::start().await, Browser::start("flow-scroll").await);
    for (name, scopes, count) in [("Four", FOUR, 4), ("Twelve", TWELVE, 12)] {
        let question = service.question(name, scopes).await;
        browser.turn_to(SCREENS[1]).await;
        for fragment in ["", "#approve", "#:~:text=Allow"] {
            browser.open("about:blank").await;
            browser.open(&format!("{question}{fragment}")).await;
            let scrolled = browser.driver.execute(SCROLL, vec![]).await.unwrap();
            let [start, rows, unseen]: [usize; 3] = scrolled.convert().unwrap();
            assert_eq!((start, rows, unseen), (0, count + 1, 0), "{name} {fragment}");
        }
        browser.open(&question).await;
        browser.inspect(&format!("flow-{}", name.to_lowercase())).await;
    }
}

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn enter_in_a_box_decides_nothing_and_the_buttons_do() {
    let (service, browser) = (Service::start().await, Browser::start("flow-decision").await);
    let question = service.question("Shop Assistant", FOUR).await;
    browser.open(&question).await;
    let boxed = browser.driver.find(By::Css("input[type=checkbox]")).await.unwrap();
    boxed.send_keys(Key::Enter + "").await.unwrap();
    browser.assert_sees("Shop Assistant wants to access your Platform account").await;
    assert_eq!(browser.url().await, question);
    browser.press("Deny").await;
    assert!(browser.url().await.contains("/done?error=access_denied"), "{}", browser.url().await);

    browser.open(&question).await;
    for boxed in browser.driver.find_all(By::Css("input[name=scope]")).await.unwrap() {
        boxed.click().await.unwrap();
    }
    browser.press("Allow").await;
    browser.assert_sees("Nothing is chosen.").await;
    browser.inspect_error("flow-nothing-chosen", 422).await;
    browser.driver.find(By::Css("input[name=scope]")).await.unwrap().click().await.unwrap();
    browser.press("Allow").await;
    browser.assert_sees("The application has its answer.").await;
    assert!(browser.url().await.contains("/done?code="), "{}", browser.url().await);

    browser.open(&format!("{}/oauth2/auth/applications", service.base)).await;
    browser.assert_sees("Access not used yet").await;
    browser.inspect("flow-applications").await;
    browser.press("Revoke access of Shop Assistant").await;
    browser.assert_sees("The access was revoked.").await;
    browser.assert_sees("No application can use your account alice@example.com.").await;
    browser.open(&format!("{}/oauth2/auth?client_id=unknown", service.base)).await;
    browser.assert_sees("This link does not work").await;
    browser.inspect_error("flow-error", 400).await;
}

/// Adds a script to the page; returns whether the browser ran it.
const ADD_SCRIPT: &str = "
    const script = document.createElement('script');
    script.textContent = 'window.hasRun = true;';
    document.body.append(script);
    return window.hasRun === true;";

#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn a_user_signs_in_at_the_second_try() {
    let (service, browser) = (Service::start().await, Browser::start("flow-sign-in").await);
    // Without a policy, the script runs.
    browser.open(&format!("{}/done", service.base)).await;
    assert!(browser.driver.execute(ADD_SCRIPT, vec![]).await.unwrap().convert::<bool>().unwrap());

    browser.open(&format!("{}/sign-in", service.base)).await;
    assert_eq!(browser.heading().await, "Sign in to Platform");
    browser.inspect("flow-sign-in").await;
    browser.enter_credentials("<alice>", "guess").await;
    browser.assert_sees("Wrong user name or password.").await;
    assert_eq!(browser.field("User name").await.value().await.unwrap().as_deref(), Some("<alice>"));
    assert_eq!(browser.field("Password").await.value().await.unwrap().as_deref(), Some(""));
    browser.inspect("flow-sign-in-failed").await;
    assert!(!browser.driver.execute(ADD_SCRIPT, vec![]).await.unwrap().convert::<bool>().unwrap());
    browser.enter_credentials("alice", "correct horse").await;
    assert_eq!(browser.url().await, format!("{}/done?a=1&b=2", service.base));
}

/// This is the picture of the README. With `WRITE_PICTURES` set, it is taken anew.
#[tokio::test]
#[ignore = "needs chromium, chromedriver and axe-core"]
async fn the_page_of_an_own_client_warns_of_nothing() {
    let (service, browser) = (Service::start().await, Browser::start("flow-own-client").await);
    let client = Credentials { id: "shop-assistant".into(), secret: "thirty-two characters and no less".into() };
    let described = service.world.server.own_client(&client.id).name("Shop Assistant").secret(&client.secret);
    described.scopes(FOUR).redirect_uri("https://shop.example/callback").ensure().await.unwrap();
    let query = service.world.query_of(&client, &[("redirect_uri", "https://shop.example/callback"), ("scope", FOUR)]);
    browser.turn_to(SCREENS[1]).await;
    browser.open(&format!("{}/oauth2/auth?{query}", service.base)).await;
    browser.assert_sees("This will allow Shop Assistant to:").await;
    browser.assert_sees("shop.example").await;
    browser.assert_sees_not("cannot be verified").await;
    if std::env::var_os("WRITE_PICTURES").is_some() {
        let picture = browser.picture(SCREENS[1].1).await;
        assert!(picture.len() < 60_000, "{}", picture.len());
        std::fs::write(repository().join("examples/pages/consent.png"), picture).unwrap();
    }
}
