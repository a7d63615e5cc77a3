//! Section 3.3: the user types the code and decides.

use grantor::authorization::TypedUserCode;
use grantor::wire::Response;
use grantor::{Consent, Decision};

use super::{
    UNKNOWN, approved, approved_page, ask_call, asked, bob, decided, decided_by, denied_page, poll, read, refused,
    stored, typed, typed_by, world,
};
use support::intercepted::scripts::Calls;
use support::intercepted::{Failure, Fate, every, over_with};
use support::world::{SESSION, e400, ok, page, pair};

/// The page for what was answered, or ended, before.
#[track_caller]
fn answered(response: &Response) {
    assert_eq!(response.status(), 400, "{response:?}");
    assert!(String::from_utf8_lossy(response.body()).contains("already been answered"));
}

/// 8628-3.3-01
#[tokio::test]
async fn handle_user_and_session_belong_together() {
    let world = world().await;
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    let allow = || Decision::Approve(Consent::to_everything());
    page(&decided_by(&world, &consent, &bob(), SESSION, allow()).await);
    page(&decided_by(&world, &consent, &world.alice, b"another session", allow()).await);
    e400(&poll(&world, &device.device_code).await, "authorization_pending");
    approved_page(&approved(&world, &consent).await);
    ok(&poll(&world, &device.device_code).await);
}

/// 8628-3.3-01
#[tokio::test]
async fn an_entry_without_a_session_looks_nothing_up() {
    let world = world().await;
    let device = asked(&world).await;
    let calls = Calls::recorded();
    let watched = over_with(&world, calls.clone(), |builder| builder.throttle(support::attempts::Attempts::default()));
    let error = typed_by(&watched, &device.user_code, &world.alice, b"").await.unwrap_err();
    assert_eq!(error.reason().to_string(), "the session is empty");
    assert!(calls.take().is_empty());
    for wrong in ["", "BCDF", "BCDF-GHJKL", &"B".repeat(65)] {
        refused(typed_by(&watched, wrong, &world.alice, SESSION).await, UNKNOWN);
        assert!(calls.take().is_empty(), "{wrong}");
    }
    typed(&watched, &device.user_code).await;
    assert!(!calls.take().is_empty());
}

/// 8628-3.2-02
#[tokio::test]
async fn a_device_has_two_intervals_left_after_the_decision() {
    let world = world().await;
    for (at, is_in_time) in [(589, true), (590, false), (591, false)] {
        let device = asked(&world).await;
        let consent = typed(&world, &device.user_code).await;
        world.advance(at);
        let response = approved(&world, &consent).await;
        if is_in_time {
            approved_page(&response);
            world.advance(599 - at);
            ok(&poll(&world, &device.device_code).await);
        } else {
            page(&response);
            e400(&poll(&world, &device.device_code).await, "authorization_pending");
            world.advance(600 - at);
            e400(&poll(&world, &device.device_code).await, "expired_token");
        }
    }
    // What was approved and not fetched ends with the codes.
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    world.advance(580);
    approved_page(&approved(&world, &consent).await);
    world.advance(20);
    e400(&poll(&world, &device.device_code).await, "expired_token");
    // A late code is as good as none.
    let device = asked(&world).await;
    world.advance(590);
    refused(typed_by(&world, &device.user_code, &world.alice, SESSION).await, UNKNOWN);
}

/// 8628-5.4-01
#[tokio::test]
async fn a_code_in_a_link_needs_the_users_word() {
    let world = world().await;
    let device = asked(&world).await;
    let linked = TypedUserCode::new(&device.user_code).in_link();
    let consent = world.server.enter_user_code(&linked, &world.alice, SESSION).await.unwrap();
    assert!(consent.device().is_in_link());
    assert_eq!(consent.device().user_code(), device.user_code, "as the device shows it");
    page(&approved(&world, &consent).await);
    e400(&poll(&world, &device.device_code).await, "authorization_pending");
    let compared = Consent::to_everything().device_shows_code();
    approved_page(&decided(&world, &consent, Decision::Approve(compared)).await);
    ok(&poll(&world, &device.device_code).await);
    // A typed code was compared, and a denial needs no comparison.
    let device = asked(&world).await;
    let linked = TypedUserCode::new(&device.user_code).in_link();
    let consent = world.server.enter_user_code(&linked, &world.alice, SESSION).await.unwrap();
    denied_page(&decided(&world, &consent, Decision::Deny).await);
    e400(&poll(&world, &device.device_code).await, "access_denied");
}

/// 8628-5.4-02
#[tokio::test]
async fn the_page_gets_what_the_user_can_compare() {
    let world = world().await;
    let call = ask_call(&world, &world.client, &[]).from("2001:db8:1:2:3:4:5:6");
    let device = read(&call.header("User-Agent", "TV/1.0 \u{202e}<b> (your bank asks)".as_bytes()).send().await);
    world.advance(90);
    let consent = typed(&world, &device.user_code).await;
    let shown = consent.device();
    assert_eq!(shown.network(), Some("2001:db8:1:2::".parse().unwrap()));
    assert_eq!(shown.user_agent(), Some("TV/1.0"));
    assert_eq!(shown.age(), 90);
    let pending = consent.pending();
    assert!(!pending.is_client_identity_assured() && pending.is_for_device());
    assert_eq!((pending.redirect_host(), pending.is_pushed()), ("", false));
    // Nothing of it is known of a device that says nothing, or something else than its product.
    let bare = typed(&world, &asked(&world).await.user_code).await;
    assert_eq!(bare.device().user_agent(), None);
    let long = format!("TV/{}", "1".repeat(38));
    for agent in ["This is your bank. Please allow.", "TV", "/1", "TV/", "<b>/1", &long] {
        let call = ask_call(&world, &world.client, &[]).header("User-Agent", agent.as_bytes());
        let consent = typed(&world, &read(&call.send().await).user_code).await;
        assert_eq!(consent.device().user_agent(), None, "{agent}");
    }
}

/// 8628-5.6-01, NEG-05
#[tokio::test]
async fn consent_is_asked_each_time() {
    let world = world().await;
    for _ in 0..2 {
        let device = asked(&world).await;
        e400(&poll(&world, &device.device_code).await, "authorization_pending");
        let consent = typed(&world, &device.user_code).await;
        let silent = world.server.step(consent.pending(), Some(&world.alice), SESSION).await.unwrap();
        assert!(silent.response().is_none());
        world.advance(5);
        e400(&poll(&world, &device.device_code).await, "authorization_pending");
        approved(&world, &consent).await;
        ok(&poll(&world, &device.device_code).await);
    }
}

/// 8628-5.5-01, NEG-04
#[tokio::test]
async fn a_code_belongs_to_the_first_user_who_types_it() {
    let world = world().await;
    let device = asked(&world).await;
    let first = typed(&world, &device.user_code).await;
    world.events.take();
    refused(typed_by(&world, &device.user_code, &bob(), SESSION).await, UNKNOWN);
    assert!(world.events.saw("UserCodeMissed"));
    page(&decided_by(&world, &first, &bob(), SESSION, Decision::Deny).await);
    let again = typed_by(&world, &device.user_code, &world.alice, b"another session").await.unwrap();
    approved_page(
        &decided_by(&world, &again, &world.alice, b"another session", Decision::Approve(Consent::to_everything()))
            .await,
    );
    answered(&approved(&world, &first).await);
    ok(&poll(&world, &device.device_code).await);
}

/// 8628-5.5-01
#[tokio::test]
async fn of_two_users_at_once_one_gets_the_page() {
    let world = world().await;
    for _ in 0..100 {
        let device = asked(&world).await;
        let slow = over_with(&world, support::intercepted::scripts::Yielding, |builder| {
            builder.throttle(support::attempts::Attempts::default())
        });
        let bob = bob();
        let (alice, bob) = tokio::join!(
            typed_by(&slow, &device.user_code, &world.alice, SESSION),
            typed_by(&slow, &device.user_code, &bob, SESSION),
        );
        assert!(alice.is_ok() != bob.is_ok(), "one of them");
        let owner = stored(&world, &device.device_code).await.unwrap().typed_by().cloned().unwrap();
        assert_eq!(owner.as_str(), if alice.is_ok() { "alice" } else { "bob" });
    }
}

/// 8628-5.5-01
#[tokio::test]
async fn a_code_that_was_given_back_is_free_for_another_account() {
    let world = world().await;
    let device = asked(&world).await;
    let wrong = typed(&world, &device.user_code).await;
    let second = typed(&world, &device.user_code).await;
    world.server.release_user_code(wrong.ticket().expose(), &world.alice, SESSION).await.unwrap();
    answered(&approved(&world, &wrong).await);
    let bobs = typed_by(&world, &device.user_code, &bob(), SESSION).await.unwrap();
    page(&approved(&world, &second).await);
    let allow = Decision::Approve(Consent::to_everything());
    approved_page(&decided_by(&world, &bobs, &bob(), SESSION, allow).await);
    ok(&poll(&world, &device.device_code).await);
    assert_eq!(world.server.grants_of(&bob()).await.unwrap().len(), 1);
    assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 0);
    // What is decided is not given back, nor is a request of a browser.
    let error = world.server.release_user_code(bobs.ticket().expose(), &bob(), SESSION).await.unwrap_err();
    assert_eq!(error.reason().to_string(), "the request was decided before");
    let web = world.register(support::world::form()).await;
    let pending = world.authorize(&world.query_of(&web, &support::world::PKCE)).await.unwrap();
    let ticket = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let error = world.server.release_user_code(ticket.expose(), &world.alice, SESSION).await.unwrap_err();
    assert_eq!(error.reason().to_string(), "the ticket of the decision is unknown");
}

/// 8628-5.5-01: the code of a request that ended is anyone's again, as one that nobody typed.
#[tokio::test]
async fn an_ended_request_of_the_user_frees_the_device() {
    let world = world().await;
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    world.server.revoke_subject(&world.alice).await.unwrap();
    answered(&approved(&world, &consent).await);
    e400(&poll(&world, &device.device_code).await, "authorization_pending");
    let bobs = typed_by(&world, &device.user_code, &bob(), SESSION).await.unwrap();
    refused(typed_by(&world, &device.user_code, &world.alice, SESSION).await, UNKNOWN);
    let allow = Decision::Approve(Consent::to_everything());
    approved_page(&decided_by(&world, &bobs, &bob(), SESSION, allow).await);
    ok(&poll(&world, &device.device_code).await);
}

/// DEV-01: an approval whose second write failed can still be refused on the same page.
#[tokio::test]
async fn a_half_written_approval_can_be_refused() {
    let world = world().await;
    for (second, answer) in [(true, "OK"), (false, "access_denied")] {
        let device = asked(&world).await;
        let consent = typed(&world, &device.user_code).await;
        let broken = over_with(&world, every("codes.replace", Fate::FailsBefore(Failure::Transient)), |builder| {
            builder.throttle(support::attempts::Attempts::default())
        });
        assert_eq!(approved(&broken, &consent).await.status(), 503);
        e400(&poll(&world, &device.device_code).await, "authorization_pending");
        if second {
            approved_page(&approved(&world, &consent).await);
            ok(&poll(&world, &device.device_code).await);
        } else {
            denied_page(&decided(&world, &consent, Decision::Deny).await);
            e400(&poll(&world, &device.device_code).await, answer);
            answered(&approved(&world, &consent).await);
        }
    }
}

/// DEV-02: what was asked before all grants of the client were revoked is not approved.
#[tokio::test]
async fn a_raised_epoch_ends_an_open_page() {
    let world = world().await;
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    world.server.registrar().unwrap().revoke_grants(&world.client.client_id()).await.unwrap();
    page(&approved(&world, &consent).await);
    refused(typed_by(&world, &device.user_code, &world.alice, SESSION).await, UNKNOWN);
    e400(&poll(&world, &device.device_code).await, "invalid_grant");
}

/// DEV-01
#[tokio::test]
async fn of_many_decisions_one_counts() {
    let world = world().await;
    for round in 0..20 {
        let device = asked(&world).await;
        let mut pages = Vec::new();
        for _ in 0..8 {
            pages.push(typed(&world, &device.user_code).await);
        }
        let slow = over_with(&world, support::intercepted::scripts::Yielding, |builder| {
            builder.throttle(support::attempts::Attempts::default())
        });
        let calls = (0..32).map(|number| {
            let (slow, consent) = (&slow, &pages[(number + round) % 8]);
            let decision = if number % 2 == 0 { Decision::Approve(Consent::to_everything()) } else { Decision::Deny };
            async move { decided(slow, consent, decision).await }
        });
        let answers = futures::future::join_all(calls).await;
        let text = |response: &Response| String::from_utf8_lossy(response.body()).into_owned();
        let approvals = answers.iter().filter(|answer| text(answer).contains("is connected")).count();
        let denials = answers.iter().filter(|answer| text(answer).contains("was not connected")).count();
        // The same decision on the same page is one answer, whenever it is sent again.
        assert!((approvals == 0) != (denials == 0), "{approvals} {denials}");
        let events = world.events.take();
        let taken = events.iter().filter(|event| event.starts_with("DeviceApproved")).count();
        assert!(approvals <= 4 && taken == usize::from(approvals > 0), "{approvals} {events:?}");
        let others = answers.len() - approvals - denials;
        let already = answers.iter().filter(|answer| text(answer).contains("already been answered")).count();
        assert_eq!(already, others, "{events:?}");
        let response = poll(&world, &device.device_code).await;
        if approvals > 0 {
            drop(ok(&response))
        } else {
            e400(&response, "access_denied")
        }
        // The other pages end, and do not count in the next round.
        world.advance(600);
    }
}

/// DEV-04
#[tokio::test]
async fn a_user_allows_a_part() {
    let world = world().await;
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    let part = Consent::to_everything().scopes(["repo-code:rw"]);
    approved_page(&decided(&world, &consent, Decision::Approve(part)).await);
    let first = pair(&poll(&world, &device.device_code).await);
    let refreshed = pair(&world.refresh(&first.refresh).await);
    assert_eq!([&*first.scope, &*refreshed.scope], ["repo-code:rw"; 2]);
    support::world::empty(&world.revoke(&refreshed.refresh).await);
    assert!(!world.opens(&refreshed.access).await);
}

/// DEV-04
#[tokio::test]
async fn each_step_has_its_event_and_none_holds_a_code() {
    let world = world().await;
    world.events.take();
    let device = asked(&world).await;
    refused(typed_by(&world, "BCDF-GHJK", &world.alice, SESSION).await, UNKNOWN);
    let consent = typed(&world, &device.user_code).await;
    approved(&world, &consent).await;
    ok(&poll(&world, &device.device_code).await);
    let denied = asked(&world).await;
    decided(&world, &typed(&world, &denied.user_code).await, Decision::Deny).await;
    let events = world.events.take();
    let secrets = [&device, &denied].map(|own| [own.user_code.replace('-', ""), own.device_code[25..].to_owned()]);
    for event in &events {
        let holds = secrets.iter().flatten().any(|secret| event.replace('-', "").contains(&secret.replace('-', "")));
        assert!(!holds, "{event}");
    }
    for name in ["DeviceRequested", "UserCodeTyped", "UserCodeMissed", "DeviceApproved", "Exchanged", "Denied"] {
        let count = events.iter().filter(|event| event.starts_with(name)).count();
        let expected = if matches!(name, "DeviceRequested" | "UserCodeTyped") { 2 } else { 1 };
        assert_eq!(count, expected, "{name}: {events:?}");
    }
}
