//! Section 4: the browser presents the request.

use std::collections::BTreeSet;

use grantor::store::Record;
use grantor::wire::Request;
use grantor::{PendingAuthorization, Reason, Subject};

use super::{PREFIX, approved, decided, held, opened, stored, world, world_with};
use support::world::{
    PKCE, REDIRECT_URI, Reviewer as _, SESSION, With as _, World, code, created, encode, form, page, red, text,
};

/// Returns the error of a visit without a user, which must come before any sign-in.
async fn refused(world: &World, query: &str) -> grantor::AuthorizationError {
    let error = world.visit(query, SESSION, None).await.expect_err("the reference is valid");
    assert!(!error.needs_sign_in(), "{error:?}");
    error
}

/// Checks that a reference shows the error page, without a prior sign-in.
async fn is_dead(world: &World, query: &str) {
    page(&refused(world, query).await.response(None));
}

/// 9126-4-01
#[tokio::test]
async fn a_reference_ends_after_its_lifetime() {
    let world = world().await;
    let uri = world.push().await;
    world.advance(299);
    assert!(world.authorize(&world.reference(&uri)).await.is_ok());
    world.advance(1);
    is_dead(&world, &world.reference(&uri)).await;
}

/// 9126-4-01, NEG-PAR-01
/// An unknown, an altered and another client's reference: all show the same page.
#[tokio::test]
async fn a_reference_is_for_its_client_alone() {
    let world = world().await;
    let other = world.register(form_named("Another App")).await;
    let uri = world.push().await;
    let of_other = encode(&[("client_id", &other.id), ("request_uri", &uri)]);
    let mut altered = uri.clone().into_bytes();
    let last = altered.len() - 2;
    altered[last] = if altered[last] == b'A' { b'B' } else { b'A' };
    let altered = String::from_utf8(altered).unwrap();
    let unknown = format!("{PREFIX}{}", "A".repeat(65));
    let references = [
        of_other,
        world.reference(&altered),
        world.reference(&unknown),
        world.reference(&uri[..uri.len() - 1]),
        world.reference(&format!("{uri}A")),
        world.reference(&uri.replace("urn:", "URN:")),
        world.reference("https://client.example/request.jwt"),
        world.reference("http://169.254.169.254/"),
        world.reference("x"),
        format!("{}&request_uri={uri}", world.reference(&uri)),
        format!("{}&client_id={}", world.reference(&uri), world.client.id),
        encode(&[("request_uri", &*uri)]),
        encode(&[("request_uri", &*uri), ("client_id", "")]),
        encode(&[("request_uri", &*uri), ("client_id", "no such client")]),
    ];
    let expected = refused(&world, &references[0]).await.response(None);
    for reference in &references {
        let error = refused(&world, reference).await;
        let answer = error.response(None);
        page(&answer);
        assert_eq!(answer.body(), expected.body(), "{reference}");
        // The page is the same for a signed-in user.
        let signed_in = world.visit(reference, SESSION, Some(&world.alice)).await.unwrap_err();
        page(&signed_in.response(Some(&world.alice)));
    }
    assert!(world.authorize(&world.reference(&uri)).await.is_ok(), "none of these used the request");
}

fn form_named(name: &str) -> grantor::ApplicationForm {
    form().with(|form| form.name = name.into())
}

/// 9126-4-02
#[tokio::test]
async fn pushed_values_count_and_nothing_else_of_the_query() {
    let world = world().await;
    let pushed = [PKCE[0], PKCE[1], ("state", "pushed"), ("scope", "repo-code:r"), ("redirect_uri", REDIRECT_URI)];
    let uri = created(&world.par(&world.client, &pushed).send().await);
    let reference = world.reference(&uri);
    let others = [
        "state=query&scope=repo-issue:rw&response_type=token",
        "redirect_uri=https://evil.example/cb&redirect_uri=https://evil.example/cb",
        "code_challenge=x&code_challenge_method=plain&scope=a&scope=b&state=1&state=2",
        "state=%zz&%zz=%&resource=https://nowhere.example&scope=%ff",
        "request=e30.e30.&dpop_jkt=x",
        "",
    ];
    for other in others {
        for query in [format!("{reference}&{other}"), format!("{other}&{reference}")] {
            let pending = world.authorize(&query).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
            assert_eq!(pending.scopes().as_str(), "repo-code:r", "{query}");
            assert_eq!(pending.redirect_uri().unwrap().as_str(), REDIRECT_URI);
        }
    }
    let answer = approved(&world, &held(&world, &uri).await).await;
    assert_eq!(text(&code(&answer), "state"), "pushed");
}

/// 9126-4-03
/// A visit uses nothing up, from any browser.
#[tokio::test]
async fn every_visit_before_the_decision_works() {
    let world = world().await;
    let uri = world.push().await;
    let bob = Subject::new("bob").unwrap();
    for (session, user) in [(&b"one"[..], None), (b"two", Some(&world.alice)), (b"one", Some(&bob)), (b"", None)] {
        let pending = world.visit(&world.reference(&uri), session, user).await.unwrap();
        assert!(pending.is_pushed());
    }
    opened(&world, &uri, b"theirs", &bob).await.unwrap();
    code(&approved(&world, &held(&world, &uri).await).await);
}

/// 9126-4-04, NEG-PAR-01
#[tokio::test]
async fn a_sign_in_begun_in_time_may_last_longer() {
    let world = world().await;
    let (uri, unvisited) = (world.push().await, world.push().await);
    let reference = world.reference(&uri);
    world.advance(290);
    assert!(world.visit(&reference, SESSION, None).await.is_ok());
    world.advance(110);
    page(&opened(&world, &uri, b"another session", &world.alice).await.unwrap_err());
    page(&opened(&world, &unvisited, SESSION, &world.alice).await.unwrap_err());
    assert!(world.authorize(&reference).await.is_err(), "a visit without a session is late");
    assert!(world.visit(&reference, SESSION, None).await.is_ok(), "the sign-in page is shown again");
    let handle = held(&world, &uri).await;
    // The page itself stays valid as long as that of any request.
    world.advance(world.server.config().authorization.hold_lifetime.as_secs() - 1);
    let _ = world.purge(10).await;
    code(&approved(&world, &handle).await);
}

/// 9126-4-04
#[tokio::test]
async fn a_question_asked_in_time_may_be_repeated() {
    let world = world().await;
    let uri = world.push().await;
    held(&world, &uri).await;
    world.advance(310);
    page(&opened(&world, &uri, b"another session", &world.alice).await.unwrap_err());
    assert!(world.visit(&world.reference(&uri), SESSION, None).await.is_ok(), "after a sign-out");
    code(&approved(&world, &held(&world, &uri).await).await);
}

/// 9126-4-04
/// The limit is one hold lifetime after the visit in time.
#[tokio::test]
async fn a_session_that_came_in_time_is_late_in_the_end() {
    let world = world().await;
    let uri = world.push().await;
    let reference = world.reference(&uri);
    world.advance(299);
    world.visit(&reference, SESSION, None).await.unwrap();
    let life = world.server.config().authorization.hold_lifetime.as_secs();
    world.advance(life - 2);
    assert!(world.visit(&reference, SESSION, None).await.is_ok(), "later visits do not move the end");
    world.advance(1);
    assert!(world.visit(&reference, SESSION, Some(&world.alice)).await.is_ok());
    world.advance(1);
    is_dead(&world, &reference).await;
}

/// 9126-4-04
/// A visit of a signed-in user writes nothing, and another session's visit in time does not help.
#[tokio::test]
async fn only_sign_ins_are_noted_and_at_most_eight() {
    let world = world().await;
    let uri = world.push().await;
    let reference = world.reference(&uri);
    let version = async || stored(&world, &uri).await.unwrap().version();
    let first = version().await;
    world.visit(&reference, SESSION, Some(&world.alice)).await.unwrap();
    world.authorize(&reference).await.unwrap();
    assert_eq!(version().await, first);
    let mut versions = BTreeSet::from([first]);
    for number in 0..8_u8 {
        for _ in 0..2 {
            world.visit(&reference, &[number], None).await.unwrap();
            versions.insert(version().await);
        }
        assert_eq!(versions.len(), usize::from(number) + 2, "one write a session");
    }
    let before = version().await;
    world.visit(&reference, b"ninth", None).await.unwrap();
    assert_eq!(version().await, before, "a ninth session is not noted");
    world.advance(301);
    assert!(world.visit(&reference, &[7], None).await.is_ok());
    is_dead(&world, &reference).await;
    assert!(world.visit(&reference, b"ninth", None).await.is_err());
}

/// 9126-4-05
#[tokio::test]
async fn a_pushed_request_is_judged_at_each_visit() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.client.client_id();
    let push = async |more: &[(&str, &str)]| {
        let more: Vec<_> = PKCE.iter().chain(more).copied().collect();
        created(&world.par(&world.client, &more).send().await)
    };
    let reduce = push(&[("scope", "repo-code:r")]).await;
    let wide = push(&[("scope", "account-profile:r")]).await;
    let elsewhere = push(&[("redirect_uri", REDIRECT_URI)]).await;

    let mut fewer = form();
    fewer.scopes = "repo-code:rw".into();
    registrar.change_now(&client, fewer.clone(), None).await.unwrap();
    registrar.approve_now(&client, grantor::Approval::default()).await.unwrap();
    assert!(world.authorize(&world.reference(&reduce)).await.is_ok());
    let error = world.authorize(&world.reference(&wide)).await.unwrap_err();
    assert!(error.redirects());
    red(&error.response(Some(&world.alice)), "invalid_scope");

    fewer.redirect_uris = vec!["https://app.example.com/new".into()];
    registrar.change_now(&client, fewer, None).await.unwrap();
    registrar.approve_now(&client, grantor::Approval::default()).await.unwrap();
    is_dead(&world, &world.reference(&elsewhere)).await;

    registrar.suspend(&client).await.unwrap();
    is_dead(&world, &world.reference(&reduce)).await;
}

/// 9126-4-05
/// The registration is also checked at the decision. Withdrawing all grants of a client ends its pushed requests.
#[tokio::test]
async fn a_pushed_request_is_judged_at_the_decision() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.client.client_id();
    let (uri, open) = (world.push().await, world.push().await);
    let handle = held(&world, &uri).await;
    registrar.suspend(&client).await.unwrap();
    page(&approved(&world, &handle).await);
    registrar.resume(&client).await.unwrap();
    code(&approved(&world, &handle).await);

    registrar.revoke_grants(&client).await.unwrap();
    is_dead(&world, &world.reference(&open)).await;
    assert!(world.authorize(&world.reference(&world.push().await)).await.is_ok());
}

/// 9126-4-05
/// Rights that the client lost while the page was open are not granted.
#[tokio::test]
async fn a_decision_goes_by_the_registration_of_its_moment() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let client = world.client.client_id();
    let push = async |more: (&str, &str)| created(&world.par(&world.client, &[PKCE[0], PKCE[1], more]).send().await);
    let reduce = held(&world, &push(("scope", "repo-code:r")).await).await;
    let wide = held(&world, &push(("scope", "account-profile:r")).await).await;
    let elsewhere = held(&world, &push(("redirect_uri", REDIRECT_URI)).await).await;

    let mut fewer = form();
    fewer.scopes = "repo-code:rw".into();
    registrar.change_now(&client, fewer.clone(), None).await.unwrap();
    registrar.approve_now(&client, grantor::Approval::default()).await.unwrap();
    // As for every consent request without any right left.
    red(&approved(&world, &wide).await, "invalid_scope");
    code(&approved(&world, &reduce).await);

    fewer.redirect_uris = vec!["https://app.example.com/new".into()];
    registrar.change_now(&client, fewer, None).await.unwrap();
    registrar.approve_now(&client, grantor::Approval::default()).await.unwrap();
    page(&approved(&world, &elsewhere).await);
}

/// 9126-4-01
/// A `request_uri` issued while the clock was ahead is not valid before its time.
#[tokio::test]
async fn a_request_of_the_future_is_not_good_and_takes_no_room() {
    let world = world_with(|config| config.limits.pushed_requests = 1).await;
    let start = world.clock.clone();
    world.advance(1 << 20);
    let uri = world.push().await;
    start.set(grantor::Timestamp::from_seconds(support::world::START));
    is_dead(&world, &world.reference(&uri)).await;
    let next = world.push().await;
    assert!(world.authorize(&world.reference(&next)).await.is_ok());
}

/// 9126-2.1-02
/// The page of a pushed request shows the same as that of a plain one.
#[tokio::test]
async fn a_page_shows_a_pushed_request_like_a_plain_one() {
    let world = world().await;
    let more = [PKCE[0], PKCE[1], ("state", "s"), ("scope", "repo-code:r repo-issue:rw")];
    let uri = created(&world.par(&world.client, &more).send().await);
    let shown = |pending: PendingAuthorization| {
        let requested: Vec<_> = pending.requested().map(|scope| scope.token().to_owned()).collect();
        (pending.client().id().clone(), requested, pending.redirect_host().to_owned(), pending.form_action_sources())
    };
    let pushed = world.authorize(&world.reference(&uri)).await.unwrap();
    let plain = world.authorize(&world.query(&more)).await.unwrap();
    assert!(pushed.is_pushed() && !plain.is_pushed());
    assert_eq!(shown(pushed), shown(plain));
}

/// 9126-4-02
/// Size and method are those of any request.
#[tokio::test]
async fn a_visit_is_a_get_within_the_limits() {
    let world = world().await;
    let uri = world.push().await;
    let reference = world.reference(&uri);
    let posted = world.server.authorize(&Request::new("POST").query(reference.as_bytes())).await.unwrap_err();
    assert_eq!(posted.response(None).status(), 405);
    let long = format!("{reference}&x={}", "x".repeat(32_768));
    let error = world.authorize(&long).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::MalformedParameters), "{error:?}");
    let deny = decided(&world, &held(&world, &uri).await, grantor::Decision::Deny).await;
    red(&deny, "access_denied");
}
