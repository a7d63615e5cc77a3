//! The flow between the pages, with pages that show nothing but what they are given.

use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, Profile, PushedRequests};
use grantor::hooks::{ApproveWithin, SubjectStatus, Subjects};
use grantor::interaction::{
    ApplicationsPage, Browser, ConsentPage, DevicePage, ErrorPage, Flow, Pages, ReturnTo, Reviewed, Route, SignedIn,
    Step, Visitor,
};
use grantor::scope::ResourceScope;
use grantor::store::Stores;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{ApplicationForm, Client, Subject};
use support::intercepted::over;
use support::intercepted::scripts::Calls;
use support::world::{self, ISSUER, PKCE, World, config_of};

/// Shows the fields of a page, one a line.
pub(crate) struct Plain;

impl Pages for Plain {
    fn consent(&self, page: &ConsentPage<'_>) -> String {
        let boxes = page.pending.requested();
        let boxes = boxes.map(|scope| format!("{}={}", scope.token(), page.is_scope_chosen(&scope)));
        format!(
            "consent\ndevice in_link {}\nuser {}\nhandle {}\nreturn_to {}\naction {}\nswitch {:?}\n\
             problem {:?}\nboxes {}\nreviewed {:?}",
            page.device.is_some_and(|device| device.is_in_link()),
            page.user.shown_name(),
            page.ticket.expose(),
            page.return_to,
            page.action,
            page.switch_account,
            page.problem,
            boxes.collect::<Vec<_>>().join(" "),
            page.reviewed,
        )
    }

    fn device(&self, page: &DevicePage<'_>) -> String {
        format!(
            "device\nuser {}\naction {}\ntoken {}\ncode {}\nin_link {}\nproblem {:?}\noutcome {:?}",
            page.user.shown_name(),
            page.action,
            page.form_token,
            page.user_code,
            page.is_in_link,
            page.problem,
            page.outcome,
        )
    }

    fn error(&self, page: &ErrorPage<'_>) -> String {
        let again = page.again.map(ReturnTo::as_str);
        let (host, location) = page.link.map_or(("", ""), |link| (link.host, link.location));
        let back = page.client.map(|client| (&client.form().name, client.web_address()));
        format!(
            "error\nkind {:?}\nagain {again:?}\nhost {host}\nlink {location}\nback {back:?}\ncause {:?}",
            page.kind, page.cause
        )
    }

    fn applications(&self, page: &ApplicationsPage<'_>) -> String {
        let rows = page.applications.iter().map(|row| format!("{} {}", row.client_id, row.scopes.len()));
        format!(
            "applications\ntoken {}\nrows {}\nis_revoked {}",
            page.form_token,
            rows.collect::<Vec<_>>().join(", "),
            page.is_revoked
        )
    }

    fn sources(&self) -> &str {
        "style-src 'sha256-x'\r\nX-Other: 1"
    }
}

/// One browser, and whoever is signed in there.
pub(crate) struct Visit<'a> {
    flow: &'a Flow,
    browser: Browser,
    pub(crate) user: Option<SignedIn>,
}

impl<'a> Visit<'a> {
    pub(crate) fn new(flow: &'a Flow) -> Self {
        Self { flow, browser: flow.browser([]), user: None }
    }

    pub(crate) fn sign_in(&mut self, name: &str) {
        self.user = Some(SignedIn::new(Subject::new(name).unwrap()).name(format!("{name}@example.com")));
    }

    pub(crate) async fn step(&self, route: Route, request: Request<'_>) -> Step {
        let visitor = Visitor::new(&self.browser).switch_account("/switch");
        let visitor = self.user.iter().fold(visitor, Visitor::user);
        self.flow.serve(route, &request, &visitor).await
    }

    pub(crate) async fn get(&self, route: Route, query: &str) -> Response {
        respond(self.step(route, Request::new("GET").query(query.as_bytes())).await)
    }

    pub(crate) async fn post(&self, route: Route, form: &[(&str, &str)]) -> Response {
        respond(self.step(route, Request::new("POST").body(Body::Bytes(world::encode(form).as_bytes()))).await)
    }

    pub(crate) async fn answer(&self, page: &Response, decision: &str, scopes: &[&str]) -> Step {
        let mut form = vec![("handle", line(page, "handle")), ("return_to", line(page, "return_to"))];
        form.push(("decision", decision.to_owned()));
        form.extend(scopes.iter().map(|scope| ("scope", (*scope).to_owned())));
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.step(Route::Consent, Request::new("POST").body(Body::Bytes(world::encode(&form).as_bytes()))).await
    }

    /// The answer to an answer, unless it needs a sign-in.
    pub(crate) async fn answered(&self, page: &Response, decision: &str, scopes: &[&str]) -> Response {
        respond(self.answer(page, decision, scopes).await)
    }
}

pub(crate) fn respond(step: Step) -> Response {
    match step {
        Step::Respond(response) => response,
        Step::SignIn(return_to) => panic!("sent to the sign-in, then {return_to}"),
    }
}

pub(crate) fn sign_in(step: Step) -> ReturnTo {
    match step {
        Step::SignIn(return_to) => return_to,
        Step::Respond(response) => panic!("{response:?}"),
    }
}

fn text(response: &Response) -> &str {
    str::from_utf8(response.body()).unwrap()
}

/// The rest of the line that begins with a word.
pub(crate) fn line(response: &Response, word: &str) -> String {
    let found = text(response).lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {word} in {}", text(response))).to_owned()
}

#[tokio::test]
async fn a_user_signs_in_is_asked_and_returns_with_a_code() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    assert_eq!(flow.path(Route::Authorization), "/oauth2/auth");
    let mut visit = Visit::new(&flow);
    let query = world.query(&[("state", "a b"), ("scope", "repo-code:r account-profile:r")]);
    let request = Request::new("GET").query(query.as_bytes());
    let return_to = sign_in(visit.step(Route::Authorization, request).await);
    assert_eq!(return_to.as_str(), format!("/oauth2/auth?{query}"));
    visit.sign_in("alice");
    let page = visit.get(Route::Authorization, &query).await;
    assert_eq!((page.status(), page.header("Document-Policy")), (200, Some("force-load-at-top")));
    assert_eq!(
        page.header("Content-Security-Policy").unwrap(),
        "form-action 'self' https: http:; frame-ancestors 'none'; base-uri 'none'; default-src 'none'; \
         style-src 'sha256-x'X-Other: 1"
    );
    for header in ["Cache-Control", "X-Frame-Options", "Referrer-Policy", "X-Content-Type-Options"] {
        assert!(page.header(header).is_some(), "{header}");
    }
    assert_eq!(line(&page, "user"), "alice@example.com");
    assert_eq!(line(&page, "boxes"), "repo-code:r=true account-profile:r=true");
    assert_eq!(line(&page, "switch"), format!("{:?}", Some(return_to.query("/switch"))));
    let answer = respond(visit.answer(&page, "allow", &["repo-code:r"]).await);
    let code = world::text(&world::code(&answer), "code");
    let tokens = world::ok(&world.exchange_without_pkce(&code).await);
    assert_eq!(tokens.scope.as_deref(), Some("repo-code:r"));
}

#[tokio::test]
async fn a_sign_out_during_consent_leads_back_to_the_same_question() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = Visit::new(&flow);
    visit.sign_in("alice");
    let query = world.query(&[]);
    let page = visit.get(Route::Authorization, &query).await;
    visit.user = None;
    let return_to = sign_in(visit.answer(&page, "allow", &["repo-code:rw"]).await);
    assert_eq!(return_to.as_str(), format!("/oauth2/auth?{query}"));
    // Another user cannot answer for the first one, and is led to the same question.
    visit.sign_in("bob");
    let stale = respond(visit.answer(&page, "allow", &["repo-code:rw"]).await);
    assert_eq!((stale.status(), line(&stale, "kind").as_str()), (400, "Stale"));
    assert_eq!(line(&stale, "again"), format!("{:?}", Some(return_to.as_str())));
    // Nor can another browser.
    let mut other = Visit::new(&flow);
    other.sign_in("alice");
    let stale = respond(other.answer(&page, "allow", &["repo-code:rw"]).await);
    assert_eq!(line(&stale, "kind"), "Stale");
    visit.sign_in("alice");
    let first = respond(visit.answer(&page, "allow", &["repo-code:rw"]).await);
    world::code(&first);
    // A second click gets the same response for a minute.
    let twice = respond(visit.answer(&page, "allow", &["repo-code:rw"]).await);
    assert_eq!(twice.header("Location"), first.header("Location"));
    world.advance(60);
    let twice = respond(visit.answer(&page, "allow", &["repo-code:rw"]).await);
    assert_eq!((line(&twice, "kind").as_str(), line(&twice, "again").as_str()), ("AlreadyAllowed", "None"));
    assert_eq!(line(&twice, "back"), "Some((\"Example App\", Some(\"https://app.example.com/\")))");
}

#[tokio::test]
async fn an_answer_that_chooses_nothing_shows_the_question() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = Visit::new(&flow);
    visit.sign_in("alice");
    let page = visit.get(Route::Authorization, &world.query(&[])).await;
    let again = respond(visit.answer(&page, "allow", &[]).await);
    assert_eq!((again.status(), line(&again, "problem").as_str()), (422, "Some(NoScope)"));
    assert!(!line(&again, "boxes").contains("true"));
    // Without its question, it cannot be asked again, and is no denial either.
    let form = [("handle", line(&again, "handle")), ("decision", "allow".to_owned())];
    let bare = visit.post(Route::Consent, &form.each_ref().map(|(name, value)| (*name, value.as_str()))).await;
    assert_eq!((bare.status(), line(&bare, "kind").as_str()), (400, "MalformedForm"));
    world::code(&respond(visit.answer(&again, "allow", &["repo-code:rw"]).await));
    let page = visit.get(Route::Authorization, &world.query(&[])).await;
    world::red(&respond(visit.answer(&page, "deny", &[]).await), "access_denied");
}

#[tokio::test]
async fn errors_that_do_not_reach_the_client_are_pages() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    let visit = Visit::new(&flow);
    let page = visit.get(Route::Authorization, "client_id=unknown&response_type=code").await;
    assert_eq!((page.status(), line(&page, "kind").as_str()), (400, "LinkCannotBeAccessed"));
    assert_eq!(line(&page, "cause"), "None");
    for (route, method, allow) in [
        (Route::Authorization, "POST", "GET, HEAD"),
        (Route::Consent, "GET", "POST"),
        (Route::Applications, "PUT", "GET, HEAD, POST"),
        (Route::Logo, "DELETE", "GET, HEAD"),
    ] {
        let page = respond(visit.step(route, Request::new(method)).await);
        assert_eq!((page.status(), page.header("Allow")), (405, Some(allow)), "{route:?}");
    }
    let many = format!("handle=x&decision=allow{}", "&a".repeat(1023));
    for body in [Body::Empty, Body::TooLarge, Body::Bytes(b"decision=allow"), Body::Bytes(many.as_bytes())] {
        let page = respond(visit.step(Route::Consent, Request::new("POST").body(body)).await);
        assert_eq!((page.status(), line(&page, "kind").as_str()), (400, "MalformedForm"));
    }
    // During development on one machine, the page has the cause.
    let mut config = config_of(Profile::Platform);
    (config.issuer, config.development) = ("http://127.0.0.1:8080".into(), true);
    let world = World::built(config, |builder| builder).await;
    let flow = Flow::new(&world.server, Plain);
    let page = Visit::new(&flow).get(Route::Authorization, "client_id=unknown&response_type=code").await;
    assert_eq!(line(&page, "cause"), r#"Some("the client is unknown")"#);
    // A developer sees what is registered. What was requested is in the event.
    let client = world.register(world::form()).await;
    let query = world.query_of(&client, &[("redirect_uri", "https://other.example/cb?code=1")]);
    let page = Visit::new(&flow).get(Route::Authorization, &query).await;
    let cause = line(&page, "cause");
    assert!(cause.contains(". Registered: https://") && !text(&page).contains("other.example"), "{cause}");
    assert!(world.events.take().iter().any(|event| event.contains("other.example/cb")));
}

/// The next user of the browser finds nothing that it had begun.
#[tokio::test]
async fn a_sign_out_removes_the_cookie_of_the_browser() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    let set = flow.browser([]).set_cookie(Route::Authorization, "GET").unwrap().to_owned();
    let (name, removal) = (set.split('=').next().unwrap(), flow.forget_browser());
    assert!(removal.starts_with(&format!("{name}=; ")) && removal.ends_with("; Max-Age=0"), "{removal}");
}

/// Before the application exists: its buttons have no ticket.
#[tokio::test]
async fn a_preview_is_the_consent_page_of_a_form() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    let config = world.server.config();
    let mut form = world::form();
    let check = |form: &ApplicationForm| form.check(&config.registration.form, &config.scopes, &config.redirect_uris);
    let mut reviewed = Reviewed::default();
    reviewed.publisher = Some("Devon".to_owned());
    let alice = SignedIn::new(Subject::new("alice").unwrap());
    let page = flow.preview(&check(&form).unwrap(), &reviewed, &alice, "en").unwrap();
    assert!(page.starts_with("consent\ndevice in_link false\nuser alice\nhandle \n"), "{page}");
    assert!(page.contains("=true") && page.contains("Devon"), "{page}");
    form.redirect_uris = vec!["http://127.0.0.1/cb".to_owned()];
    assert!(flow.preview(&check(&form).unwrap(), &reviewed, &alice, "en").is_some());
}

/// Anyone can register a client, and would otherwise make the server redirect to any site.
#[tokio::test]
async fn a_page_comes_before_the_redirect_to_an_unreviewed_client() {
    let mut config = config_of(Profile::Platform);
    config.registration.dynamic = DynamicRegistration::Open;
    config.public_clients = true;
    let scopes = config.scopes.parse(world::SCOPES.as_bytes()).unwrap();
    let policy = ApproveWithin::new(RegistrationBounds::new(scopes, ResourceScope::All));
    let world = World::built(config, |builder| builder.registration_policy(policy)).await;
    let flow = Flow::new(&world.server, Plain);
    let metadata =
        br#"{"redirect_uris":["https://new.example/cb"],"client_name":"New","token_endpoint_auth_method":"none"}"#;
    let request = Request::new("POST").header("Content-Type", b"application/json").body(Body::Bytes(metadata));
    let registered = world.server.serve(Endpoint::Registration, &request).await;
    let id = serde_json::from_slice::<serde_json::Value>(registered.body()).unwrap();
    let query = format!("client_id={}&{}", id["client_id"].as_str().unwrap(), world::encode(&PKCE));
    let mut visit = Visit::new(&flow);
    visit.sign_in("alice");
    let page = visit.get(Route::Authorization, &format!("{query}&response_type=code&scope=unknown:r")).await;
    assert_eq!((page.status(), line(&page, "kind").as_str()), (400, "RequestRefused"));
    assert_eq!(line(&page, "host"), "new.example");
    assert!(line(&page, "link").starts_with("https://new.example/cb?error=invalid_scope"));
    let page = visit.get(Route::Authorization, &format!("{query}&response_type=code")).await;
    assert_eq!(line(&page, "reviewed"), "None");
    let denied = respond(visit.answer(&page, "deny", &[]).await);
    assert_eq!((denied.status(), line(&denied, "kind").as_str()), (200, "NotGranted"));
    assert!(line(&denied, "link").starts_with("https://new.example/cb?error=access_denied"));
}

#[tokio::test]
async fn revoking_needs_the_form_token_of_this_user_and_browser() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = Visit::new(&flow);
    let list = || Request::new("GET");
    assert_eq!(sign_in(visit.step(Route::Applications, list()).await).as_str(), "/oauth2/auth/applications");
    visit.sign_in("alice");
    // Two grants are one entry.
    let tokens = world.pair_of(&world.client).await;
    world.pair_of(&world.client).await;
    let page = visit.get(Route::Applications, "").await;
    assert_eq!(line(&page, "rows"), format!("{} 3", world.client.id));
    let (token, id) = (line(&page, "token"), world.client.id.as_str());
    let mut other = Visit::new(&flow);
    other.sign_in("alice");
    let others = line(&other.get(Route::Applications, "").await, "token");
    for form in [&[("client_id", id)][..], &[("client_id", id), ("token", &others)], &[("token", &token)]] {
        let refused = visit.post(Route::Applications, form).await;
        assert_eq!((refused.status(), line(&refused, "kind").as_str()), (400, "MalformedForm"), "{form:?}");
    }
    assert!(world.opens(&tokens.access).await);
    let done = visit.post(Route::Applications, &[("client_id", id), ("token", &token)]).await;
    assert_eq!(done.status(), 303);
    assert!(!world.opens(&tokens.access).await);
    let query = done.header("Location").unwrap().strip_prefix("/oauth2/auth/applications?").unwrap();
    let page = visit.get(Route::Applications, query).await;
    assert_eq!((line(&page, "rows").as_str(), line(&page, "is_revoked").as_str()), ("", "true"));
    // A link of another site does not make the page say that something was revoked.
    assert!(query.len() > 40 && !query.contains(&token), "{query}");
    for (visit, query) in [(&visit, "revoked"), (&visit, "revoked="), (&other, query)] {
        assert_eq!(line(&visit.get(Route::Applications, query).await, "is_revoked"), "false", "{query}");
    }
}

/// The record of an application has its client, so no other read finds that. Without a registry the client is read.
#[tokio::test]
async fn a_row_of_the_list_of_applications_is_one_read() {
    let log = Calls::recorded();
    let world = over(&World::platform().await, log.clone());
    let other = world.register(world::form()).await;
    world.pair_of(&world.client).await;
    world.pair_of(&other).await;
    let without_registry = Stores::new(world.store.clone()).with_clients(world.store.clone());
    let without_registry = world.builder(world.server.config().clone(), without_registry).build().unwrap();
    for (server, expected) in [(&world.server, &["applications.find"; 2][..]), (&without_registry, &[])] {
        let flow = Flow::new(server, Plain);
        let mut visit = Visit::new(&flow);
        visit.sign_in("alice");
        log.take();
        let page = visit.get(Route::Applications, "").await;
        assert_eq!(line(&page, "rows"), format!("{} 3, {} 3", world.client.id, other.id));
        // Whether a grant is live is read before, from the clients as they may be cached.
        let calls = log.take().into_iter();
        let reads = calls.filter(|call| ["applications.find", "clients.current"].contains(call));
        assert_eq!(reads.collect::<Vec<_>>(), expected);
    }
}

/// The cookie exists before the sign-in and outlasts it.
#[tokio::test]
async fn a_slow_sign_in_does_not_lose_a_pushed_request() {
    let world = World::with(Profile::Platform, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let flow = Flow::new(&world.server, Plain);
    let query = world.reference(&world.push().await);
    let mut visit = Visit::new(&flow);
    sign_in(visit.step(Route::Authorization, Request::new("GET").query(query.as_bytes())).await);
    world.advance(303);
    visit.sign_in("alice");
    assert_eq!(visit.get(Route::Authorization, &query).await.status(), 200);
    let mut other = Visit::new(&flow);
    other.sign_in("alice");
    assert_eq!(other.get(Route::Authorization, &query).await.status(), 400);
}

/// The user was signed in at once, and answers after the `request_uri` has expired.
#[tokio::test]
async fn a_slow_answer_that_chooses_nothing_does_not_lose_a_pushed_request() {
    let world = World::with(Profile::Platform, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let flow = Flow::new(&world.server, Plain);
    let query = world.reference(&world.push().await);
    let mut visit = Visit::new(&flow);
    visit.sign_in("alice");
    let page = visit.get(Route::Authorization, &query).await;
    world.advance(303);
    let again = respond(visit.answer(&page, "allow", &[]).await);
    assert_eq!((again.status(), line(&again, "problem").as_str()), (422, "Some(NoScope)"));
    let done = respond(visit.answer(&again, "allow", &["repo-code:r"]).await);
    assert!(done.header("Location").unwrap().contains("code="), "{done:?}");
}

#[derive(Debug)]
struct Names;

#[async_trait::async_trait]
impl Subjects for Names {
    async fn status(&self, _: &Subject, _: &Client) -> SubjectStatus {
        SubjectStatus::Active
    }

    async fn public_name(&self, subject: &Subject) -> Option<String> {
        Some(format!("{subject} Ltd"))
    }
}

#[tokio::test]
async fn a_reviewed_client_has_its_publisher_and_its_logo() {
    let world = World::built(config_of(Profile::Platform), |builder| builder.subjects(Names)).await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = Visit::new(&flow);
    visit.sign_in("alice");
    let reviewed = line(&visit.get(Route::Authorization, &world.query(&[])).await, "reviewed");
    assert!(reviewed.contains(r#"publisher: Some("developer Ltd")"#), "{reviewed}");
    let (_, rest) = reviewed.split_once(r#"logo: Some("/oauth2/auth/logo?"#).unwrap();
    let query = rest.split('"').next().unwrap();
    let logo = visit.get(Route::Logo, query).await;
    assert_eq!((logo.status(), logo.header("Content-Type"), logo.body()), (200, Some("image/png"), world::PNG));
    assert_eq!(logo.header("Cache-Control"), Some("max-age=31536000, immutable"));
    assert_eq!(logo.header("Content-Security-Policy"), Some("default-src 'none'; sandbox"));
    let old = visit.get(Route::Logo, &format!("v=1&client={}", world.client.id)).await;
    assert_eq!(old.header("Cache-Control"), Some("no-cache"));
    assert_eq!(visit.get(Route::Logo, "client=other").await.status(), 404);
    world.server.registrar().unwrap().suspend(&world.client.client_id()).await.unwrap();
    assert_eq!(visit.get(Route::Logo, query).await.status(), 404);
}

#[test]
fn every_page_is_below_the_issuers_path() {
    let config = world::config_at(Profile::Platform, &format!("{ISSUER}/tenant"));
    let server = grantor::AuthorizationServer::new(config, grantor::MemoryStore::new()).unwrap();
    let flow = Flow::new(&server, Plain);
    let paths = Route::ALL.map(|route| flow.path(route));
    assert_eq!(paths[0], server.path(Endpoint::Authorization));
    assert_eq!(
        paths[1..],
        ["/consent", "/device", "/applications", "/logo"].map(|end| format!("/tenant/oauth2/auth{end}"))
    );
}

/// A session cookie with `SameSite=Strict` comes with none of the redirects that follow a link of a client.
#[tokio::test]
async fn a_sign_in_that_does_not_last_ends_with_a_page() {
    let world = World::platform().await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = Visit::new(&flow);
    let cookie = visit.browser.set_cookie(Route::Authorization, "GET").unwrap().split(';').next().unwrap().to_owned();
    visit.browser = flow.browser([cookie.as_bytes()]);
    let query = world.query(&PKCE);
    world.events.take();
    for _ in 0..4 {
        let step = visit.step(Route::Authorization, Request::new("GET").query(query.as_bytes())).await;
        assert!(matches!(step, Step::SignIn(_)), "{step:?}");
        world.advance(1);
    }
    let page = visit.get(Route::Authorization, &query).await;
    assert_eq!((page.status(), line(&page, "kind")), (400, "SignInLoop".to_owned()));
    assert_eq!(line(&page, "again"), format!("Some(\"/oauth2/auth?{query}\")"));
    assert_eq!(world.events.take(), ["SignInLoop"]);
    // The browser sends the cookie with the link of this page.
    visit.sign_in("alice");
    assert_eq!(visit.get(Route::Authorization, &query).await.status(), 200);
}
