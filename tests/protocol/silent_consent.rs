//! Clients whose users are asked once, or never.

use std::time::Duration;

use grantor::authorization::NextStep;
use grantor::client::{ApplicationType, AskConsent, MustAsk, Privileges};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, Profile, PushedRequests};
use grantor::hooks::{ApproveWithin, Rate, ThrottleLimits};
use grantor::interaction::{Flow, Route};
use grantor::redirect_uri::RegisteredRedirectUri;
use grantor::registration::Reduction;
use grantor::scope::ResourceScope;
use grantor::secret::ConsentTicket;
use grantor::store::Stores;
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{
    ApplicationForm, Approval, AuthorizationError, AuthorizationServer, Client, ClientId, ClientSecret, Consent,
    Decision, MemoryThrottle, RegistrarError, Subject, Timestamp,
};

use crate::interaction::{Plain, Visit, line, sign_in};
use crate::rfc8707::{own_scopes, resource};
use support::directory::Directory;
use support::world::{
    Credentials, PKCE, Pair, REDIRECT_URI, Reviewer as _, SESSION, START, With as _, World, code, config_of, created,
    e400, encode, form, logo, page, pair, public_form, red, text,
};

const DAY: u64 = 86_400;

/// Another client of that kind, which may use two redirect URIs.
async fn client(world: &World, ask_consent: AskConsent) -> Credentials {
    let form = form().with(|form| form.redirect_uris.push(OTHER_URI.into()));
    world.register_as(form, Approval::default().ask_consent(ask_consent)).await
}

const OTHER_URI: &str = "https://app.example.com/other";

/// A query with PKCE and the usual redirect URI.
fn query(world: &World, client: &Credentials, more: &[(&str, &str)]) -> String {
    let uri: &[_] =
        if more.iter().any(|(name, _)| *name == "redirect_uri") { &[] } else { &[("redirect_uri", REDIRECT_URI)] };
    world.query_of(client, &[&PKCE, uri, more].concat())
}

/// The answer without a page for that user; `None` if the page must be shown.
async fn answer(server: &AuthorizationServer, request: Request<'_>, user: Option<&Subject>) -> Option<Response> {
    let request = user.into_iter().fold(request.session(SESSION), Request::subject);
    let pending = server.authorize(&request).await.unwrap();
    server.step(&pending, user, SESSION).await.unwrap().response()
}

async fn silent(world: &World, query: &str) -> Option<Response> {
    answer(&world.server, Request::new("GET").query(query.as_bytes()), Some(&world.alice)).await
}

async fn is_silent(world: &World, query: &str) -> bool {
    silent(world, query).await.is_some()
}

/// The tokens for a code that came without a page.
async fn silent_pair(world: &World, client: &Credentials, query: &str) -> Pair {
    let answer = silent(world, query).await.expect("no page is needed");
    pair(&world.exchange_as(client, &text(&code(&answer), "code")).await)
}

/// The tokens after a page, on which all or a part was allowed.
async fn asked_pair(world: &World, client: &Credentials, query: &str, consent: Consent) -> Pair {
    let answer = world.decide(query, Decision::Approve(consent)).await;
    pair(&world.exchange_as(client, &text(&code(&answer), "code")).await)
}

/// The ticket of a page that is shown.
async fn shown(world: &World, query: &str) -> ConsentTicket {
    let pending = world.authorize(query).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap()
}

/// The answer after everything on the page was allowed.
async fn allowed(world: &World, ticket: &ConsentTicket) -> Result<Response, AuthorizationError> {
    let all = Decision::Approve(Consent::to_everything());
    world.server.decide(ticket.expose(), &world.alice, SESSION, &all).await
}

/// A change of the registration is approved.
async fn rename(world: &World, client: &Credentials, name: &str) {
    let changed = form().with(|form| {
        form.name = name.into();
        form.redirect_uris.push(OTHER_URI.into());
    });
    let registrar = world.server.registrar().unwrap();
    registrar.change_now(&client.client_id(), changed, None).await.unwrap();
    registrar.approve_now(&client.client_id(), Approval::default()).await.unwrap();
}

/// The query that presents a pushed request.
fn reference(client: &Credentials, pushed: &Response) -> String {
    encode(&[("client_id", &client.id), ("request_uri", &created(pushed))])
}

async fn set(world: &World, client: &Credentials, ask_consent: AskConsent) -> Result<(), RegistrarError> {
    let registrar = world.server.registrar().unwrap();
    let id = client.client_id();
    let mut privileges = Privileges::default();
    privileges.ask_consent = ask_consent;
    registrar.set_privileges(&id, registrar.version_now(&id).await, privileges).await
}

#[tokio::test]
async fn a_client_that_skips_consent_gets_a_code_without_a_page() {
    let world = World::strict().await;
    let skipping = client(&world, AskConsent::Never).await;
    let asking = query(&world, &world.client, &[]);
    assert!(!is_silent(&world, &asking).await, "off by default");
    let asked = query(&world, &skipping, &[("scope", "repo-code:r"), ("state", "a b")]);
    world.events.take();
    let answer = silent(&world, &asked).await.unwrap();
    assert_eq!((answer.status(), text(&code(&answer), "state").as_str()), (303, "a b"));
    assert!(answer.header("Location").unwrap().contains("iss="));
    let events = world.events.take().join("\n");
    assert!(events.contains("CodeIssued") && events.contains("asked: false"), "{events}");
    let tokens = pair(&world.exchange_as(&skipping, &text(&code(&answer), "code")).await);
    assert_eq!(tokens.scope, "repo-code:r");
    let request = Request::new("GET").query(asked.as_bytes());
    let pending = world.server.authorize(&request).await.unwrap();
    assert!(
        matches!(world.server.step(&pending, None::<&Subject>, SESSION).await.unwrap(), NextStep::SignIn),
        "nobody is signed in"
    );
    set(&world, &skipping, AskConsent::Always).await.unwrap();
    assert!(!is_silent(&world, &asked).await);
}

/// SVC-4.1-06
#[tokio::test]
async fn the_platform_asks_each_time() {
    let world = World::platform().await;
    let refused = set(&world, &world.client, AskConsent::Once).await;
    assert!(matches!(refused, Err(RegistrarError::MustAsk(MustAsk::PlatformProfile))), "{refused:?}");
    // Nor has it an effect where nothing checks it.
    let config = config_of(Profile::Platform);
    let own = |uri: &str, application_type| {
        Client::builder(ClientId::new("own").unwrap())
            .redirect_uri(RegisteredRedirectUri::parse(uri, &config.redirect_uris).unwrap())
            .application_type(application_type)
            .scopes(config.scopes.parse(b"repo-code:r").unwrap())
            .resource_scope(ResourceScope::All)
            .secret(&ClientSecret::new("s".repeat(32)))
            .unwrap()
            .ask_consent(AskConsent::Never)
            .build()
    };
    for (profile, client, is_silent) in [
        (Profile::Platform, own(REDIRECT_URI, ApplicationType::Web), false),
        (Profile::Strict, own(REDIRECT_URI, ApplicationType::Web), true),
        (Profile::Strict, own("http://127.0.0.1/cb", ApplicationType::Web), false),
        (Profile::Strict, own(REDIRECT_URI, ApplicationType::Native), false),
    ] {
        let stores = Stores::new(world.store.clone()).with_clients(Directory::of([client]));
        let server = world.builder(config_of(profile), stores).build().unwrap();
        let query = encode(&[("response_type", "code"), ("client_id", "own"), PKCE[0], PKCE[1]]);
        let request = Request::new("GET").query(query.as_bytes());
        assert_eq!(answer(&server, request, Some(&world.alice)).await.is_some(), is_silent);
    }
}

/// 8252-8.6-01, CVE-2023-34246
#[tokio::test]
async fn only_clients_whose_redirect_uris_prove_them_go_without_a_page() {
    let world = World::with(Profile::Strict, |_| {}).await;
    let granted = || Approval::default().ask_consent(AskConsent::Once);
    let registrar = world.server.registrar().unwrap();
    let refusal = async |form: ApplicationForm| {
        let developer = Subject::new("developer").unwrap();
        let id = registrar.submit(developer, form, Some(logo())).await.unwrap();
        registrar.approve_now(&id, granted()).await.unwrap_err()
    };
    for uri in ["http://127.0.0.1/cb", "https://127.0.0.1/cb", "https://localhost/cb", "com.example.app:/cb"] {
        for change in [form, public_form] {
            let refused = refusal(change().with(|form| form.redirect_uris.push(uri.into()))).await;
            let RegistrarError::MustAsk(reason) = &refused else { panic!("{refused:?}") };
            assert_eq!(*reason, MustAsk::RedirectUri(uri.into()));
            assert!(refused.to_string().contains(uri), "{refused}");
        }
    }
    let native = refusal(form().with(|form| form.application_type = ApplicationType::Native)).await;
    assert!(matches!(native, RegistrarError::MustAsk(MustAsk::Native)), "{native:?}");
    // A public client of that kind, and no other, is assured.
    for (ask_consent, is_assured) in [(AskConsent::Always, false), (AskConsent::Once, true), (AskConsent::Never, true)]
    {
        let public = world.register_as(public_form(), Approval::default().ask_consent(ask_consent)).await;
        let pending = world.authorize(&query(&world, &public, &[])).await.unwrap();
        assert_eq!(pending.is_client_identity_assured(), is_assured, "{ask_consent:?}");
        assert_eq!(is_silent(&world, &query(&world, &public, &[])).await, ask_consent == AskConsent::Never);
    }
    // A change that loses the proof is not approved with it.
    let once = client(&world, AskConsent::Once).await.client_id();
    let weaker = form().with(|form| form.redirect_uris.push("http://127.0.0.1/cb".into()));
    registrar.change_now(&once, weaker, None).await.unwrap();
    let refused = registrar.approve_now(&once, Approval::default()).await;
    assert!(matches!(refused, Err(RegistrarError::MustAsk(MustAsk::RedirectUri(_)))), "{refused:?}");
}

/// 8252-8.6-01
#[tokio::test]
async fn a_client_that_registered_itself_is_asked_about_each_time() {
    let mut config = config_of(Profile::Mcp);
    config.registration.dynamic = DynamicRegistration::Open;
    let scopes = config.scopes.parse(b"repo-code:r").unwrap();
    let policy = ApproveWithin::new(RegistrationBounds::new(scopes, ResourceScope::All));
    let world = World::built(config, |builder| builder.registration_policy(policy)).await;
    let metadata =
        br#"{"redirect_uris":["https://new.example/cb"],"client_name":"New","token_endpoint_auth_method":"none"}"#;
    let request = Request::new("POST").header("Content-Type", b"application/json").body(Body::Bytes(metadata));
    let registered = world.server.serve(Endpoint::Registration, &request).await;
    let registered: serde_json::Value = serde_json::from_slice(registered.body()).unwrap();
    let id = ClientId::new(registered["client_id"].as_str().unwrap()).unwrap();
    let registrar = world.server.registrar().unwrap();
    let approval = || Approval::default().website("https://new.example/").logo(logo());
    let refused = registrar.approve_now(&id, approval().ask_consent(AskConsent::Once)).await;
    assert!(matches!(refused, Err(RegistrarError::MustAsk(MustAsk::SelfRegistered))), "{refused:?}");
    registrar.approve_now(&id, approval()).await.unwrap();
    let reviewed = Credentials { id: id.to_string(), secret: String::new() };
    let refused = set(&world, &reviewed, AskConsent::Never).await;
    assert!(matches!(refused, Err(RegistrarError::MustAsk(MustAsk::SelfRegistered))), "{refused:?}");
    assert!(!is_silent(&world, &world.query_of(&reviewed, &PKCE)).await);
}

#[tokio::test]
async fn a_description_that_does_not_qualify_is_refused() {
    let world = World::strict().await;
    let config = world.server.config();
    let described = |uri: &str| {
        Client::builder(ClientId::new("own").unwrap())
            .name("Own")
            .redirect_uri(RegisteredRedirectUri::parse(uri, &config.redirect_uris).unwrap())
            .scopes(config.scopes.parse(b"repo-code:r").unwrap())
            .resource_scope(ResourceScope::All)
            .secret(&ClientSecret::new("s".repeat(32)))
            .unwrap()
            .ask_consent(AskConsent::Never)
            .build()
    };
    let registrar = world.server.registrar().unwrap();
    let refused = registrar.ensure_client(&described("https://192.0.2.1/cb")).await;
    assert!(matches!(refused, Err(RegistrarError::MustAsk(MustAsk::RedirectUri(_)))), "{refused:?}");
    registrar.ensure_client(&described(REDIRECT_URI)).await.unwrap();
    let own = Credentials { id: "own".into(), secret: "s".repeat(32) };
    silent_pair(&world, &own, &query(&world, &own, &[])).await;
}

#[tokio::test]
async fn only_a_navigation_is_decided_without_a_page() {
    let world = World::strict().await;
    let skipping = client(&world, AskConsent::Never).await;
    let query = query(&world, &skipping, &[]);
    let alice = Some(&world.alice);
    let with = |method, headers: &[(&str, &'static str)]| {
        let request = Request::new(method).query(query.as_bytes());
        headers.iter().fold(request, |request, (name, value)| request.header(name, value.as_bytes()))
    };
    const NAVIGATE: (&str, &str) = ("Sec-Fetch-Mode", "navigate");
    const DOCUMENT: (&str, &str) = ("Sec-Fetch-Dest", "document");
    assert!(answer(&world.server, with("GET", &[NAVIGATE, DOCUMENT]), alice).await.is_some());
    assert!(answer(&world.server, with("HEAD", &[]), alice).await.is_none());
    for headers in [
        &[NAVIGATE, ("Sec-Fetch-Dest", "iframe")][..],
        &[NAVIGATE, DOCUMENT, ("Sec-Purpose", "prefetch")],
        &[("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "empty")],
    ] {
        assert!(answer(&world.server, with("GET", headers), alice).await.is_none(), "{headers:?}");
    }
}

/// IDOFF-04
///
/// Whatever its value, `prompt` is no error.
#[tokio::test]
async fn a_request_with_prompt_asks() {
    let world = World::with(Profile::Strict, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let skipping = client(&world, AskConsent::Never).await;
    let once = client(&world, AskConsent::Once).await;
    asked_pair(&world, &once, &query(&world, &once, &[]), Consent::to_everything()).await;
    for client in [&skipping, &once] {
        for (prompt, silently) in [
            ("", true),
            ("&prompt=none", true),
            ("&prompt=", true),
            ("&prompt=consent", false),
            ("&prompt=login+consent", false),
            ("&%70rompt=consent", false),
            ("&prompt=none&prompt=consent", false),
            ("&prompt=%ff", false),
        ] {
            let asked = query(&world, client, &[]) + prompt;
            assert_eq!(is_silent(&world, &asked).await, silently, "{prompt}");
            // RFC 9126 section 4: the pushed parameters count, and those beside the reference do not.
            let pushed = world.par(client, &[]).raw_body(asked).send().await;
            let reference = reference(client, &pushed) + "&prompt=consent";
            assert_eq!(is_silent(&world, &reference).await, silently, "pushed: {prompt}");
        }
        world.advance(3600);
    }
}

#[tokio::test]
async fn a_pushed_request_is_used_up_by_a_silent_decision() {
    let world = World::with(Profile::Strict, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let skipping = client(&world, AskConsent::Never).await;
    let pushed = world.par(&skipping, &[PKCE[0], PKCE[1], ("redirect_uri", REDIRECT_URI)]).send().await;
    let reference = reference(&skipping, &pushed);
    silent_pair(&world, &skipping, &reference).await;
    page(&world.refused(&reference).await);
}

/// Whether a request whose page was skipped is refused because it was decided before.
async fn is_decided(world: &World, reference: &str, user: &Subject, session: &[u8]) -> bool {
    let request = Request::new("GET").query(reference.as_bytes()).session(session).subject(user);
    let refused = match world.server.authorize(&request).await {
        Ok(pending) => world.server.step(&pending, Some(user), session).await.unwrap_err(),
        Err(refused) => refused,
    };
    let said = refused.reason().to_string();
    let response = refused.response(Some(user));
    assert_eq!((response.status(), response.header("Location")), (400, None));
    ["the request was decided before", "the request_uri is not valid"].contains(&&*said)
}

/// A browser that follows a link twice shows the response to the second request.
#[tokio::test]
async fn a_pushed_request_sent_twice_gets_the_same_code() {
    let world = World::with(Profile::Strict, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let skipping = client(&world, AskConsent::Never).await;
    let mallory = Subject::new("mallory").unwrap();
    let mut codes = Vec::new();
    for end in ["exchange", "time", "withdrawal"] {
        let push = world.par(&skipping, &[PKCE[0], PKCE[1], ("redirect_uri", REDIRECT_URI), ("state", "s")]);
        let reference = reference(&skipping, &push.send().await);
        let first = silent(&world, &reference).await.unwrap();
        world.events.take();
        for seconds in [0, 58] {
            world.advance(seconds);
            assert_eq!(silent(&world, &reference).await.unwrap().header("Location"), first.header("Location"));
        }
        assert_eq!(world.events.take(), Vec::<String>::new(), "it is no second decision");
        assert!(is_decided(&world, &reference, &world.alice, b"another session").await);
        assert!(is_decided(&world, &reference, &mallory, SESSION).await);
        let code = text(&code(&first), "code");
        match end {
            "exchange" => {
                let tokens = pair(&world.exchange_as(&skipping, &code).await);
                // The client may have got the code twice.
                e400(&world.exchange_as(&skipping, &code).await, "invalid_grant");
                assert!(world.opens(&tokens.access).await);
            }
            "time" => world.advance(2),
            _ => assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 3, "a grant, two codes"),
        }
        assert!(is_decided(&world, &reference, &world.alice, SESSION).await, "{end}");
        codes.push(code);
    }
    codes.dedup();
    assert_eq!(codes.len(), 3);
}

/// Both were checked before one was decided.
#[tokio::test]
async fn a_pushed_request_sent_twice_at_once_gets_one_code() {
    let world = World::with(Profile::Strict, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let skipping = client(&world, AskConsent::Never).await;
    let pushed = world.par(&skipping, &[PKCE[0], PKCE[1], ("redirect_uri", REDIRECT_URI)]).send().await;
    let query = reference(&skipping, &pushed);
    let request = Request::new("GET").query(query.as_bytes()).session(SESSION).subject(&world.alice);
    let pending = [world.server.authorize(&request).await.unwrap(), world.server.authorize(&request).await.unwrap()];
    let mut sent = Vec::new();
    for pending in &pending {
        sent.push(world.server.step(pending, Some(&world.alice), SESSION).await.unwrap().response().unwrap());
    }
    assert_eq!(sent[0].header("Location"), sent[1].header("Location"));
    // A decision on a page leads to another code, and no page shows the one of the decision without it.
    let pushed = world.par(&skipping, &[PKCE[0], PKCE[1], ("redirect_uri", REDIRECT_URI)]).send().await;
    let query = reference(&skipping, &pushed);
    let request = Request::new("GET").query(query.as_bytes()).session(SESSION).subject(&world.alice);
    let late = world.server.authorize(&request).await.unwrap();
    allowed(&world, &shown(&world, &query).await).await.unwrap();
    let refused = world.server.step(&late, Some(&world.alice), SESSION).await.unwrap_err();
    assert_eq!(refused.reason().to_string(), "the request was decided before");
    assert_eq!(refused.response(Some(&world.alice)).header("Location"), None);
}

/// A page that sends a browser here again and again gets few codes.
#[tokio::test]
async fn beyond_the_bounds_the_page_is_shown() {
    let world = World::with(Profile::Strict, |config| config.limits.consent_requests = 20).await;
    let skipping = client(&world, AskConsent::Never).await;
    let asked = query(&world, &skipping, &[]);
    for number in 0..4 {
        assert!(is_silent(&world, &asked).await, "{number}");
    }
    assert!(!is_silent(&world, &asked).await);
    let other = client(&world, AskConsent::Never).await;
    assert!(is_silent(&world, &query(&world, &other, &[])).await);
    world.advance(3600);
    assert!(is_silent(&world, &asked).await);
}

/// CIMD-8.3-01
#[tokio::test]
async fn a_silent_decision_ends_no_grant() {
    let world = World::with(Profile::Strict, |config| config.limits.grants = 3).await;
    let skipping = client(&world, AskConsent::Never).await;
    let asked = query(&world, &skipping, &[]);
    let first = silent_pair(&world, &skipping, &asked).await;
    world.advance(3600);
    let second = silent_pair(&world, &skipping, &asked).await;
    world.advance(3600);
    let third = silent_pair(&world, &skipping, &asked).await;
    world.advance(3600);
    assert!(!is_silent(&world, &asked).await);
    for live in [&first, &second, &third] {
        assert!(world.opens(&live.access).await);
    }
}

#[tokio::test]
async fn a_silent_decision_counts_for_the_throttle() {
    let mut limits = ThrottleLimits::default();
    limits.consent_requests = Rate::new(2, Duration::from_secs(60));
    let clock = ManualClock::new(Timestamp::from_seconds(START));
    let throttle = MemoryThrottle::with_limits(limits).with_clock(clock);
    let world = World::built(config_of(Profile::Strict), |builder| builder.throttle(throttle)).await;
    let skipping = client(&world, AskConsent::Never).await;
    let query = query(&world, &skipping, &[]);
    assert!(is_silent(&world, &query).await && is_silent(&world, &query).await);
    let pending = world.authorize(&query).await.unwrap();
    let refused = world.server.step(&pending, Some(&world.alice), SESSION).await.unwrap_err();
    assert_eq!(refused.response(Some(&world.alice)).status(), 429);
}

#[tokio::test]
async fn users_of_a_client_are_asked_once() {
    let world = World::strict().await;
    let once = client(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[("scope", "repo-code:r repo-issue:rw")]);
    assert!(!is_silent(&world, &asked).await);
    let first = asked_pair(&world, &once, &asked, Consent::to_everything()).await;
    let second = silent_pair(&world, &once, &asked).await;
    assert_eq!((second.scope.as_str(), world.opens(&first.access).await), (first.scope.as_str(), true));
    // A refresh keeps it, and fewer scopes are covered.
    let first = pair(&world.refresh_as(&once, &first.refresh).await);
    assert!(is_silent(&world, &query(&world, &once, &[("scope", "repo-issue:r")])).await);
    for other in [
        query(&world, &once, &[("scope", "repo-code:rw repo-issue:rw")]),
        query(&world, &once, &[]),
        query(&world, &once, &[("scope", "repo-code:r"), ("redirect_uri", OTHER_URI)]),
    ] {
        assert!(!is_silent(&world, &other).await, "{other}");
    }
    let bob = Subject::new("bob").unwrap();
    assert!(answer(&world.server, Request::new("GET").query(asked.as_bytes()), Some(&bob)).await.is_none());
    // Only a live grant counts.
    for tokens in [&first, &second] {
        assert!(is_silent(&world, &asked).await);
        world.revoke_as(&once, &tokens.refresh).await;
    }
    assert!(!is_silent(&world, &asked).await);
}

#[tokio::test]
async fn a_part_that_the_user_chose_covers_no_more() {
    let world = World::strict().await;
    let once = client(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[("scope", "repo-code:r repo-issue:rw")]);
    asked_pair(&world, &once, &asked, Consent::to_everything().scopes(["repo-code:r"])).await;
    assert!(!is_silent(&world, &asked).await);
    let code_alone = query(&world, &once, &[("scope", "repo-code:r")]);
    assert!(is_silent(&world, &code_alone).await);
    let other = client(&world, AskConsent::Once).await;
    let asked = query(&world, &other, &[]);
    asked_pair(&world, &other, &asked, Consent::to_everything().resources(["team/one"])).await;
    assert!(!is_silent(&world, &asked).await, "the request is for all resources");
}

#[tokio::test]
async fn a_consent_covers_the_protected_resources_that_it_was_for() {
    const ONE: &str = "https://one.example/api";
    const TWO: &str = "https://two.example/api";
    let mut config = config_of(Profile::Strict);
    config.scopes = own_scopes();
    config.resources = vec![resource(ONE, &[]), resource(TWO, &[])];
    let world = World::built(config, |builder| builder).await;
    let once = client(&world, AskConsent::Once).await;
    let asked = |resources: &[&str]| {
        let resources: Vec<_> = resources.iter().map(|own| ("resource", *own)).collect();
        query(&world, &once, &resources)
    };
    asked_pair(&world, &once, &asked(&[ONE]), Consent::to_everything()).await;
    assert!(is_silent(&world, &asked(&[ONE])).await);
    assert!(!is_silent(&world, &asked(&[TWO])).await && !is_silent(&world, &asked(&[ONE, TWO])).await);
    asked_pair(&world, &once, &asked(&[ONE, TWO]), Consent::to_everything()).await;
    assert!(is_silent(&world, &asked(&[TWO])).await && is_silent(&world, &asked(&[ONE, TWO])).await);
}

#[tokio::test]
async fn a_changed_registration_asks() {
    let world = World::strict().await;
    let once = client(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[("scope", "repo-code:r")]);
    let tokens = asked_pair(&world, &once, &asked, Consent::to_everything()).await;
    let registrar = world.server.registrar().unwrap();
    registrar.rotate_now(&once.client_id()).await.unwrap();
    assert!(is_silent(&world, &asked).await, "a secret is not registered");
    rename(&world, &once, "Other App").await;
    assert!(!is_silent(&world, &asked).await);
    assert!(world.opens(&tokens.access).await);
    rename(&world, &once, "Example App").await;
    assert!(is_silent(&world, &asked).await, "as it was");
    registrar.revoke_grants(&once.client_id()).await.unwrap();
    assert!(!is_silent(&world, &asked).await);
}

/// The registration changes while the page is shown.
#[tokio::test]
async fn what_the_page_showed_is_remembered() {
    let world = World::strict().await;
    let once = client(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[("scope", "repo-code:r")]);
    let ticket = shown(&world, &asked).await;
    rename(&world, &once, "Other App").await;
    let answer = allowed(&world, &ticket).await.unwrap();
    pair(&world.exchange_as(&once, &text(&code(&answer), "code")).await);
    assert!(!is_silent(&world, &asked).await);
    rename(&world, &once, "Example App").await;
    assert!(is_silent(&world, &asked).await, "as the page showed it");
}

/// The user decides 1000 seconds later.
#[tokio::test]
async fn a_remembered_consent_is_as_old_as_its_page() {
    let world = World::strict().await;
    let once = client(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[]);
    let ticket = shown(&world, &asked).await;
    world.advance(1000);
    let answer = allowed(&world, &ticket).await.unwrap();
    pair(&world.exchange_as(&once, &text(&code(&answer), "code")).await);
    world.advance(100 * DAY);
    silent_pair(&world, &once, &asked).await;
    world.advance(80 * DAY - 1001);
    assert!(is_silent(&world, &asked).await);
    world.advance(1);
    assert!(!is_silent(&world, &asked).await);
}

#[tokio::test]
async fn a_skipped_consent_is_not_remembered() {
    let world = World::strict().await;
    let skipping = client(&world, AskConsent::Never).await;
    let asked = query(&world, &skipping, &[]);
    silent_pair(&world, &skipping, &asked).await;
    set(&world, &skipping, AskConsent::Once).await.unwrap();
    assert!(!is_silent(&world, &asked).await);
    // Nor is one that was given while users were asked each time.
    let always = client(&world, AskConsent::Always).await;
    let asked = query(&world, &always, &[]);
    asked_pair(&world, &always, &asked, Consent::to_everything()).await;
    set(&world, &always, AskConsent::Once).await.unwrap();
    assert!(!is_silent(&world, &asked).await);
}

#[tokio::test]
async fn a_chain_of_remembered_consents_ends_180_days_after_the_page() {
    let world = World::strict().await;
    let once = client(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[]);
    asked_pair(&world, &once, &asked, Consent::to_everything()).await;
    world.advance(100 * DAY);
    let second = silent_pair(&world, &once, &asked).await;
    world.advance(80 * DAY - 1);
    let third = silent_pair(&world, &once, &asked).await;
    world.advance(1);
    assert!(!is_silent(&world, &asked).await);
    for tokens in [&second, &third] {
        pair(&world.refresh_as(&once, &tokens.refresh).await);
    }
}

/// A cached client must not hide that its privilege was withdrawn.
#[tokio::test]
async fn a_withdrawn_privilege_counts_at_once() {
    let world = World::strict().await;
    let skipping = client(&world, AskConsent::Never).await;
    let asked = query(&world, &skipping, &[]);
    let request = Request::new("GET").query(asked.as_bytes());
    let pending = world.server.authorize(&request).await.unwrap();
    set(&world, &skipping, AskConsent::Always).await.unwrap();
    assert!(matches!(world.server.step(&pending, Some(&world.alice), SESSION).await.unwrap(), NextStep::Ask));
    let registrar = world.server.registrar().unwrap();
    set(&world, &skipping, AskConsent::Never).await.unwrap();
    registrar.suspend(&skipping.client_id()).await.unwrap();
    let refused = world.server.step(&pending, Some(&world.alice), SESSION).await.unwrap_err();
    page(&refused.response(Some(&world.alice)));
}

/// The scopes of the client are reduced after the check, so nothing is left to grant. That ends the request.
#[tokio::test]
async fn lost_scopes_are_no_denial_by_the_user() {
    let world = World::strict().await;
    let skipping = client(&world, AskConsent::Never).await;
    let asked = query(&world, &skipping, &[("scope", "repo-code:r")]);
    let pending = world.authorize(&asked).await.unwrap();
    let ticket = shown(&world, &asked).await;
    let registrar = world.server.registrar().unwrap();
    let version = registrar.application(&skipping.client_id()).await.unwrap().version();
    registrar.reduce(&skipping.client_id(), version, Reduction::default().scopes("repo-issue:rw")).await.unwrap();
    world.events.take();
    let silently = world.server.step(&pending, Some(&world.alice), SESSION).await;
    for refused in [silently.unwrap_err(), allowed(&world, &ticket).await.unwrap_err()] {
        red(&refused.response(Some(&world.alice)), "invalid_scope");
        let events = world.events.take();
        assert!(!events.iter().any(|event| event.starts_with("Denied")), "{events:?}");
    }
    allowed(&world, &ticket).await.unwrap_err();
    let events = world.events.take();
    assert!(events.iter().any(|event| event.contains("AlreadyDecided")), "{events:?}");
}

#[tokio::test]
async fn a_flow_shows_the_page_only_where_it_is_needed() {
    let world = World::strict().await;
    let once = client(&world, AskConsent::Once).await;
    let flow = Flow::new(&world.server, Plain);
    let mut visit = Visit::new(&flow);
    visit.sign_in("alice");
    let asked = query(&world, &once, &[("scope", "repo-code:r")]);
    let first = visit.get(Route::Authorization, &asked).await;
    // An answer that chooses nothing shows the page again, even if an earlier consent would do.
    let tokens = asked_pair(&world, &once, &asked, Consent::to_everything()).await;
    let again = visit.answered(&first, "allow", &[]).await;
    assert_eq!((again.status(), line(&again, "problem").as_str()), (422, "Some(NoScope)"));
    let silently = visit.get(Route::Authorization, &asked).await;
    assert_eq!(silently.status(), 303);
    pair(&world.exchange_as(&once, &text(&code(&silently), "code")).await);
    red(&visit.answered(&again, "deny", &[]).await, "access_denied");
    assert!(world.opens(&tokens.access).await);
    let asking = visit.get(Route::Authorization, &(asked + "&prompt=consent")).await;
    assert_eq!(asking.status(), 200);
    assert_eq!(line(&asking, "user"), "alice@example.com");
}

/// The answer was to deny, and it was lost with the sign-in.
#[tokio::test]
async fn a_user_whose_answer_was_lost_is_asked() {
    let world = World::with(Profile::Strict, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let once = client(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[]);
    let pushed = world.par(&once, &[]).raw_body(asked.as_str()).send().await;
    let flow = Flow::new(&world.server, Plain);
    for request in [asked.clone(), reference(&once, &pushed)] {
        let mut visit = Visit::new(&flow);
        visit.sign_in("alice");
        let page = visit.get(Route::Authorization, &request).await;
        assert_eq!(page.status(), 200, "{request}");
        // In another tab, the user allows the same.
        asked_pair(&world, &once, &asked, Consent::to_everything()).await;
        visit.user = None;
        let return_to = sign_in(visit.answer(&page, "deny", &[]).await);
        visit.sign_in("alice");
        let (_, again) = return_to.as_str().split_once('?').unwrap();
        let again = visit.get(Route::Authorization, again).await;
        assert_eq!(again.status(), 200, "{request}");
        red(&visit.answered(&again, "deny", &[]).await, "access_denied");
        world.server.revoke_subject(&world.alice).await.unwrap();
    }
}

#[tokio::test]
async fn an_application_of_another_owner_asks_each_time() {
    let world = World::strict().await;
    let skipping = client(&world, AskConsent::Never).await;
    let asked = query(&world, &skipping, &[]);
    assert!(is_silent(&world, &asked).await);
    let registrar = world.server.registrar().unwrap();
    let version = registrar.application(&skipping.client_id()).await.unwrap().version();
    registrar.transfer(&skipping.client_id(), version, Subject::new("another").unwrap()).await.unwrap();
    assert!(!is_silent(&world, &asked).await);
}
