use std::sync::Arc;
use std::time::Duration;

use grantor::application::{Logo, RegistrationLimits};
use grantor::client::{ClientType, GrantType, GrantTypes};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::DynamicRegistration;
use grantor::fetch::{FetchError, FetchRequest, FetchResponse, Fetcher};
use grantor::hooks::{ApproveWithin, SubjectStatus, Subjects};
use grantor::interaction::{Browser, Flow, ReturnTo, Route, SignedIn, Step, Visitor};
use grantor::scope::{Permissions, ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::secret::DerivationKey;
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{
    ApplicationForm, Approval, AuthorizationServer, Client, ClientId, Config, MemoryStore, MemoryThrottle, Subject,
    Timestamp,
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
        config.devices.on = true;
        config.devices.verification_uri = "https://auth.example/device".into();
        config.devices.complete_uri = true;
        config.refresh.derivation_keys = vec![DerivationKey::new([1; 32])];
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
            .throttle(MemoryThrottle::new().with_clock(ManualClock::clone(&clock)))
            .subjects(Names)
            .fetcher(OneDocument)
            .registration_policy(ApproveWithin::new(RegistrationBounds::new(all, ResourceScope::All).devices()));
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

    /// A device asks, and shows this code.
    async fn ask_from_device(&self, client: &str, user_agent: &[u8]) -> String {
        let form = format!("client_id={client}&scope=notes profile");
        let request = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded");
        let request = request.header("User-Agent", user_agent).peer([192, 0, 2, 7].into());
        let request = request.body(Body::Bytes(form.as_bytes()));
        let response = self.flow.server().serve(Endpoint::DeviceAuthorization, &request).await;
        between(str::from_utf8(response.body()).unwrap(), "\"user_code\":\"", "\"").to_owned()
    }

    /// A public client of devices, and the code of one.
    async fn device(&self, user_agent: &[u8]) -> String {
        let device = |form: &mut ApplicationForm| {
            form.client_type = ClientType::Public;
            form.grant_types = GrantTypes::NONE.with(GrantType::DeviceCode);
            form.redirect_uris = Vec::new();
        };
        self.ask_from_device(self.register(device, None).await.as_str(), user_agent).await
    }

    /// The user opens the page for codes with this query, and sends its form with this code.
    async fn enter(&self, query: &str, code: &str) -> Response {
        let page = self.page(Route::Device, query).await;
        check(&page);
        let in_link = if page.contains(IN_LINK) { "&in_link=yes" } else { "" };
        let form = format!("token={}&user_code={code}{in_link}", value(&page, "token"));
        self.serve(Route::Device, Request::new("POST").body(Body::Bytes(form.as_bytes()))).await
    }

    async fn entered(&self, query: &str, code: &str) -> String {
        String::from_utf8(self.enter(query, code).await.into_body()).unwrap()
    }

    /// The user answers the consent page of a device, and follows the redirect.
    async fn decide_device(&self, page: &str, more: &str) -> String {
        let (handle, code) = (value(page, "handle"), value(page, "user_code"));
        let in_link = if page.contains(IN_LINK) { "&in_link=yes" } else { "" };
        let form = format!("handle={handle}&user_code={code}{in_link}&{more}");
        let response = self.serve(Route::Consent, Request::new("POST").body(Body::Bytes(form.as_bytes()))).await;
        match response.header("Location").map(str::to_owned) {
            Some(to) => self.page(Route::Device, to.strip_prefix("/device?").unwrap()).await,
            None => String::from_utf8(response.into_body()).unwrap(),
        }
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

const IN_LINK: &str = "<input type=\"hidden\" name=\"in_link\" value=\"yes\">";

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
        let heading = between(&page, "<p class=\"home\">", "</p>");
        assert!(heading.contains("</span>Notes</"), "{heading}");
    }
}

#[tokio::test]
async fn the_error_page_links_to_the_start_page() {
    for (pages, expected) in [(Pages::new("Notes"), 0), (Pages::new("Notes").home("/?a=1&b=2"), 1)] {
        let page = Service::with(pages).page(Route::Authorization, "client_id=a&client_id=b").await;
        assert!(page.contains("This link does not work"), "{page}");
        assert_eq!(page.matches("<a href=\"/?a=1&#38;b=2\">Notes</a>").count(), expected, "{page}");
    }
}

/// The first page that a developer sees, with a client that has a secret.
#[tokio::test]
async fn in_development_the_warning_about_the_loopback_explains_itself() {
    let redirect_uri = "http://127.0.0.1:8081/callback";
    for (issuer, expected) in [("http://127.0.0.1:8080", true), ("https://auth.example", false)] {
        let mut config = Config::strict(issuer);
        config.development = expected;
        config.scopes = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes")).build().unwrap();
        let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
        let client = server.own_client("app").name("App").redirect_uri(redirect_uri).scopes("notes");
        client.secret("secret".repeat(6)).ensure().await.unwrap();
        let flow = Flow::new(&server, Pages::new("Notes"));
        let (browser, alice) = (flow.browser([]), SignedIn::new(Subject::new("1").unwrap()));
        let query = "response_type=code&client_id=app&scope=notes&code_challenge_method=S256\
            &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let request = Request::new("GET").query(query.as_bytes());
        let step = flow.serve(Route::Authorization, &request, &Visitor::new(&browser).user(&alice)).await;
        let Step::Respond(response) = step else { panic!("{step:?}") };
        let page = str::from_utf8(response.body()).unwrap();
        assert!(page.contains("id=\"warning\""), "{page}");
        assert_eq!(page.contains("class=\"notice neutral\""), expected, "{page}");
        assert_eq!(page.contains("the redirect URI is on your own device"), expected, "{page}");
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

#[tokio::test]
async fn a_code_is_typed_on_a_page_of_its_own() {
    let service = Service::new();
    let page = service.page(Route::Device, "").await;
    check(&page);
    assert!(page.contains("<title>Connect a device · Notes &#60;Co&#62;</title>"), "{page}");
    assert!(page.contains("<form method=\"post\" action=\"/device\""), "{page}");
    assert!(page.contains("Signed in as <strong><bdi>alice@&#60;example&#62;</bdi>"), "{page}");
    assert!(page.contains("<label for=\"user-code\">Code shown on your device</label>"), "{page}");
    let field = between(&page, "<input id=\"user-code\"", ">");
    for attribute in [
        "name=\"user_code\" value=\"\"",
        "autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\" maxlength=\"64\" required",
        "aria-describedby=\"device-warning\"",
    ] {
        assert!(field.contains(attribute), "{attribute}: {field}");
    }
    assert!(between(&page, "id=\"device-warning\">", "</p>").contains("only if you started this yourself"), "{page}");
    let names: Vec<_> =
        page.match_indices(" name=\"").map(|(at, _)| page[at + 7..].split('"').next().unwrap()).collect();
    assert_eq!(names, ["viewport", "color-scheme", "token", "user_code"]);
    assert_eq!((page.matches("<form").count(), page.matches("<button").count()), (1, 1));
    assert!(page.contains("<button>Continue</button>"), "{page}");
    assert!(!field.contains("aria-invalid") && !page.contains("id=\"in-link\"") && !page.contains("role=\"alert\""));
}

#[tokio::test]
async fn a_code_in_a_link_is_filled_in_and_must_be_compared() {
    let service = Service::new();
    let page = service.page(Route::Device, "user_code=wdjbmjht").await;
    check(&page);
    assert_eq!(value(&page, "user_code"), "WDJB-MJHT");
    assert!(page.contains(IN_LINK), "{page}");
    assert!(between(&page, "id=\"in-link\">", "</p>").contains("came with a link. Compare it"), "{page}");
    assert!(page.contains("aria-describedby=\"in-link device-warning\""), "{page}");
}

#[tokio::test]
async fn a_wrong_code_is_kept_and_explained() {
    let service = Service::new();
    let response = service.enter("", "%3CCo%3E+\"'%26amp;").await;
    assert_eq!(response.status(), 400);
    let page = String::from_utf8(response.into_body()).unwrap();
    check(&page);
    assert!(between(&page, "id=\"problem\" role=\"alert\">", "</p>").contains("This code is not valid."), "{page}");
    let field = between(&page, "<input id=\"user-code\"", ">");
    assert!(field.contains("value=\"&#60;Co&#62; &#34;&#39;&#38;amp;\""), "{field}");
    assert!(field.contains("aria-describedby=\"problem device-warning\" aria-invalid=\"true\""), "{field}");
}

#[tokio::test]
async fn after_too_many_wrong_codes_the_page_says_when_to_retry() {
    let mut service = Service::new();
    for _ in 0..5 {
        assert_eq!(service.enter("", "BBBB-BBBB").await.status(), 400);
    }
    let response = service.enter("", "BBBB-BBBB").await;
    assert_eq!((response.status(), response.header("Retry-After")), (429, Some("300")));
    let page = String::from_utf8(response.into_body()).unwrap();
    check(&page);
    let problem = "There were too many wrong codes. Try again in 5 minutes.</p>";
    assert!(page.contains(&format!("role=\"alert\">{problem}")), "{page}");
    service.clock.advance(Duration::from_secs(239));
    service.languages = "de";
    assert!(service.entered("", "BBBB-BBBB").await.contains("Versuche es in 2 Minuten noch einmal."));
}

#[tokio::test]
async fn the_consent_page_of_a_device_shows_what_the_user_can_compare() {
    let service = Service::new();
    let code = service.device(b"TV/1.0 <b>").await;
    service.clock.advance(Duration::from_secs(130));
    let page = service.entered("", &code.to_lowercase()).await;
    check(&page);
    assert!(between(&page, "<title>", "</title>").contains("on a device wants to access your Notes"), "{page}");
    assert!(page.contains(&format!("<code id=\"user-code\">{code}</code>")), "{page}");
    let warning = "Continue only if you started this yourself and your device shows this code.";
    assert!(page.contains(&format!("<p class=\"notice\" id=\"device-warning\">{warning}</p>")), "{page}");
    let facts = between(&page, "id=\"device\"", "</div>");
    for fact in [
        "The device asked <strong><bdi>2 minutes ago</bdi></strong>.",
        "from the network <strong><bdi>192.0.2.7</bdi></strong>.",
        "calls itself TV/1.0. That is its own claim.",
    ] {
        assert!(facts.contains(fact), "{fact}: {facts}");
    }
    assert!(page.contains("<span id=\"goes-to\">Afterwards, go back to your device.</span>"), "{page}");
    assert_eq!(value(&page, "user_code"), code);
    for unwanted in ["return_to", "in_link", "device_shows_code", "href=", "id=\"warning\"", "id=\"unreviewed\""] {
        let body = page.split_once("</style>").unwrap().1;
        assert!(!body.contains(unwanted), "{unwanted}: {body}");
    }
}

/// RFC 8628 section 5.4.
#[tokio::test]
async fn a_device_is_denied_as_easily_as_allowed() {
    let service = Service::new();
    let page = service.entered("", &service.device(b"").await).await;
    let (before, answers) = page.split_once("<div class=\"answers\">").unwrap();
    assert!(answers.contains("<button id=\"deny\" name=\"decision\" value=\"deny\">Deny</button>"), "{answers}");
    assert!(answers.contains("<button id=\"approve\" name=\"decision\" value=\"allow\">Allow</button>"), "{answers}");
    assert!(answers.find("deny") < answers.find("allow") && !page.contains("class=\"quiet\""), "{page}");
    // A device without the header, and the first button of the form, which Enter presses.
    assert!(!before.contains("calls itself"), "{before}");
    let buttons: Vec<_> =
        before.match_indices("<button").map(|(at, _)| before[at..].split('>').next().unwrap()).collect();
    let switch = "<button class=\"link\" name=\"decision\" value=\"switch\"";
    assert_eq!(buttons, ["<button formmethod=\"dialog\" hidden", switch]);
    assert!(before.find("<form") < before.find("<button") && !before.contains("</form>"), "{before}");
}

#[tokio::test]
async fn a_code_in_a_link_needs_a_box_that_the_user_checks() {
    let service = Service::new();
    let code = service.device(b"TV/1").await;
    let page = service.entered(&format!("user_code={code}"), &code).await;
    check(&page);
    let label = format!("<span>My device shows <strong><bdi>{code}</bdi></strong></span>");
    let field = "<input type=\"checkbox\" id=\"device-shows-code\" name=\"device_shows_code\" value=\"yes\">";
    assert!(page.contains(&format!("{field}{label}")) && page.contains(IN_LINK), "{page}");
    let again = service.decide_device(&page, "decision=allow&scope=notes:rw").await;
    check(&again);
    assert!(between(&again, "role=\"alert\">", "</p>").contains("Compare the code with the one on"), "{again}");
    assert!(again.contains("value=\"yes\" aria-invalid=\"true\" aria-describedby=\"problem\">"), "{again}");
    assert!(again.contains("<fieldset>") && again.contains("value=\"profile\"><span>"), "{again}");
    let nothing = service.decide_device(&again, "decision=allow&device_shows_code=yes").await;
    assert!(between(&nothing, "role=\"alert\">", "</p>").contains("Nothing is chosen."), "{nothing}");
    assert!(nothing.contains("<fieldset aria-describedby=\"problem\">") && nothing.contains(field), "{nothing}");
    let done = service.decide_device(&nothing, "decision=allow&scope=profile&device_shows_code=yes").await;
    assert!(done.contains("Your device is connected"), "{done}");
}

#[tokio::test]
async fn the_page_says_what_became_of_the_device() {
    for (answer, title, text) in [
        ("decision=allow&scope=profile", "Your device is connected", "It continues by itself in a few seconds."),
        ("decision=deny", "Your device was not connected", "Nothing was granted."),
    ] {
        for (pages, links) in [(Pages::new("Notes"), 0), (Pages::new("Notes").home("/?a=1&b=2"), 1)] {
            let service = Service::with(pages);
            let consent = service.entered("", &service.device(b"TV/1").await).await;
            let page = service.decide_device(&consent, answer).await;
            check(&page);
            assert!(page.contains(&format!("<h1>{title}</h1>\n<p id=\"outcome\">{text}")), "{page}");
            assert_eq!(page.matches("<a href=\"/?a=1&#38;b=2\">Go to Notes</a>").count(), links, "{page}");
            assert!(!page.contains("<form") && !page.contains("<button"), "{page}");
        }
    }
}

#[tokio::test]
async fn an_unreviewed_client_on_a_device_has_no_host_to_return_to() {
    let service = Service::new();
    let metadata = r#"{"client_name":"TV","token_endpoint_auth_method":"none",
        "grant_types":["authorization_code","urn:ietf:params:oauth:grant-type:device_code"],
        "redirect_uris":["https://evil.example/cb"]}"#;
    let id = service.register_itself(metadata).await;
    let page = service.entered("", &service.ask_from_device(&id, b"TV/1").await).await;
    check(&page);
    assert!(between(&page, "<title>", "</title>").starts_with("An unreviewed application on a device"), "{page}");
    let facts = between(&page, "id=\"unreviewed\"", "</div>");
    assert!(facts.contains("It calls itself <strong><bdi>TV</bdi></strong>"), "{facts}");
    assert!(!page.contains("evil.example") && !page.contains("id=\"warning\""), "{page}");
}

#[tokio::test]
async fn the_pages_of_a_device_are_in_the_language_of_the_browser() {
    let mut service = Service::new();
    service.languages = "de-AT, en;q=0.5";
    let code = service.device(b"TV/1").await;
    let page = service.page(Route::Device, &format!("user_code={code}")).await;
    check(&page);
    for text in ["<h1>Gerät verbinden</h1>", ">Code auf deinem Gerät</label>", "kam mit einem Link", ">Weiter</button>"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(service.entered("", "BBBB-BBBB").await.contains("Dieser Code ist nicht gültig."));
    let page = service.entered(&format!("user_code={code}"), &code).await;
    check(&page);
    for text in [
        "auf einem Gerät möchte auf dein Konto",
        "Mein Gerät zeigt",
        "hat <strong><bdi>gerade eben",
        "Gehe danach zurück",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(service.decide_device(&page, "decision=deny").await.contains("Dein Gerät wurde nicht verbunden"));
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
