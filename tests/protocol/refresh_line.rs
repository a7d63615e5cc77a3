//! The one line of pairs: a refresh token in its grace leads to the newest pair.

use std::time::Duration;

use grantor::config::Profile;
use grantor::wire::Response;

use crate::grant_states::record;
use crate::interleaved::{CALLERS, reconfigured};
use crate::rfc6749_refresh::records;
use crate::unreliable::Unreliable;
use support::world::{Pair, World, e400, form, pair, public_form};

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

/// D-11, 6749-6-02, 6749-6-05
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
