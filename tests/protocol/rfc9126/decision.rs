//! Section 4: the decision uses the request up.

use std::sync::Arc;

use futures::future::join_all;
use grantor::{Consent, Decision, Subject};

use super::{already_answered, approved, codes, decided, held, opened, rows, stored, world};
use support::intercepted::{Failure, Fate, every, over};
use support::world::{PKCE, SESSION, World, code, page, red};

/// 9126-4-03, 9126-4-01
#[tokio::test]
async fn of_several_pages_the_first_decision_counts() {
    let world = world().await;
    let uri = world.push().await;
    let (first, second) = (held(&world, &uri).await, held(&world, &uri).await);
    let answer = approved(&world, &second).await;
    code(&answer);
    already_answered(&approved(&world, &first).await);
    already_answered(&decided(&world, &first, Decision::Deny).await);
    // The same answer gets the same response for a minute.
    assert_eq!(approved(&world, &second).await.header("Location"), answer.header("Location"));
    already_answered(&decided(&world, &second, Decision::Deny).await);
    let error = world.visit(&world.reference(&uri), SESSION, None).await.unwrap_err();
    assert!(!error.needs_sign_in());
    page(&error.response(None));
    assert_eq!(codes(&world).await, 1);
}

/// 9126-4-03
/// A refusal counts too, and cannot be undone.
#[tokio::test]
async fn a_refusal_uses_the_request_up() {
    let world = world().await;
    let uri = world.push().await;
    let (first, second) = (held(&world, &uri).await, held(&world, &uri).await);
    // A page that was requested before the refusal, and is shown after it.
    let late = world.visit(&world.reference(&uri), SESSION, Some(&world.alice)).await.unwrap();
    red(&decided(&world, &first, Decision::Deny).await, "access_denied");
    already_answered(&approved(&world, &second).await);
    page(&opened(&world, &uri, SESSION, &world.alice).await.unwrap_err());
    let error = world.server.hold(&late, &world.alice, SESSION).await.unwrap_err();
    already_answered(&error.response(Some(&world.alice)));
    assert!(stored(&world, &uri).await.unwrap().is_used());
    assert_eq!(codes(&world).await, 0);
}

/// 9126-4-03
/// Another user's decision counts as well.
#[tokio::test]
async fn one_user_of_several_decides() {
    let world = world().await;
    let bob = Subject::new("bob").unwrap();
    let uri = world.push().await;
    let own = held(&world, &uri).await;
    let theirs = opened(&world, &uri, b"theirs", &bob).await.unwrap();
    let agreed = Decision::Approve(Consent::to_everything());
    code(&world.server.decide(&theirs, &bob, b"theirs", &agreed).await.unwrap());
    already_answered(&approved(&world, &own).await);
}

/// 9126-4-03
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_decisions_at_once_make_one_code() {
    for round in 0..20 {
        let world = Arc::new(world().await);
        let uri = world.push().await;
        let mut handles = Vec::new();
        for _ in 0..5 {
            handles.push(held(&world, &uri).await);
        }
        let calls = (0..20).map(|number| {
            let (world, handle) = (world.clone(), handles[number % 5].clone());
            tokio::spawn(async move { approved(&world, &handle).await })
        });
        let answers = join_all(calls).await;
        // Each page is answered four times. All answers to the page that won have the same code.
        let place = |answer: &grantor::wire::Response| answer.header("Location").map(str::to_owned);
        let mut places: Vec<_> = answers.iter().filter_map(|answer| place(answer.as_ref().unwrap())).collect();
        let redirected = places.len();
        places.dedup();
        assert_eq!((redirected, places.len(), codes(&world).await), (4, 1, 1), "round {round}");
        for answer in answers {
            let answer = answer.unwrap();
            if answer.header("Location").is_none() {
                already_answered(&answer);
            }
        }
    }
}

/// 9126-4-03
/// A consent request that reuses the record of a refused one is not itself refused.
#[tokio::test]
async fn a_held_request_that_takes_over_a_record_is_another() {
    let world = world().await;
    let uri = world.push().await;
    let late = world.visit(&world.reference(&uri), SESSION, Some(&world.alice)).await.unwrap();
    let refused = held(&world, &uri).await;
    let again = world.server.hold(&late, &world.alice, SESSION).await.unwrap();
    red(&decided(&world, &refused, Decision::Deny).await, "access_denied");
    assert_eq!(rows(&world).await, 2);
    world.advance(60);
    // The next request is held in the record of the refused one.
    let plain = world.authorize(&world.query(&PKCE)).await.unwrap();
    let plain = world.server.hold(&plain, &world.alice, SESSION).await.unwrap();
    assert_eq!(rows(&world).await, 2);
    already_answered(&approved(&world, again.expose()).await);
    code(&approved(&world, plain.expose()).await);
}

/// 9126-4-03
/// The claim comes before the code. After a crash between the two, the client must start again; there is never a
/// second code.
#[tokio::test]
async fn a_crash_between_claim_and_decision_makes_no_second_code() {
    for fate in [Fate::FailsBefore(Failure::Transient), Fate::FailsBefore(Failure::Permanent)] {
        let world = world().await;
        let uri = world.push().await;
        let (first, second) = (held(&world, &uri).await, held(&world, &uri).await);
        let failing = over(&world, every("codes.replace", fate));
        let answer = approved(&failing, &first).await;
        assert!(answer.header("Location").is_some_and(|location| location.contains("error=")), "{answer:?}");
        already_answered(&approved(&world, &second).await);
        page(&opened(&world, &uri, SESSION, &world.alice).await.unwrap_err());
        assert_eq!(codes(&world).await, 0);
        // The same page can still be answered.
        code(&approved(&world, &first).await);
        assert_eq!(codes(&world).await, 1);
    }
}

/// 9126-4-03
/// If the claim fails, nothing is decided.
#[tokio::test]
async fn a_claim_that_fails_decides_nothing() {
    let world = world().await;
    let uri = world.push().await;
    let handle = held(&world, &uri).await;
    for call in ["pushed_requests.find", "pushed_requests.replace"] {
        let failing = over(&world, every(call, Fate::FailsBefore(Failure::Transient)));
        red(&approved(&failing, &handle).await, "temporarily_unavailable");
        red(&decided(&failing, &handle, Decision::Deny).await, "temporarily_unavailable");
        assert!(!stored(&world, &uri).await.unwrap().is_used(), "{call}");
    }
    let lost = every("pushed_requests.replace", Fate::FailsAfter(Failure::Transient));
    code(&approved(&over(&world, lost), &handle).await);
}

/// 9126-4-03
/// The place of a used request is reused by another request.
#[tokio::test]
async fn a_reused_slot_belongs_to_its_new_request() {
    let world: World = super::world_with(|config| config.limits.pushed_requests = 1).await;
    let first = world.push().await;
    let (handle, other) = (held(&world, &first).await, held(&world, &first).await);
    code(&approved(&world, &handle).await);
    let second = world.push().await;
    assert_eq!(first[..first.len() - 43], second[..second.len() - 43], "there is one place");
    page(&opened(&world, &first, SESSION, &world.alice).await.unwrap_err());
    already_answered(&approved(&world, &other).await);
    assert!(!stored(&world, &second).await.unwrap().is_used());
    code(&approved(&world, &held(&world, &second).await).await);
}
