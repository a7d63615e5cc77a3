use std::sync::Arc;
use std::time::Duration;

use grantor::application::{Logo, RegistrationLimits};
use grantor::client::ClientType;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::DynamicRegistration;
use grantor::fetch::{FetchError, FetchRequest, FetchResponse, Fetcher};
use grantor::hooks::{ApproveWithin, SubjectStatus, Subjects};
use grantor::interaction::{Browser, Flow, ReturnTo, Route, SignedIn, Step, Visitor};
use grantor::scope::{Permissions, ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{
    ApplicationForm, Approval, AuthorizationServer, Client, ClientId, Config, MemoryStore, Subject, Timestamp,
};

use super::*;

const CHALLENGE: &str = "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const NAME: &str = "Shop <Assistant> & \"Co\"";

#[derive(Debug)]
struct Names;

#[async_trait::async_trait]
impl Subjects for Names {
    async fn status(&self, _: &Subject, _: &Client) -> SubjectStatus {
        SubjectStatus::Active
    }

    async fn public_name(&self, _: &Subject) -> Option<String> {
        Some("Example <Ltd>".to_owned())
    }
}

/// The client whose id is the URL of its document.
const DOCUMENT: &str = "https://host.example/users/mallory/client.json";

#[derive(Debug)]
struct OneDocument;

#[async_trait::async_trait]
impl Fetcher for OneDocument {
    async fn fetch(&self, _: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        let document = format!(
            r#"{{"client_id":"{DOCUMENT}","client_name":"Notes","redirect_uris":["http://127.0.0.1/callback"]}}"#
        );
        let mut response = FetchResponse::new(200, document);
        response.content_type = Some("application/json".to_owned());
        Ok(response)
    }
}

/// A service with pages, and a browser in which Alice is signed in.
struct Service {
    flow: Flow,
    clock: Arc<ManualClock>,
    browser: Browser,
    alice: SignedIn,
    languages: &'static str,
}

impl Service {
    fn new() -> Self {
        Self::with(Pages::new("Notes <Co>"))
    }

    fn with(pages: Pages) -> Self {
        let mut config = Config::platform("https://auth.example");
        config.public_clients = true;
        config.registration.dynamic = DynamicRegistration::Open;
        config.registration.metadata_documents = true;
        let both = Permissions::ReadOnlyOrReadWrite;
        let verbs = [
            ScopeDefinition::new("notes", both).with_verbs("Read your notes", "Read, write and delete your notes"),
            ScopeDefinition::new("folders", both).with_verbs("See your folders", "See, create and rename your folders"),
            ScopeDefinition::plain("profile").with_verbs("See your name and your picture", ""),
            ScopeDefinition::new("sharing", both).with_title("Sharing of <notes>"),
        ];
        config.scopes = ScopeCatalog::builder().scopes(verbs).build().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(1_700_000_000)));
        let all = config.scopes.all();
        let server = AuthorizationServer::builder(config, MemoryStore::new())
            .clock(ManualClock::clone(&clock))
            .subjects(Names)
            .fetcher(OneDocument)
            .registration_policy(ApproveWithin::new(RegistrationBounds::new(all, ResourceScope::All)));
        let flow = Flow::new(&server.build().unwrap(), pages);
        let (browser, alice) = (flow.browser([]), SignedIn::new(Subject::new("1").unwrap()).name("alice@<example>"));
        Self { flow, clock, browser, alice, languages: "" }
    }

    async fn register(&self, change: impl FnOnce(&mut ApplicationForm), logo: Option<Logo>) -> ClientId {
        let mut form = ApplicationForm::new(NAME, "https://shop.example/");
        form.redirect_uris = vec!["https://shop.example/callback".into()];
        form.scopes = "notes:rw folders:rw profile sharing:rw".into();
        form.resource_scope = Some(ResourceScope::All);
        change(&mut form);
        let registrar = self.flow.server().registrar().unwrap();
        let logo = logo.or_else(|| Some(Logo::new(PNG, &RegistrationLimits::default()).unwrap()));
        let id = registrar.submit(Subject::new("developer").unwrap(), form, logo).await.unwrap();
        let version = registrar.application(&id).await.unwrap().version();
        registrar.approve(&id, version, Approval::default()).await.unwrap();
        id
    }

    async fn register_itself(&self, metadata: &str) -> String {
        let request = Request::new("POST").header("Content-Type", b"application/json");
        let request = request.body(Body::Bytes(metadata.as_bytes()));
        let response = self.flow.server().serve(Endpoint::Registration, &request).await;
        let text = str::from_utf8(response.body()).unwrap();
        let (_, rest) = text.split_once("\"client_id\":\"").unwrap_or_else(|| panic!("{text}"));
        rest.split('"').next().unwrap().to_owned()
    }

    async fn serve(&self, route: Route, request: Request<'_>) -> Response {
        let visitor = Visitor::new(&self.browser).user(&self.alice).languages(self.languages).switch_account("/switch");
        match self.flow.serve(route, &request, &visitor).await {
            Step::Respond(response) => response,
            Step::SignIn(return_to) => panic!("{return_to}"),
        }
    }

    async fn page(&self, route: Route, query: &str) -> String {
        let response = self.serve(route, Request::new("GET").query(query.as_bytes())).await;
        String::from_utf8(response.into_body()).unwrap()
    }

    async fn consent(&self, client: &str, more: &str) -> String {
        self.page(Route::Authorization, &format!("response_type=code&client_id={client}&{CHALLENGE}{more}")).await
    }

    async fn decide(&self, page: &str, more: &str) -> Response {
        let form = format!("handle={}&return_to={}&{more}", value(page, "handle"), encoded(&value(page, "return_to")));
        self.serve(Route::Consent, Request::new("POST").body(Body::Bytes(form.as_bytes()))).await
    }

    async fn answer(&self, page: &str, more: &str) -> String {
        String::from_utf8(self.decide(page, more).await.into_body()).unwrap()
    }

    /// The user allows the scopes, and the public client gets its tokens.
    async fn connect(&self, client: &str, scopes: &[&str]) {
        let page = self.consent(client, &format!("&scope={}", scopes.join(" "))).await;
        let redirect = self.decide(&page, &format!("decision=allow&scope={}", scopes.join("&scope="))).await;
        let location = redirect.header("Location").unwrap();
        let code = location.split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).unwrap();
        let form = format!("grant_type=authorization_code&client_id={client}&code={code}&code_verifier={VERIFIER}");
        let request = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded");
        let tokens = self.flow.server().serve(Endpoint::Token, &request.body(Body::Bytes(form.as_bytes()))).await;
        assert_eq!(tokens.status(), 200, "{}", String::from_utf8_lossy(tokens.body()));
    }
}

/// The value of a hidden field.
fn value(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&")
}

fn encoded(text: &str) -> String {
    text.replace('%', "%25").replace('&', "%26")
}

/// The text between two marks.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("{start}: {page}"));
    rest.split_once(end).unwrap().0
}

/// What no page may have: scripts, styles on elements, anything from elsewhere.
fn check(page: &str) {
    let body = page.split_once("</style>").unwrap().1;
    for unwanted in ["<script", "javascript:", "onclick", "style=", "<iframe", "<link", "autofocus", "http-equiv"] {
        assert!(!body.contains(unwanted), "{unwanted}: {body}");
    }
    assert!(!page.contains("<Co>") && !page.contains("<example>") && !page.contains("<Assistant>"), "{page}");
    assert!(page.starts_with("<!doctype html>") && page.contains("name=\"viewport\""));
    assert_eq!(page.matches("<h1").count(), 1);
    assert_eq!(page.matches("<style>").count(), 1);
}

/// One transparent pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

#[tokio::test]
async fn a_reviewed_client_is_shown_with_name_publisher_and_logo() {
    let service = Service::new();
    let id = service.register(|form| form.description = Some("Buys <things>".into()), None).await;
    let page = service.consent(id.as_str(), "&scope=notes folders:rw profile sharing:rw").await;
    check(&page);
    assert!(between(&page, "<title>", "</title>").contains("wants to access your Notes"), "{page}");
    assert_eq!(page.matches("<img").count(), 1);
    assert!(page.contains("src=\"/oauth2/auth/logo?v="), "{page}");
    for text in ["Example &#60;Ltd&#62;", "Buys &#60;things&#62;", "alice@&#60;example&#62;", "shop.example"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(page.contains("href=\"/switch?return_to=%2Foauth2%2Fauth%3F"), "{page}");
    for verbs in ["Read your notes", "See, create and rename your folders", "See your name and your picture"] {
        assert!(page.contains(&format!("<span>{verbs}</span>")), "{verbs}");
    }
    assert!(page.contains("<span>Sharing of &#60;notes&#62;: read and change</span>"), "{page}");
    assert!(!page.contains("unreviewed") && !page.contains("id=\"warning\""), "{page}");
}

#[tokio::test]
async fn deny_and_allow_come_last_and_enter_presses_neither() {
    let service = Service::new();
    let id = service.register(|_| {}, None).await;
    let page = service.consent(id.as_str(), "").await;
    let (before, answers) = page.split_once("<div class=\"answers\">").unwrap();
    let buttons: Vec<_> =
        answers.match_indices("value=\"").map(|(at, _)| answers[at + 7..].split('"').next().unwrap()).collect();
    assert_eq!(buttons, ["deny", "allow"]);
    assert!(before.contains("id=\"goes-to\"") && !answers.contains("<p") && !answers.contains("<li"));
    // The first button of the form is the one that Enter presses.
    assert_eq!(before.matches("<button").count(), 1);
    let form = between(&page, "<form method=\"post\" action=\"/oauth2/auth/consent\"", "<input");
    assert!(form.contains("<button formmethod=\"dialog\" hidden></button>"), "{form}");
    let style = between(&page, "<style>", "</style>");
    assert!(style.contains("button:target, main :target { scroll-margin-block-start: 9999rem; }"));
    for moved in ["position: sticky", "position: fixed", " order:", "flex-direction: row-reverse", "column-reverse"] {
        assert!(!style.contains(moved), "{moved}");
    }
}

#[tokio::test]
async fn the_policy_has_the_digest_of_the_style_sheet() {
    for pages in [Pages::new("Notes"), Pages::new("Notes").accent("#ff0080").unwrap().logo("/logo.svg")] {
        let service = Service::with(pages);
        let response = service.serve(Route::Applications, Request::new("GET")).await;
        let page = str::from_utf8(response.body()).unwrap();
        let digest = STANDARD.encode(Sha256::digest(between(page, "<style>", "</style>")));
        let policy = response.header("Content-Security-Policy").unwrap();
        let own = format!("; default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'");
        assert!(policy.ends_with(&own), "{policy}");
    }
    assert!(Pages::new("Notes").accent("red").is_err());
}

#[tokio::test]
async fn an_unreviewed_client_shows_its_host_and_its_whole_claims_and_no_logo() {
    let service = Service::new();
    let metadata = r#"{"redirect_uris":["https://evil.example/cb"],"client_name":"Notes <b>Official</b>",
        "logo_uri":"https://evil.example/logo.png","token_endpoint_auth_method":"none"}"#;
    let id = service.register_itself(metadata).await;
    let page = service.consent(&id, "").await;
    check(&page);
    assert!(!page.contains("<img") && page.contains("class=\"mark unknown\"") && !page.contains("id=\"publisher\""));
    let (heading, _) = page.split_once("id=\"unreviewed\"").unwrap();
    assert!(!heading.contains("Official"), "its name is not in the heading: {heading}");
    assert!(page.contains("It calls itself <strong><bdi>Notes &#60;b&#62;Official"), "{page}");
    assert!(page.contains("first seen here on <strong><bdi>2023\u{2011}11\u{2011}14</bdi>"), "{page}");
    assert!(page.contains("go to <strong><bdi>evil.example</bdi></strong>"), "{page}");
    let denied = service.answer(&page, "decision=deny").await;
    check(&denied);
    assert!(
        denied.contains("Access was not granted") && denied.contains("rel=\"noreferrer\">Continue to evil.example<")
    );
}

/// Several owners may share a host by path, so the whole id is shown.
#[tokio::test]
async fn a_client_with_a_document_shows_its_host_and_its_whole_id() {
    let service = Service::new();
    let page = service.consent(&DOCUMENT.replace(':', "%3A").replace('/', "%2F"), "").await;
    check(&page);
    let facts = between(&page, "id=\"unreviewed\"", "</div>");
    assert!(facts.contains("a document at <strong><bdi>host.example</bdi></strong>"), "{facts}");
    assert!(facts.contains(&format!("<code id=\"client-id\">{DOCUMENT}</code>")), "{facts}");
    assert!(between(&page, "id=\"warning\">", "</p>").contains("any program can claim"), "{page}");
}

#[tokio::test]
async fn a_program_on_the_users_device_is_warned_about() {
    let service = Service::new();
    let loopback = |form: &mut ApplicationForm| form.redirect_uris = vec!["http://127.0.0.1/callback".into()];
    let page = service.consent(service.register(loopback, None).await.as_str(), "").await;
    assert!(page.contains("id=\"warning\"") && page.contains("on this device, at <strong><bdi>127.0.0.1<"), "{page}");
    let public = |form: &mut ApplicationForm| form.client_type = ClientType::Public;
    let page = service.consent(service.register(public, None).await.as_str(), "").await;
    assert!(between(&page, "id=\"warning\">", "</p>").contains("cannot prove who it is"), "{page}");
}

#[tokio::test]
async fn an_answer_without_a_choice_is_explained_and_keeps_the_boxes() {
    let service = Service::new();
    let resources = ResourceScope::specified(["alice/<b>", "alice/c"]).unwrap();
    let id = service.register(|form| form.resource_scope = Some(resources), None).await;
    let page = service.consent(id.as_str(), "&scope=notes profile").await;
    assert!(page.contains("name=\"resource\" value=\"alice/&#60;b&#62;\" checked"), "{page}");
    let again = service.answer(&page, "decision=allow&scope=notes:r&lists=resources").await;
    check(&again);
    assert!(between(&again, "role=\"alert\">", "</p>").contains("No resource is chosen"), "{again}");
    assert!(again.contains("value=\"notes:r\" checked") && again.contains("value=\"profile\"><span>"), "{again}");
    assert!(!again.contains("value=\"alice/c\" checked"), "{again}");
    let again = service.answer(&again, "decision=allow").await;
    assert!(again.contains("Choose at least one thing"), "{again}");
}

/// A single box would only be a way to a useless answer.
#[tokio::test]
async fn a_single_scope_has_no_box() {
    let service = Service::new();
    let id = service.register(|_| {}, None).await;
    let page = service.consent(id.as_str(), "&scope=profile").await;
    assert!(!page.contains("type=\"checkbox\"") && page.contains("type=\"hidden\" name=\"scope\" value=\"profile\""));
    // Resources have no meaning for a scope without a permission.
    assert!(!page.contains("id=\"resources\""), "{page}");
}

#[tokio::test]
async fn pages_are_in_the_language_of_the_browser() {
    let mut service = Service::new();
    let id = service.register(|_| {}, None).await;
    let english = service.consent(id.as_str(), "").await;
    service.languages = "de-AT, en;q=0.5";
    let german = service.consent(id.as_str(), "").await;
    check(&german);
    assert!(english.contains("<html lang=\"en\">") && german.contains("<html lang=\"de\">"));
    for (text, other) in [("Allow", "Erlauben"), ("Deny", "Ablehnen"), ("Signed in as", "Angemeldet als")] {
        assert!(english.contains(text) && !german.contains(text), "{text}");
        assert!(german.contains(other) && !english.contains(other), "{other}");
    }
    assert!(service.page(Route::Applications, "").await.contains("Keine Anwendung"));
    assert!(service.page(Route::Authorization, "client_id=unknown").await.contains("Diese Anwendung ist unbekannt"));
}

#[tokio::test]
async fn the_list_of_applications_links_to_the_start_page() {
    for (pages, expected) in [(Pages::new("Notes"), 0), (Pages::new("Notes").home("/?a=1&b=2"), 1)] {
        let page = Service::with(pages).page(Route::Applications, "").await;
        assert_eq!(page.matches("<p class=\"home\"><a href=\"/?a=1&#38;b=2\">").count(), expected, "{page}");
    }
}

#[tokio::test]
async fn an_application_is_one_row_whatever_the_number_of_grants() {
    let service = Service::new();
    let id = service.register(|form| form.client_type = ClientType::Public, None).await;
    service.connect(id.as_str(), &["notes:r"]).await;
    service.clock.advance(Duration::from_secs(30));
    let page = service.consent(id.as_str(), "&scope=profile sharing:r").await;
    service.decide(&page, "decision=allow&scope=profile&scope=sharing:r").await;
    assert!(service.page(Route::Applications, "").await.contains("Access last renewed just now"));
    service.clock.advance(Duration::from_secs(500));
    let list = service.page(Route::Applications, "").await;
    check(&list);
    assert_eq!((list.matches("<section").count(), list.matches("<form").count()), (1, 1));
    for text in [
        "Read your notes",
        "See your name and your picture",
        "Sharing of &#60;notes&#62;: read",
        "renewed 8 minutes ago",
    ] {
        assert!(list.contains(text), "{text}: {list}");
    }
    let form = format!("client_id={id}&token={}", value(&list, "token"));
    let done = service.serve(Route::Applications, Request::new("POST").body(Body::Bytes(form.as_bytes()))).await;
    assert_eq!(done.status(), 303);
    let (_, query) = done.header("Location").unwrap().split_once('?').unwrap();
    let list = service.page(Route::Applications, query).await;
    assert!(list.contains("role=\"status\"") && !list.contains("<section"), "{list}");
}

const REQUEST: &str = "/oauth2/auth?client_id=1&scope=notes:r&state=%3Cb%3E";

fn request() -> ReturnTo {
    ReturnTo::parse(REQUEST).unwrap()
}

#[test]
fn the_sign_in_page_asks_for_name_and_password_and_returns_to_the_request() {
    let page = Pages::new("Notes").sign_in(&SignInPage::new("/sign-in", &request()));
    check(&page);
    assert!(page.contains("<title>Sign in to Notes</title>"), "{page}");
    assert!(page.contains("<form method=\"post\" action=\"/sign-in\""), "{page}");
    assert_eq!(value(&page, "return_to"), REQUEST);
    for (label, id, what) in [("User name", "user", "username"), ("Password", "password", "current-password")] {
        assert!(page.contains(&format!("<label for=\"{id}\">{label}</label>")), "{label}: {page}");
        let field = between(&page, &format!("<input id=\"{id}\" name=\"{id}\""), ">");
        assert!(field.contains(&format!(" autocomplete=\"{what}\"")) && field.contains(" required"), "{field}");
        assert!(!field.contains("aria-"), "{field}");
    }
    assert!(between(&page, "name=\"password\"", ">").contains(" type=\"password\""), "{page}");
    assert_eq!((page.matches("<form").count(), page.matches("<button").count()), (1, 1));
    assert!(page.contains("<button>Sign in</button>") && !page.contains("role=\"alert\""), "{page}");
}

#[test]
fn a_failed_sign_in_keeps_the_user_name_and_blames_neither() {
    let request = request();
    for (page, problem) in [
        (SignInPage::new("/sign-in", &request), "Wrong user name or password."),
        (SignInPage::new("/sign-in", &request).email(), "Wrong e-mail address or password."),
    ] {
        let page = Pages::new("Notes").sign_in(&page.failed("alice@notes.example"));
        check(&page);
        assert!(page.contains(&format!("<p class=\"problem\" id=\"problem\" role=\"alert\">{problem}</p>")), "{page}");
        assert_eq!(value(&page, "user"), "alice@notes.example");
        for name in ["user", "password"] {
            let field = between(&page, &format!("name=\"{name}\""), ">");
            assert!(field.contains("aria-invalid=\"true\" aria-describedby=\"problem\""), "{field}");
        }
        assert!(!between(&page, "name=\"password\"", ">").contains("value="), "{page}");
        assert_eq!(value(&page, "return_to"), REQUEST);
    }
}

#[test]
fn the_sign_in_page_escapes_every_text() {
    let hostile = "<Co> \"quoted\" & 'single'";
    let texts = Texts {
        sign_in_title: "<Co> {service}",
        user_name: ["<Co> label", "<Co> problem"],
        password: "<Co> password",
        sign_in: "<Co> button",
        ..Texts::ENGLISH
    };
    let pages = Pages::new("Notes <Co>").logo("/logo.svg?\"<Co>").languages([texts]);
    let page = pages.sign_in(&SignInPage::new("/sign-in?\"<Co>", &request()).failed(hostile));
    check(&page);
    assert!(page.contains("name=\"user\" value=\"&#60;Co&#62; &#34;quoted&#34; &#38; &#39;single&#39;\" "), "{page}");
    for text in ["label", "problem", "password", "button", "<strong><bdi>Notes &#60;Co&#62;</bdi>"] {
        assert!(page.contains(&format!("&#60;Co&#62; {text}")), "{text}: {page}");
    }
    assert_eq!(page.matches("src=\"/logo.svg?&#34;&#60;Co&#62;\"").count(), 1, "{page}");
    assert!(page.contains("action=\"/sign-in?&#34;&#60;Co&#62;\""), "{page}");
    let escaped = REQUEST.replace('&', "&#38;");
    assert!(page.contains(&format!("name=\"return_to\" value=\"{escaped}\"")), "{page}");
}

#[test]
fn the_sign_in_page_is_in_the_language_of_the_browser() {
    let (pages, request) = (Pages::new("Notes"), request());
    let page = SignInPage::new("/sign-in", &request).failed("alice");
    let shown = |page: SignInPage<'_>| [pages.sign_in(&page), pages.sign_in(&page.languages("de-AT, en;q=0.5"))];
    for (page, texts) in [
        (page, [("User name", "Benutzername"), ("Wrong user name or", "Benutzername oder Passwort ist falsch")]),
        (page.email(), [("E-mail address", "E-Mail-Adresse"), ("Wrong e-mail address or", "E-Mail-Adresse oder")]),
    ] {
        let [english, german] = shown(page);
        check(&german);
        assert!(english.contains("<html lang=\"en\">") && german.contains("<html lang=\"de\">"));
        let common = [("Sign in", "Anmelden"), ("Password", "Passwort"), ("<h1>Sign in to", "<h1>Bei ")];
        for (text, other) in common.into_iter().chain(texts) {
            assert!(english.contains(text) && !german.contains(text), "{text}: {german}");
            assert!(german.contains(other) && !english.contains(other), "{other}: {german}");
        }
    }
}

/// A header cannot have it: `page` of an adapter does not know the style sheet.
#[test]
fn the_sign_in_page_has_its_own_policy() {
    for pages in [Pages::new("Notes"), Pages::new("Notes").accent("#ff0080").unwrap().logo("/logo.svg")] {
        let page = pages.sign_in(&SignInPage::new("/sign-in", &request()));
        let digest = STANDARD.encode(Sha256::digest(between(&page, "<style>", "</style>")));
        let policy = between(&page, "<meta http-equiv=\"Content-Security-Policy\" content=\"", "\">");
        let policy = policy.replace("&#39;", "'");
        let expected = format!("default-src 'none'; base-uri 'none'; style-src 'sha256-{digest}'; img-src 'self'");
        assert_eq!(policy, expected);
        // It counts for what comes after it.
        let (before, _) = page.split_once("http-equiv").unwrap();
        assert!(!before.contains("<style") && !before.contains("<link"), "{before}");
    }
}
