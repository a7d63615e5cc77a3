//! Requests that ask who has signed in [OpenID Connect Core section 3.1.2].

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::authorization::NextStep;
use grantor::client::AskConsent;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, PkceRequirement, Profile, PushedRequests};
use grantor::hooks::ApproveWithin;
use grantor::interaction::{Flow, Route, SignIn, SignedIn};
use grantor::scope::ResourceScope;
use grantor::store::{Authorization, Grant, Page, Record, RecordStore};
use grantor::wire::{Body, Request};
use grantor::{Approval, Clock as _, Config, Consent, Decision, Subject, Timestamp};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::{built, config};
use crate::interaction::{Plain, Visit, respond, sign_in};
use crate::rfc7591;
use support::world::{
    Credentials, ISSUER, PKCE, REDIRECT_URI, SESSION, With as _, World, code, config_of, created, e400, encode, form,
    ok, pair, public_form, red, redirect, text,
};

const NONCE: (&str, &str) = ("nonce", "n-0S6_WzA2Mj");

/// A world whose clients may ask who has signed in, and one such client.
pub(crate) async fn world() -> (World, Credentials) {
    world_with(|_| {}).await
}

async fn world_with(change: impl FnOnce(&mut Config)) -> (World, Credentials) {
    let mut config = config();
    change(&mut config);
    let world = built(config, |builder| builder).await;
    let client = of_kind(&world, AskConsent::Always).await;
    (world, client)
}

/// The query of an OpenID request.
pub(crate) fn query(world: &World, client: &Credentials, more: &[(&str, &str)]) -> String {
    world.query_of(client, &[&PKCE[..], &[URI, ("scope", "openid repo-code:r")], more].concat())
}

pub(crate) fn signed_in(world: &World, sign_in: SignIn) -> SignedIn {
    SignedIn::new(world.alice.clone()).sign_in(sign_in)
}

fn loa1(world: &World) -> SignIn {
    SignIn::at(world.clock.now()).with_acr("loa1").unwrap().with_amr(["pwd", "otp"]).unwrap()
}

fn everything() -> Decision {
    Decision::Approve(Consent::to_everything())
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Whether an authorization and a grant of the world's user have that text.
async fn is_stored(world: &World, text: &str) -> [bool; 2] {
    let store = &world.store;
    let codes = RecordStore::<Authorization>::list(store, "alice", Page::first(100)).await.unwrap();
    let grants = RecordStore::<Grant>::list(store, "alice", Page::first(100)).await.unwrap();
    [codes.iter().any(|row| has(&row.encode(), text)), grants.iter().any(|row| has(&row.encode(), text))]
}

/// SIGNIN-02, SIGNIN-06, SIGNIN-07
#[tokio::test]
async fn the_sign_in_of_the_page_goes_to_the_grant() {
    let (world, client) = world().await;
    let pending = world.authorize(&query(&world, &client, &[NONCE, ("acr_values", "loa3")])).await.unwrap();
    let user = signed_in(&world, loa1(&world));
    let ticket = world.server.hold(&pending, &user, SESSION).await.unwrap();
    for stored in ["loa1", "otp", NONCE.1] {
        assert_eq!(is_stored(&world, stored).await, [true, false], "{stored}");
    }
    // A sign-in after the page changes nothing.
    let later = signed_in(&world, SignIn::at(world.clock.now()).with_acr("loa9").unwrap());
    for session in [b"another".as_slice(), SESSION] {
        let answer = world.server.decide(ticket.expose(), &later, session, &everything()).await;
        assert_eq!(answer.is_ok(), session == SESSION, "a page belongs to the session that it was shown in");
        let Ok(answer) = answer else { continue };
        ok(&world.exchange_as(&client, &text(&code(&answer), "code")).await);
    }
    for (stored, expected) in [("loa1", true), ("otp", true), (NONCE.1, false), ("loa3", false), ("loa9", false)] {
        assert_eq!(is_stored(&world, stored).await[1], expected, "{stored}");
    }
    let grants = world.server.grants_of(&world.alice).await.unwrap();
    assert_eq!(grants[0].sign_in(), Some(&loa1(&world)));
}

/// SIGNIN-01, SIGNIN-06
#[tokio::test]
async fn a_request_of_oauth_and_a_bare_subject_keep_no_sign_in() {
    let (world, client) = world().await;
    let plain = world.query_of(&client, &[&PKCE[..], &[NONCE, ("scope", "repo-code:r")]].concat());
    let user = signed_in(&world, loa1(&world));
    let pending = world.authorize(&plain).await.unwrap();
    world.server.hold(&pending, &user, SESSION).await.unwrap();
    let pending = world.authorize(&query(&world, &client, &[])).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    for stored in ["loa1", NONCE.1] {
        assert_eq!(is_stored(&world, stored).await, [false; 2], "{stored}");
    }
}

/// SIGNIN-01
#[tokio::test]
async fn a_sign_in_in_the_future_is_refused_and_reported() {
    let (world, client) = world().await;
    let pending = world.authorize(&query(&world, &client, &[])).await.unwrap();
    for (ahead, expected) in [(60, true), (61, false)] {
        world.events.take();
        let at = Timestamp::from_seconds(world.clock.now().seconds() + ahead);
        let held = world.server.hold(&pending, &signed_in(&world, SignIn::at(at)), SESSION).await;
        assert_eq!(held.is_ok(), expected, "{ahead}");
        if let Err(error) = held {
            assert!(error.to_string().contains("the sign-in is more than 60 s"), "{error}");
            let events = world.events.take();
            assert!(events.iter().any(|event| event.contains("SignInInTheFuture")), "{events:?}");
        }
    }
}

/// OIDC-3-03
#[tokio::test]
async fn a_nonce_is_a_text_of_at_most_512_bytes() {
    let (world, client) = world().await;
    let hostile = "\"\\\u{e9}<'";
    let longest = "\u{e9}".repeat(256);
    for nonce in [hostile, &longest] {
        let pending = world.authorize(&query(&world, &client, &[("nonce", nonce)])).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        assert!(is_stored(&world, nonce).await[0], "{nonce}");
    }
    for nonce in ["x".repeat(513), "a\u{7f}".into(), "a\nb".into(), "\u{85}".into()] {
        let refused = world.refused(&query(&world, &client, &[("nonce", &nonce)])).await;
        red(&refused, "invalid_request");
    }
    let refused = world.refused(&(query(&world, &client, &[]) + "&nonce=%ff")).await;
    red(&refused, "invalid_request");
    let twice = world.refused(&query(&world, &client, &[NONCE, NONCE])).await;
    red(&twice, "invalid_request");
    let long = "x".repeat(513);
    let plain = [&PKCE[..], &[("nonce", &*long), ("scope", "repo-code:r")]].concat();
    assert!(world.authorize(&world.query_of(&client, &plain)).await.is_ok(), "without openid it is ignored");
}

/// How a step ends, in one word: a page, `code`, or the error that goes to the client.
async fn step(world: &World, query: &str, user: Option<&SignedIn>) -> String {
    step_of(world, Request::new("GET").query(query.as_bytes()), user).await
}

async fn step_of(world: &World, request: Request<'_>, user: Option<&SignedIn>) -> String {
    let subject = user.map(SignedIn::subject);
    let request = subject.into_iter().fold(request.session(SESSION), Request::subject);
    let taken = match world.server.authorize(&request).await {
        Ok(pending) => world.server.step(&pending, user, SESSION).await,
        Err(error) => Err(error),
    };
    match taken {
        Ok(NextStep::SelectAccount) => "select".to_owned(),
        Ok(NextStep::SignIn) => "sign in".to_owned(),
        Ok(NextStep::Ask) => "ask".to_owned(),
        Ok(NextStep::Respond(response)) => {
            code(&response);
            "code".to_owned()
        }
        Err(error) if subject.is_none() && error.needs_sign_in() => "sign in".to_owned(),
        Err(error) => match error.response(subject) {
            response if response.header("Location").is_some() => {
                let parameters = redirect(&response);
                assert_eq!(text(&parameters, "iss"), ISSUER);
                text(&parameters, "error")
            }
            response => format!("page {}", response.status()),
        },
    }
}

/// A client of that kind, which may ask who has signed in.
async fn of_kind(world: &World, ask_consent: AskConsent) -> Credentials {
    let form = form().with(|form| form.scopes = format!("openid {}", form.scopes));
    world.register_as(form, Approval::default().ask_consent(ask_consent)).await
}

/// A sign-in so many seconds ago.
fn ago(world: &World, seconds: u32) -> SignedIn {
    signed_in(world, SignIn::at(Timestamp::from_seconds(world.clock.now().seconds() - seconds)))
}

/// SIGNIN-03, SIGNIN-04, OIDC-3-04, OIDC-3-09
#[tokio::test]
async fn a_step_follows_prompt_and_max_age() {
    let (world, always) =
        world_with(|config| (config.limits.consent_requests, config.limits.grants) = (800, 800)).await;
    let never = of_kind(&world, AskConsent::Never).await;
    let since = |seconds: u32| (world.clock.now().seconds() - seconds).to_string();
    let [now, before, late] = [since(0), since(9), since(3600)];
    let nine = ago(&world, 9);
    for (more, of_always, of_never) in [
        (vec![], "ask", "code"),
        (vec![("prompt", "login")], "sign in", "sign in"),
        (vec![("prompt", "login"), ("signed_in_since", &*now)], "sign in", "sign in"),
        (vec![("prompt", "login"), ("signed_in_since", &before)], "ask", "code"),
        (vec![("prompt", "login"), ("signed_in_since", &late)], "sign in", "sign in"),
        (vec![("prompt", "login"), ("signed_in_since", "9999999999")], "sign in", "sign in"),
        (vec![("prompt", "login consent"), ("signed_in_since", &before)], "ask", "ask"),
        (vec![("signed_in_since", &now), ("signed_in_since", &now)], "invalid_request", "invalid_request"),
        (vec![("prompt", "LOGIN")], "ask", "code"),
        (vec![("prompt", "create")], "ask", "code"),
        (vec![("prompt", "")], "ask", "code"),
        (vec![("prompt", "consent")], "ask", "ask"),
        (vec![("prompt", "select_account")], "select", "select"),
        (vec![("prompt", "select_account login")], "select", "select"),
        (vec![("prompt", "select_account"), ("signed_in_since", &now)], "ask", "code"),
        (vec![("prompt", "login"), ("prompt", "login")], "invalid_request", "invalid_request"),
        (vec![("prompt", "none login")], "invalid_request", "invalid_request"),
        (vec![("max_age", "10")], "ask", "code"),
        (vec![("max_age", "9")], "sign in", "sign in"),
        (vec![("max_age", "0")], "sign in", "sign in"),
        (vec![("max_age", "9"), ("signed_in_since", &before)], "ask", "code"),
        (vec![("max_age", "-1")], "invalid_request", "invalid_request"),
        (vec![("max_age", "1.5")], "invalid_request", "invalid_request"),
        (vec![("max_age", "+5")], "invalid_request", "invalid_request"),
        (vec![("max_age", "1e3")], "invalid_request", "invalid_request"),
        (vec![("max_age", "")], "ask", "code"),
        (vec![("max_age", "999999999999999999999999999999")], "ask", "code"),
    ] {
        for (client, expected) in [(&always, of_always), (&never, of_never)] {
            // They are honoured without `openid`, too.
            for scope in ["openid repo-code:r", "repo-code:r"] {
                let query = world.query_of(client, &[&PKCE[..], &[URI, ("scope", scope)], &more].concat());
                assert_eq!(step(&world, &query, Some(&nine)).await, expected, "{more:?} {scope}");
            }
        }
    }
}

const URI: (&str, &str) = ("redirect_uri", REDIRECT_URI);

/// OIDC-3-09
#[tokio::test]
async fn a_sign_in_without_a_time_fails_where_the_time_matters() {
    let (world, client) = world().await;
    let bare = SignedIn::new(world.alice.clone());
    world.events.take();
    for more in [("max_age", "60"), ("prompt", "login")] {
        assert_eq!(step(&world, &query(&world, &client, &[more]), Some(&bare)).await, "server_error");
        let events = world.events.take();
        assert!(events.iter().any(|event| event.contains("SignInTimeUnknown")), "{events:?}");
    }
    assert_eq!(step(&world, &query(&world, &client, &[]), Some(&bare)).await, "ask");
}

/// SIGNIN-03
#[tokio::test]
async fn a_page_is_held_for_a_sign_in_that_is_good_alone() {
    let (world, client) = world().await;
    let bare = SignedIn::new(world.alice.clone());
    for (more, user, is_held) in [
        (("max_age", "10"), ago(&world, 9), true),
        (("max_age", "9"), ago(&world, 9), false),
        (("max_age", "9"), bare.clone(), false),
        (("prompt", "login"), ago(&world, 0), false),
        (("prompt", "consent"), bare.clone(), true),
    ] {
        world.events.take();
        let before = RecordStore::<Authorization>::list(&world.store, "alice", Page::first(100)).await.unwrap().len();
        let pending = world.authorize(&query(&world, &client, &[more])).await.unwrap();
        let held = world.server.hold(&pending, &user, SESSION).await;
        assert_eq!(held.is_ok(), is_held, "{more:?}");
        let Err(error) = held else { continue };
        red(&error.response(Some(&world.alice)), "login_required");
        assert!(world.events.take().iter().any(|event| event.contains("LoginRequired")));
        let after = RecordStore::<Authorization>::list(&world.store, "alice", Page::first(100)).await.unwrap().len();
        assert_eq!(after, before, "nothing is stored");
    }
}

/// OIDC-3-05, OIDC-3-06, OIDC-3-07, OIDC-3-19, NEG-ID-01, NEG-ID-02
#[tokio::test]
async fn prompt_none_shows_no_page() {
    let (world, always) = world().await;
    let [once, never] = [of_kind(&world, AskConsent::Once).await, of_kind(&world, AskConsent::Never).await];
    let silent =
        |client: &Credentials, more: &[(&str, &str)]| query(&world, client, &[&[("prompt", "none")], more].concat());
    let now = ago(&world, 0);
    let several = ago(&world, 0).with_several_accounts();
    for (client, more, user, expected) in [
        (&always, vec![], None, "login_required"),
        (&always, vec![("scope", "openid")], None, "invalid_request"),
        (&always, vec![("max_age", "-1")], None, "invalid_request"),
        (&always, vec![], Some(&now), "consent_required"),
        (&once, vec![], Some(&now), "consent_required"),
        (&never, vec![], Some(&now), "code"),
        (&never, vec![("max_age", "0")], Some(&now), "login_required"),
        (&never, vec![("max_age", "0")], Some(&several), "login_required"),
        (&never, vec![], Some(&several), "account_selection_required"),
        (&never, vec![("prompt", "none")], Some(&now), "invalid_request"),
        (&never, vec![("claims", "{")], Some(&now), "code"),
    ] {
        assert_eq!(step(&world, &silent(client, &more), user).await, expected, "{more:?}");
    }
    assert_eq!(step(&world, &query(&world, &never, &[("prompt", "none none")]), Some(&now)).await, "code");
    assert_eq!(step(&world, &query(&world, &never, &[("prompt", "none login")]), None).await, "invalid_request");
    // Nothing goes to a redirect URI or a client that is not established.
    let foreign = silent(&never, &[]).replace("app.example.com", "evil.example");
    assert_eq!(step(&world, &foreign, None).await, "page 400");
    let unknown = Credentials { id: "unknown".to_owned(), secret: String::new() };
    assert!(step(&world, &silent(&unknown, &[]), None).await.starts_with("page"));
    // A frame, a prefetch and a HEAD request are answered without a page, too.
    let hidden = silent(&never, &[]);
    let request = Request::new("GET").query(hidden.as_bytes());
    let frame = request.header("Sec-Fetch-Mode", b"navigate").header("Sec-Fetch-Dest", b"iframe");
    let prefetch = request.header("Sec-Purpose", b"prefetch");
    let head = Request::new("HEAD").query(hidden.as_bytes());
    for request in [frame, prefetch, head] {
        assert_eq!(step_of(&world, request, Some(&now)).await, "interaction_required");
        assert_eq!(step_of(&world, request, None).await, "login_required");
    }
    // A page for it is refused.
    let pending = world.authorize(&silent(&always, &[])).await.unwrap();
    let error = world.server.hold(&pending, &now, SESSION).await.unwrap_err();
    red(&error.response(None), "consent_required");
}

/// OIDC-3-06: an earlier consent answers, until it is revoked.
#[tokio::test]
async fn prompt_none_is_answered_from_an_earlier_consent() {
    let (world, _) = world().await;
    let once = of_kind(&world, AskConsent::Once).await;
    let asked = query(&world, &once, &[]);
    let silent = query(&world, &once, &[("prompt", "none")]);
    let now = ago(&world, 0);
    assert_eq!(step(&world, &silent, Some(&now)).await, "consent_required");
    ok(&world.exchange_as(&once, &world.code_for(&asked).await).await);
    assert_eq!(step(&world, &silent, Some(&now)).await, "code");
    assert_eq!(step(&world, &query(&world, &once, &[("prompt", "consent")]), Some(&now)).await, "ask");
    world.server.revoke_subject(&world.alice).await.unwrap();
    assert_eq!(step(&world, &silent, Some(&now)).await, "consent_required");
}

/// OIDC-3-05, NEG-ID-09
#[tokio::test]
async fn prompt_none_leads_to_no_unreviewed_client_without_a_user() {
    let (other, _) = world().await;
    let scopes = other.server.config().scopes.parse(b"openid repo-code:r").unwrap();
    let policy = ApproveWithin::new(RegistrationBounds::new(scopes, ResourceScope::All));
    let mut config = config();
    (config.public_clients, config.registration.dynamic) = (true, DynamicRegistration::Open);
    let world = built(config, |builder| builder.registration_policy(policy)).await;
    let client = rfc7591::register(&world, rfc7591::public()).await;
    let silent = [("scope", "openid"), ("prompt", "none")];
    let silent = rfc7591::query(&world, &client, REDIRECT_URI, &silent);
    assert!(step(&world, &silent, None).await.starts_with("page"), "the client is unreviewed");
}

/// OIDC-3-01, OIDC-3-12, OIDC-3-13, OIDC-3-14, OIDC-3-15
#[tokio::test]
async fn what_is_not_supported_is_refused_by_name() {
    let (world, client) = world_with(|config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let now = ago(&world, 0);
    for (more, expected) in [
        (("request", "e30.e30."), "request_not_supported"),
        (("registration", "{}"), "registration_not_supported"),
        (("request_uri", "https://app.example.com/r"), "request_uri_not_supported"),
        (("response_mode", "form_post"), "invalid_request"),
        (("response_mode", "fragment"), "invalid_request"),
        (("response_mode", "jwt"), "invalid_request"),
        (("response_mode", "query"), "ask"),
        (("claims", "{\"userinfo\":{\"name\":{\"essential\":true}}}"), "ask"),
        (("claims", "{"), "ask"),
        (("request_uri", "urn:ietf:params:oauth:request_uri:x"), "page 400"),
    ] {
        let asked = query(&world, &client, &[more]);
        assert_eq!(step(&world, &asked, Some(&now)).await, expected, "{more:?}");
        let foreign = asked.replace("app.example.com%2Fcb", "app.example.com%2Fother");
        assert_eq!(step(&world, &foreign, Some(&now)).await, "page 400", "{more:?}");
    }
    e400(
        &world.par(&client, &[&PKCE[..], &[URI, ("request", "e30.e30.")]].concat()).send().await,
        "request_not_supported",
    );
    let without_uri = world.query_of(&client, &[&PKCE[..], &[("scope", "openid")]].concat());
    assert_eq!(step(&world, &without_uri, Some(&now)).await, "page 400");
    let of_oauth = world.query_of(&client, &[&PKCE[..], &[("scope", "repo-code:r")]].concat());
    assert_eq!(step(&world, &of_oauth, Some(&now)).await, "ask");
    // Unknown scopes are dropped, each time anew.
    for _ in 0..4 {
        let asked = world.query_of(&client, &[&PKCE[..], &[URI, ("scope", "openid groups")]].concat());
        let answer = world.exchange_as(&client, &world.code_for(&asked).await).await;
        assert_eq!(ok(&answer).scope.as_deref(), Some("openid"));
    }
    for (scope, expected) in
        [("openid account-email:rw", "invalid_scope"), ("groups", "invalid_scope"), (" openid", "ask")]
    {
        let asked = world.query_of(&client, &[&PKCE[..], &[URI, ("scope", scope)]].concat());
        assert_eq!(step(&world, &asked, Some(&now)).await, expected, "{scope}");
    }
}

/// OIDC-3-17
#[tokio::test]
async fn an_approval_without_openid_is_a_refusal() {
    let (world, client) = world().await;
    for (scopes, is_code) in [(&["openid", "repo-code:r"][..], true), (&["openid"], true), (&["repo-code:r"], false)] {
        let consent = Consent::chosen(scopes.iter().copied(), []);
        let answer = world.decide(&query(&world, &client, &[]), Decision::Approve(consent)).await;
        if is_code { drop(code(&answer)) } else { drop(red(&answer, "access_denied")) }
    }
}

/// OIDC-3-11
#[tokio::test]
async fn hints_reach_the_pages_and_cause_no_error() {
    let (world, client) = world().await;
    let many = (0..100).map(|number| format!("loa{number}")).collect::<Vec<_>>().join(" ");
    let long = "x".repeat(10_000);
    let more = [
        ("login_hint", "<script>"),
        ("ui_locales", "se xx-!! de"),
        ("display", "foo"),
        ("acr_values", &*many),
        ("claims_locales", "fr-CA"),
    ];
    let pending = world.authorize(&query(&world, &client, &more)).await.unwrap();
    let hints = pending.sign_in_hints().unwrap();
    assert_eq!((hints.login_hint(), hints.display()), (Some("<script>"), None));
    assert_eq!(hints.ui_locales().collect::<Vec<_>>(), ["se", "de"]);
    assert_eq!(hints.claims_locales().collect::<Vec<_>>(), ["fr-CA"]);
    assert_eq!((hints.acr_values().count(), hints.acr_values().next()), (16, Some("loa0")));
    let pending =
        world.authorize(&query(&world, &client, &[("login_hint", &long), ("display", "popup")])).await.unwrap();
    let hints = pending.sign_in_hints().unwrap();
    assert_eq!((hints.login_hint(), hints.display()), (None, Some("popup")));
}

/// SIGNIN-04: a pushed request keeps what it says, and its time is that of the push.
#[tokio::test]
async fn a_pushed_request_is_signed_in_for_once() {
    let (world, client) = world_with(|config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let more = [&PKCE[..], &[URI, ("scope", "openid"), ("prompt", "login"), ("max_age", "1")]].concat();
    let pushed = created(&world.par(&client, &more).send().await);
    let reference = encode(&[("client_id", &client.id), ("request_uri", &pushed)]);
    assert_eq!(step(&world, &reference, Some(&ago(&world, 1))).await, "sign in");
    world.advance(3);
    let user = ago(&world, 0);
    world.advance(5);
    assert_eq!(step(&world, &reference, Some(&user)).await, "ask");
    let early = signed_in(&world, SignIn::at(Timestamp::from_seconds(world.clock.now().seconds() - 9)));
    assert_eq!(step(&world, &(reference + "&signed_in_since=0"), Some(&early)).await, "sign in");
}

/// SIGNIN-04, SIGNIN-05, OIDC-3-08, NEG-ID-03: by the pages, one sign-in is enough, and going back is none.
#[tokio::test]
async fn a_flow_asks_for_one_sign_in() {
    let (world, client) = world().await;
    let flow = Flow::new(&world.server, Plain);
    let state = "%7e%3D%26&unknown=1&unknown=2";
    for more in [("prompt", "login"), ("max_age", "0"), ("max_age", "1")] {
        let asked = query(&world, &client, &[more]) + "&state=" + state;
        let mut visit = Visit::new(&flow);
        visit.user = Some(ago(&world, 60));
        let return_to = sign_in(visit.step(Route::Authorization, Request::new("GET").query(asked.as_bytes())).await);
        let (_, back) = return_to.as_str().split_once('?').unwrap();
        assert_eq!(back, format!("{asked}&signed_in_since={}", world.clock.now().seconds()));
        world.advance(5);
        let again = sign_in(visit.step(Route::Authorization, Request::new("GET").query(back.as_bytes())).await);
        assert_eq!(again, return_to, "without a sign-in");
        visit.user = Some(ago(&world, 2));
        for _ in 0..2 {
            let page = visit.get(Route::Authorization, back).await;
            assert_eq!(page.status(), 200, "{more:?}");
            let problem = visit.answered(&page, "allow", &[]).await;
            assert_eq!(problem.status(), 422, "the page again");
            let answer = visit.answered(&problem, "allow", &["openid"]).await;
            assert!(!text(&code(&answer), "code").is_empty());
            assert!(answer.header("Location").unwrap().contains("state=~%3D%26"), "{answer:?}");
        }
    }
}

/// OIDC-3-08
#[tokio::test]
async fn a_flow_lets_the_user_choose_an_account_once() {
    let (world, client) = world().await;
    let flow = Flow::new(&world.server, Plain);
    let asked = query(&world, &client, &[("prompt", "select_account")]);
    let mut visit = Visit::new(&flow);
    visit.user = Some(ago(&world, 60));
    let chosen = visit.get(Route::Authorization, &asked).await;
    let location = chosen.header("Location").unwrap();
    assert!(location.starts_with("/switch?return_to="), "{location}");
    let back = format!("{asked}&signed_in_since={}", world.clock.now().seconds());
    assert!(location.ends_with(&utf8_percent_encode(&back, NON_ALPHANUMERIC).to_string()), "{location}");
    assert_eq!(visit.get(Route::Authorization, &back).await.status(), 200);
}

/// OIDC-3-02
#[tokio::test]
async fn a_form_is_sent_on_as_a_query() {
    const FORM: &[u8] = b"application/x-www-form-urlencoded";
    let (world, client) = world().await;
    let flow = Flow::new(&world.server, Plain);
    let visit = Visit::new(&flow);
    let asked = query(&world, &client, &[NONCE]);
    let post = |body: &'static [u8]| Request::new("POST").query(b"client_id=other").body(Body::Bytes(body));
    let leaked: &'static [u8] = Box::leak(asked.clone().into_bytes().into_boxed_slice());
    let answer = respond(visit.step(Route::Authorization, post(leaked).header("Content-Type", FORM)).await);
    let path = flow.path(Route::Authorization);
    assert_eq!((answer.status(), answer.header("Location")), (303, Some(&*format!("{path}?{asked}"))));
    let long: &'static [u8] = Box::leak(vec![b'x'; 33 * 1024].into_boxed_slice());
    for (request, status) in [
        (post(b"{}").header("Content-Type", b"application/json"), 400),
        (post(long).header("Content-Type", FORM), 413),
        (post(b"x").body(Body::TooLarge).header("Content-Type", FORM), 413),
    ] {
        assert_eq!(respond(visit.step(Route::Authorization, request).await).status(), status);
    }
    let off = World::strict().await;
    let flow = Flow::new(&off.server, Plain);
    let refused = respond(Visit::new(&flow).step(Route::Authorization, post(b"x").header("Content-Type", FORM)).await);
    assert_eq!((refused.status(), refused.header("Allow")), (405, Some("GET, HEAD")));
}

/// OIDC-3-18
#[tokio::test]
async fn a_confidential_client_may_come_without_a_challenge_where_that_is_set() {
    let without =
        |world: &World, client: &Credentials, scope: &str| world.query_of(client, &[URI, ("scope", scope), NONCE]);
    let (strict, client) = world().await;
    let now = ago(&strict, 0);
    assert_eq!(step(&strict, &without(&strict, &client, "openid"), Some(&now)).await, "invalid_request");
    let (world, client) = world_with(|config| {
        (config.authorization.pkce, config.public_clients) = (PkceRequirement::PublicClients, true);
    })
    .await;
    let code = world.code_for(&without(&world, &client, "openid")).await;
    let fields = [("grant_type", "authorization_code"), ("code", &*code), URI];
    ok(&world.token(&fields).client(&client).send().await);
    assert_eq!(step(&world, &without(&world, &client, "repo-code:r"), Some(&now)).await, "invalid_request");
    let public = public_form().with(|form| form.scopes = "openid".into());
    let public = world.register_as(public, Approval::default()).await;
    assert_eq!(step(&world, &without(&world, &public, "openid"), Some(&now)).await, "invalid_request");
    for (profile, has_identity) in [(Profile::Mcp, true), (Profile::Fapi, true), (Profile::Strict, false)] {
        let mut config = config_of(profile);
        config.identity = has_identity.then(|| super::config().identity).flatten();
        config.authorization.pkce = PkceRequirement::PublicClients;
        let error = super::build(config, vec![super::rs256()]).unwrap_err();
        assert!(error.contains("authorization.pkce is PublicClients; only AllClients is accepted"), "{error}");
    }
}

/// OIDC-3-10, NEG-ID-06, NEG-ID-08
#[tokio::test]
async fn a_hint_names_the_user_who_must_sign_in() {
    let (world, client) = world().await;
    let other = of_kind(&world, AskConsent::Always).await;
    let answer = world.exchange_as(&client, &world.code_for(&query(&world, &client, &[])).await).await;
    let token = super::id_token(&answer);
    let access = pair(&answer).access;
    let bob = SignedIn::new(Subject::new("bob").unwrap()).sign_in(SignIn::at(world.clock.now()));
    world.advance(86_400);
    let now = ago(&world, 0);
    let hinted = |client: &Credentials, hint: &str, prompt| {
        query(&world, client, &[("id_token_hint", hint), ("prompt", prompt)])
    };
    assert_eq!(step(&world, &hinted(&client, &token, "consent"), Some(&now)).await, "ask", "it has expired");
    assert_eq!(step(&world, &hinted(&client, &token, "consent"), Some(&bob)).await, "sign in");
    assert_eq!(step(&world, &hinted(&client, &token, "none"), Some(&bob)).await, "login_required");
    assert_eq!(step(&world, &hinted(&client, &token, "none"), Some(&now)).await, "consent_required");
    let pending = world.authorize(&hinted(&client, &token, "consent")).await.unwrap();
    assert_eq!(pending.sign_in_hints().unwrap().subject(), Some(&world.alice));
    let error = world.server.hold(&pending, &bob, SESSION).await.unwrap_err();
    red(&error.response(Some(bob.subject())), "login_required");
    let [header, payload, signature] = parts_of(&token);
    let with_header = |header: Value| format!("{}.{payload}.{signature}", URL_SAFE_NO_PAD.encode(header.to_string()));
    let own: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    let forged = |name: &str, value: &str| {
        let mut header = own.clone();
        header[name] = value.into();
        with_header(header)
    };
    let altered =
        format!("{header}.{payload}.{}{}", if signature.starts_with('A') { "B" } else { "A" }, &signature[1..]);
    for hint in [
        forged("alg", "none"),
        forged("alg", "HS256"),
        forged("alg", "ES256"),
        forged("typ", "at+jwt"),
        forged("kid", "unknown"),
        altered,
        access,
        "x".repeat(9 * 1024),
    ] {
        assert_eq!(step(&world, &hinted(&client, &hint, "consent"), Some(&now)).await, "invalid_request", "{hint}");
        assert_eq!(step(&world, &hinted(&client, &hint, "none"), Some(&now)).await, "login_required", "{hint}");
    }
    assert_eq!(step(&world, &hinted(&other, &token, "consent"), Some(&now)).await, "invalid_request");
}

fn parts_of(token: &str) -> [&str; 3] {
    token.split('.').collect::<Vec<_>>().try_into().unwrap()
}
