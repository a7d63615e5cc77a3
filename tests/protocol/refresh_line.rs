//! The one line of pairs: a refresh token in its grace leads to the newest pair.

use std::sync::Arc;
use std::time::Duration;

use grantor::config::Profile;
use grantor::wire::Response;

use crate::grant_states::record;
use crate::interleaved::{CALLERS, reconfigured, side_by_side};
use crate::rfc6749_refresh::records;
use crate::unreliable::Unreliable;
use support::world::{Credentials, Pair, World, e400, form, ok, pair, public_form};

async fn refresh_scope(world: &World, token: &Pair, scope: &str) -> Response {
    let form = [("grant_type", "refresh_token"), ("refresh_token", &token.refresh), ("scope", scope)];
    world.token(&form).client(&world.client).send().await
}

/// D-11
#[tokio::test]
async fn a_chain_in_grace_leads_to_the_newest_pair() {
    for profile in [Profile::Platform, Profile::Mcp] {
        for form in [form(), public_form()] {
            let world = World::with(profile, |_| {}).await;
            let client = world.register(form).await;
            let mut line = vec![world.pair_of(&client).await];
            for number in 1..=40 {
                line.push(pair(&world.refresh_as(&client, &line[number - 1].refresh).await));
                world.advance(1);
            }
            let (newest, older) = line.split_last().unwrap();
            let before = records(&world).await;
            for old in older {
                assert_eq!(pair(&world.refresh_as(&client, &old.refresh).await), *newest, "{profile:?}");
            }
            assert_eq!(records(&world).await, before);
            // The oldest tokens expire one after the other, and the others still lead to the newest pair.
            let grace = world.server.config().refresh.grace.as_secs();
            world.advance(grace - 40);
            assert_eq!(pair(&world.refresh_as(&client, &line[1].refresh).await), *newest, "{profile:?}");
            world.advance(38);
            assert_eq!(pair(&world.refresh_as(&client, &line[39].refresh).await), *newest, "{profile:?}");
            e400(&world.refresh_as(&client, &line[0].refresh).await, "invalid_grant");
        }
    }
}

/// D-11
/// Links are followed even across expired pairs: a server whose clock is ahead superseded the first one.
#[tokio::test]
async fn links_are_followed_over_pairs_past_their_grace() {
    let mut world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    reconfigured(&mut world, |config| config.refresh.grace = Duration::from_secs(5));
    let third = pair(&world.refresh(&second.refresh).await);
    world.advance(10);
    assert_eq!(pair(&world.refresh(&first.refresh).await), third);
    e400(&world.refresh(&second.refresh).await, "invalid_grant");
}

/// D-11, 6749-5.1-03
#[tokio::test]
async fn an_answer_in_grace_has_the_remaining_expires_in() {
    let world = World::platform().await;
    let first = world.pair().await;
    let json = |response: &Response| -> serde_json::Value { serde_json::from_slice(response.body()).unwrap() };
    let mut expected = json(&world.refresh(&first.refresh).await);
    for (seconds, left) in [(0, 28_800), (1, 28_799), (149, 28_650), (149, 28_501)] {
        world.advance(seconds);
        let response = world.refresh(&first.refresh).await;
        ok(&response);
        expected["expires_in"] = left.into();
        assert_eq!(json(&response), expected);
    }
}

/// D-11, 6749-6-02
#[tokio::test]
async fn another_scope_in_grace_gets_one_more_access_token() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    world.events.take();
    let reduce = pair(&refresh_scope(&world, &first, "repo-code:r").await);
    assert_eq!((&*reduce.scope, &reduce.refresh), ("repo-code:r", &second.refresh));
    assert!(reduce.access != first.access && reduce.access != second.access);
    assert!(world.events.saw("RefreshedInGrace"));
    // A request for all scopes still gets the newest pair. The same scopes in another order are the same scope.
    let before = record(&world).await;
    assert_eq!(before.pairs_made(), 2, "nothing rotates");
    assert_eq!(pair(&world.refresh(&first.refresh).await), second);
    let reordered = "account-profile:r repo-issue:rw repo-code:rw repo-code:r";
    assert_eq!(pair(&refresh_scope(&world, &first, reordered).await), second);
    for wrong in ["repo-delete:rw", "repo-cod:r", "a\"b"] {
        e400(&refresh_scope(&world, &first, wrong).await, "invalid_scope");
    }
    assert_eq!(record(&world).await, before);
    for token in [&first, &second, &reduce] {
        assert!(world.opens(&token.access).await);
    }
    // The newest refresh token rotates as ever, whatever was asked in grace.
    let third = pair(&world.refresh(&reduce.refresh).await);
    assert_ne!(third.refresh, second.refresh);
    for old in [&first, &second] {
        assert_eq!(pair(&world.refresh(&old.refresh).await), third);
    }
    assert!(world.opens(&reduce.access).await);
    world.advance(300);
    assert!(!world.opens(&reduce.access).await, "its grace ends with that of its pair");
}

/// D-11
/// A client that refreshes one token for two resources in parallel may store either answer.
#[tokio::test]
async fn whichever_of_two_parallel_answers_is_stored_the_client_stays_signed_in() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        for stores_the_first in [true, false] {
            let world = World::with(profile, |_| {}).await;
            let mut stored = world.pair().await;
            for _ in 0..4 {
                let one = pair(&refresh_scope(&world, &stored, "repo-code:r").await);
                let two = pair(&refresh_scope(&world, &stored, "repo-issue:r").await);
                assert_eq!(one.refresh, two.refresh, "{profile:?}");
                assert!(world.opens(&one.access).await && world.opens(&two.access).await, "{profile:?}");
                stored = if stores_the_first { one } else { two };
                world.advance(28_800);
            }
            assert!(!world.events.saw("RefreshTokenReused"), "{profile:?}");
        }
    }
}

/// D-11
#[tokio::test]
async fn parallel_uses_in_grace_get_an_access_token_each() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let mut world = World::with(profile, |_| {}).await;
        let first = world.pair().await;
        let second = pair(&world.refresh(&first.refresh).await);
        world.events.take();
        let call = async |world: &World| refresh_scope(world, &first, "repo-code:r").await;
        let responses = side_by_side(&mut world, call).await;
        let pairs: Vec<_> = responses.iter().map(pair).collect();
        let accesses: std::collections::BTreeSet<_> = pairs.iter().map(|own| &own.access).collect();
        assert_eq!(accesses.len(), CALLERS, "{profile:?}");
        assert!(pairs.iter().all(|own| own.refresh == second.refresh), "{profile:?}");
        let events = world.events.take();
        assert_eq!(events.iter().filter(|event| event.starts_with("RefreshedInGrace")).count(), CALLERS);
        assert_eq!(events.len(), CALLERS, "{profile:?}");
        assert_eq!(record(&world).await.pairs_made(), 2, "nothing rotates");
    }
}

/// D-11
#[tokio::test]
async fn the_65th_further_access_token_ends_the_first_and_never_that_of_the_pair() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let mut further = Vec::new();
    for _ in 0..65 {
        further.push(pair(&refresh_scope(&world, &first, "repo-code:r").await));
    }
    assert!(!world.opens(&further[0].access).await);
    for own in &further[1..] {
        assert!(world.opens(&own.access).await);
    }
    assert!(world.opens(&second.access).await);
    assert_eq!(pair(&world.refresh(&first.refresh).await), second);
}

/// D-11
#[tokio::test]
async fn an_expired_access_token_in_grace_is_replaced() {
    let world = World::with(Profile::Platform, |config| {
        config.tokens.access_lifetime = Duration::from_secs(100);
    })
    .await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(99);
    let response = world.refresh(&first.refresh).await;
    assert_eq!((pair(&response), ok(&response).expires_in), (second.clone(), Some(1)));
    world.advance(1);
    let response = world.refresh(&first.refresh).await;
    let further = pair(&response);
    assert_eq!(ok(&response).expires_in, Some(100));
    assert!(further.access != second.access && further.refresh == second.refresh);
    assert!(world.opens(&further.access).await && !world.opens(&second.access).await);
}

/// D-11, D-13
#[tokio::test]
async fn a_revoked_access_token_in_grace_is_replaced() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    world.revoke(&second.access).await;
    let further = pair(&world.refresh(&first.refresh).await);
    assert!(further.access != second.access && further.refresh == second.refresh);
    assert!(world.opens(&further.access).await && !world.opens(&second.access).await);
    // The access token of an older pair says nothing about the newest.
    let third = pair(&world.refresh(&second.refresh).await);
    world.revoke(&first.access).await;
    assert_eq!(pair(&world.refresh(&first.refresh).await), third);
}

/// D-11, 9700-4.14.2-02
#[tokio::test]
async fn strict_ends_no_grace_for_a_use_in_grace() {
    let world = World::strict().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let third = pair(&world.refresh(&second.refresh).await);
    // The client asks for another scope each time, with a token in grace.
    for scope in ["repo-code:r", "repo-issue:r", "repo-code:r", "account-profile:r", "repo-issue:rw"] {
        world.advance(5);
        let further = pair(&refresh_scope(&world, &second, scope).await);
        assert_eq!(further.refresh, third.refresh);
        assert_eq!(pair(&world.refresh(&second.refresh).await), third);
    }
    assert!(!world.events.saw("RefreshTokenReused"));
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert!(world.events.saw("RefreshTokenReused"));
    e400(&world.refresh(&third.refresh).await, "invalid_grant");
}

/// D-11, 9700-4.14.2-02
#[tokio::test]
async fn strict_ends_every_older_grace_with_the_newest() {
    for old in [0, 1] {
        let world = World::strict().await;
        let first = world.pair().await;
        let second = pair(&world.refresh(&first.refresh).await);
        let third = pair(&world.refresh(&second.refresh).await);
        let fourth = pair(&world.refresh(&third.refresh).await);
        assert_eq!(pair(&world.refresh(&third.refresh).await), fourth);
        e400(&world.refresh(&[&first, &second][old].refresh).await, "invalid_grant");
        assert!(!world.opens(&fourth.access).await);
    }
}

/// D-11
#[tokio::test]
async fn a_use_in_grace_is_an_event_without_a_write() {
    // If reads are not settled, the other requests confirm what they found.
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    store.counted();
    world.events.take();
    let second = pair(&world.refresh(&first.refresh).await);
    for _ in 1..CALLERS {
        assert_eq!(pair(&world.refresh(&first.refresh).await), second);
    }
    assert_eq!(store.counted(), (1, CALLERS - 1));
    let events = world.events.take();
    let count = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
    assert_eq!([count("Refreshed {"), count("RefreshedInGrace {"), events.len()], [1, CALLERS - 1, CALLERS]);

    // If a confirmation fails, the response is 503, and nothing is lost.
    store.fail(crate::unreliable::Fault::Writes);
    assert_eq!(world.refresh(&first.refresh).await.status(), 503);
    store.fail(crate::unreliable::Fault::None);
    assert_eq!(pair(&world.refresh(&first.refresh).await), second);
}

/// D-11, D-12
/// Workers share one stored pair; each read it up to 250 s before it refreshes.
#[tokio::test]
async fn two_hundred_workers_on_one_token_report_no_reuse() {
    for profile in [Profile::Platform, Profile::Mcp] {
        let world = World::with(profile, |config| config.tokens.access_lifetime = Duration::from_secs(900)).await;
        let spread = world.server.config().refresh.grace.as_secs() * 5 / 6;
        let mut shared = world.pair().await;
        for _ in 0..24 {
            world.advance(900);
            let stale = shared.clone();
            let mut passed = 0;
            for worker in 0..200 {
                let at = worker * spread / 200;
                world.advance(at - passed);
                passed = at;
                let got = pair(&world.refresh(&stale.refresh).await);
                assert!(worker == 0 || got == shared, "{profile:?}: one pair for all");
                assert!(world.opens(&got.access).await);
                shared = got;
            }
        }
        let events = world.events.take();
        assert!(events.iter().all(|event| !event.contains("Reused") && !event.starts_with("Refused")));
        assert_eq!(events.iter().filter(|event| event.starts_with("Refreshed {")).count(), 24);
    }
}

/// D-11, D-12
/// An issue of an earlier design: the 129th pair evicted a pair, and its holder later counted as a thief.
#[tokio::test]
async fn a_hundred_and_thirty_workers_all_stay_signed_in() {
    for profile in [Profile::Platform, Profile::Mcp] {
        let world = Arc::new(World::with(profile, |_| {}).await);
        let mut shared = world.pair().await;
        for _ in 0..3 {
            let calls = (0..130).map(|_| world.refresh(&shared.refresh));
            let pairs: Vec<_> = futures::future::join_all(calls).await.iter().map(pair).collect();
            assert!(pairs.iter().all(|own| *own == pairs[0]), "{profile:?}");
            // Each continues with the pair it received, a day later.
            world.advance(86_400);
            shared = pairs[129].clone();
        }
        ok(&world.refresh(&shared.refresh).await);
        let events = world.events.take();
        assert!(events.iter().all(|event| !event.contains("Reused") && !event.contains("Revoked")), "{profile:?}");
    }
}

/// What the second party with the same token gets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Second {
    Shares,
    Noticed,
}

/// D-12, 9700-4.14.2-02
#[tokio::test]
async fn a_thief_past_the_grace_is_noticed() {
    use Second::{Noticed, Shares};
    let cases = [(0, Shares), (299, Shares), (300, Noticed), (360, Noticed), (90 * 86_400, Noticed)];
    for thief_first in [false, true] {
        for (seconds, outcome) in cases {
            let world = World::platform().await;
            let stolen = world.pair().await;
            world.advance(28_800);
            let mut winner = pair(&world.refresh(&stolen.refresh).await);
            if seconds > 86_400 {
                // The first party refreshes again, and the stolen pair leaves the record.
                world.advance(seconds - 10);
                winner = pair(&world.refresh(&winner.refresh).await);
                world.advance(10);
            } else {
                world.advance(seconds);
            }
            world.events.take();
            let response = world.refresh(&stolen.refresh).await;
            let noticed = world.events.saw("RefreshTokenReused");
            let name = format!("thief first: {thief_first}, after {seconds} s");
            assert_eq!(noticed, outcome == Noticed, "{name}");
            if outcome == Shares {
                assert_eq!(pair(&response), winner, "{name}");
            } else {
                e400(&response, "invalid_grant");
            }
            // Once the reuse is detected, no party has valid tokens, whichever of them is the thief.
            assert_eq!(world.opens(&winner.access).await, !noticed, "{name}");
            assert_eq!(world.refresh(&winner.refresh).await.status() == 200, !noticed, "{name}");
        }
    }
}

/// D-12, D-11
/// A thief who shares the line within the grace is detected at the first refresh after the grace.
#[tokio::test]
async fn a_thief_who_shared_the_line_is_noticed_later() {
    for thief_is_late in [true, false] {
        let world = World::platform().await;
        let mut owner = world.pair().await;
        let mut thief = owner.clone();
        for _ in 0..5 {
            world.advance(28_800);
            owner = pair(&world.refresh(&owner.refresh).await);
            world.advance(299);
            thief = pair(&world.refresh(&thief.refresh).await);
            assert_eq!(owner, thief);
        }
        let (early, late) = if thief_is_late { (&owner, &thief) } else { (&thief, &owner) };
        world.advance(28_800);
        let newest = pair(&world.refresh(&early.refresh).await);
        world.advance(300);
        world.events.take();
        e400(&world.refresh(&late.refresh).await, "invalid_grant");
        assert!(world.events.saw("RefreshTokenReused"));
        assert!(!world.opens(&newest.access).await);
    }
}

/// D-11, 6749-6-05
#[tokio::test]
async fn a_use_in_grace_is_checked_as_the_newest_would() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let wrong = Credentials { secret: "wrong".into(), ..world.client.clone() };
    let before = records(&world).await;
    for token in [&first, &second] {
        for (client, status) in [(&other, 400), (&wrong, 401)] {
            assert_eq!(world.refresh_as(client, &token.refresh).await.status(), status);
        }
    }
    let text = |response: Response| (response.status(), response.body().to_vec());
    for scope in ["repo-cod:r", "repo-delete:rw"] {
        let [old, new] = [refresh_scope(&world, &first, scope).await, refresh_scope(&world, &second, scope).await];
        assert_eq!(text(old), text(new), "{scope}");
    }
    assert_eq!(records(&world).await, before);
}
