//! RFC 7009: revocation by the client.

use std::time::Duration;

use grantor::config::{AccessTokenRevocation, Profile};
use grantor::store::{Grant, Page, Record, RecordStore, Stores};
use grantor::wire::{Endpoint, Response};
use grantor::{AuthorizationServer, CachedClients, Config};

use crate::rfc6749_refresh::records;
use crate::unreliable::{Fault, Unreliable};
use support::world::{Pair, World, config_of, e400, empty, error_body, form, ok, pair, public_form, r401};

/// Within this time after its expiry, a token may still be valid by the clock of another server.
const JUMP: Duration = Duration::from_secs(3600);

/// Asserts which tokens of a pair are valid; tests the refresh token by using it.
async fn stands(world: &World, pair: &Pair, access: bool, refresh: bool, case: &str) {
    assert_eq!(world.opens(&pair.access).await, access, "access token: {case}");
    let response = world.refresh(&pair.refresh).await;
    if refresh {
        ok(&response);
    } else {
        e400(&response, "invalid_grant");
    }
}

async fn revoke_with(world: &World, token: &str, more: &[(&str, &str)]) -> Response {
    let call = world.post(Endpoint::Revocation, &[("token", token)]);
    more.iter().fold(call, |call, (name, value)| call.field(name, value)).client(&world.client).send().await
}

/// 7009-2.1-03, D-14
#[tokio::test]
async fn a_live_token_of_another_client_is_refused_and_reported() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let public = world.register(public_form()).await;
    let first = world.pair().await;
    for caller in [&other, &public] {
        for token in [&first.access, &first.refresh] {
            e400(&world.revoke_as(caller, token).await, "invalid_grant");
        }
    }
    assert!(!world.events.saw("GrantRevoked"));
    assert!(world.opens(&first.access).await);
    let second = pair(&world.refresh(&first.refresh).await);
    for token in [&first.access, &first.refresh] {
        e400(&world.revoke_as(&other, token).await, "invalid_grant");
    }
    stands(&world, &second, true, true, "nothing was revoked in grace either").await;

    empty(&world.revoke(&second.refresh).await);
    for token in [&second.access, &second.refresh, &first.access, &first.refresh] {
        empty(&world.revoke_as(&other, token).await);
    }
}

/// 7009-2.1-04, 7009-2.3-01
#[tokio::test]
async fn no_other_parameter_hides_a_token() {
    let world = World::platform().await;
    let hint = "token_type_hint";
    for more in
        [(hint, "access_token"), (hint, "refresh_token"), (hint, "foo"), (hint, ""), ("callback", "package.method")]
    {
        let first = world.pair().await;
        empty(&revoke_with(&world, &first.access, &[more]).await);
        assert!(!world.opens(&first.access).await, "{more:?}");
        let second = world.pair().await;
        empty(&revoke_with(&world, &second.refresh, &[more]).await);
        stands(&world, &second, false, false, more.1).await;
    }
}

/// 7009-2.1-05, D-13, 7009-2-01, SVC-3-05, SVC-4.4-01
#[tokio::test]
async fn a_refresh_token_takes_the_whole_family_with_it() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let third = pair(&world.refresh(&second.refresh).await);
    let family = [&first, &second, &third];
    for pair in family {
        assert!(world.opens(&pair.access).await);
    }
    world.events.take();
    empty(&world.revoke(&third.refresh).await);
    assert_eq!(world.events.take().iter().filter(|event| event.starts_with("GrantRevoked")).count(), 1);
    for pair in family {
        stands(&world, pair, false, false, "a member of the family").await;
    }
    assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 0);
}

/// 7009-2.1-06, D-13, 7009-2-01, SVC-3-05, SVC-4.4-01
#[tokio::test]
async fn an_access_token_takes_only_itself() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    world.events.take();
    empty(&world.revoke(&second.access).await);
    let events = world.events.take();
    assert!(events.iter().any(|event| event.starts_with("AccessTokenRevoked")), "{events:?}");
    assert!(world.opens(&first.access).await);
    stands(&world, &second, false, true, "the refresh token lives on").await;
    assert!(!world.opens(&second.access).await, "a refresh does not make it valid again");
}

/// D-13
#[tokio::test]
async fn an_access_token_may_be_told_to_take_the_family() {
    let whole = |config: &mut Config| config.revocation.access_token = AccessTokenRevocation::WholeGrant;
    let world = World::with(Profile::Platform, whole).await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    empty(&world.revoke(&first.access).await);
    stands(&world, &second, false, false, "the family").await;
    stands(&world, &first, false, false, "the family").await;
}

/// 7009-2.2-01, SVC-3-06, 7009-2.2-02
#[tokio::test]
async fn an_invalid_token_is_no_error_and_changes_nothing() {
    let world = World::with(Profile::Platform, |config| config.clock_jump = JUMP).await;
    let code = world.code().await;
    let kept = world.pair().await;
    let before = records(&world).await;
    let altered = &kept.access[..kept.access.len() - 1];
    for garbage in ["garbage", "at_", "rt_x", "\0", "a b", "\u{e9}", &"x".repeat(4096), altered, &code] {
        let response = world.revoke(garbage).await;
        empty(&response);
        assert_eq!(response.header("Content-Type"), None);
        assert_eq!(response.header("Cache-Control"), Some("no-store"));
    }
    assert_eq!(records(&world).await, before);
    let first = pair(&world.exchange(&code).await);
    empty(&world.revoke(&code).await);
    assert!(world.opens(&first.access).await, "a code names no token to revoke");

    empty(&world.revoke(&first.access).await);
    empty(&world.revoke(&first.access).await);
    empty(&world.revoke(&first.refresh).await);
    world.events.take();
    empty(&world.revoke(&first.refresh).await);
    assert!(!world.events.saw("GrantRevoked"), "it was revoked before");

    world.advance(28_800 + JUMP.as_secs());
    let before = records(&world).await;
    empty(&world.revoke(&kept.access).await);
    assert_eq!(records(&world).await, before);
    world.advance(15_552_000 - 28_800 - JUMP.as_secs() - 1);
    let late = pair(&world.refresh(&kept.refresh).await);
    world.advance(1 + JUMP.as_secs());
    empty(&world.revoke(&kept.refresh).await);
    stands(&world, &late, true, true, "an expired refresh token takes nothing with it").await;
}

/// 7009-2.2-01, D-15
#[tokio::test]
async fn a_superseded_refresh_token_revokes_its_grant_outside_the_platform_profile() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        for form in [form(), public_form()] {
            // At the end of the grace, when the pair has left the record, and when the token expired long ago.
            for (seconds, is_expired) in [(300, false), (86_400, false), (15_552_000, true)] {
                let world = World::with(profile, |config| config.clock_jump = JUMP).await;
                let (client, other) = (world.register(form.clone()).await, world.register(form.clone()).await);
                let first = world.pair_of(&client).await;
                let second = pair(&world.refresh_as(&client, &first.refresh).await);
                world.advance(seconds - 1);
                let newest = pair(&world.refresh_as(&client, &second.refresh).await);
                world.advance(if is_expired { 1 + JUMP.as_secs() } else { 1 });
                let case = format!("{profile:?}, {:?}, {seconds} s", form.client_type);
                empty(&world.revoke_as(&other, &first.refresh).await);
                assert!(world.opens(&newest.access).await, "{case}: it is another client's");
                world.events.take();
                empty(&world.revoke_as(&client, &first.refresh).await);
                let revokes = profile != Profile::Platform && !is_expired;
                assert_eq!(world.opens(&newest.access).await, !revokes, "{case}");
                let events = world.events.take();
                let begins = |name: &str| events.iter().any(|event| event.starts_with(name));
                assert_eq!(begins("GrantRevoked"), revokes, "{case}: {events:?}");
                let is_reported = profile == Profile::Platform && !is_expired;
                assert_eq!(begins("SupersededTokenAtRevocation"), is_reported, "{case}: {events:?}");
            }
        }
    }
}

/// D-15
#[tokio::test]
async fn revoking_in_grace_ends_the_access_token_alone_or_the_whole_family() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(299);
    empty(&world.revoke(&first.access).await);
    assert!(!world.opens(&first.access).await, "a revoked token has no grace");
    assert!(world.opens(&second.access).await);
    assert_eq!(pair(&world.refresh(&first.refresh).await), second);
    empty(&world.revoke(&first.refresh).await);
    for pair in [&first, &second] {
        stands(&world, pair, false, false, "the family").await;
    }
}

/// 7009-2.2.1-01, CVE-2020-15223
#[tokio::test]
async fn trouble_of_the_store_is_reported_and_the_token_lives_on() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    for fault in [Fault::Writes, Fault::Everything] {
        for token in [&first.access, &first.refresh] {
            store.fail(fault);
            let response = world.revoke(token).await;
            assert_eq!(response.status(), 503, "{fault:?}");
            assert!(response.header("Retry-After").is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
            error_body(&response, "temporarily_unavailable");
            store.fail(Fault::None);
            assert!(world.opens(&first.access).await, "{fault:?}");
        }
    }
    empty(&world.revoke(&first.refresh).await);
    stands(&world, &first, false, false, "the store is back").await;
}

/// 7009-2.2-01
#[tokio::test]
async fn a_repeated_revocation_is_confirmed_and_writes_no_version() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    let version = async || {
        let grants = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(9)).await.unwrap();
        assert_eq!(grants.len(), 1);
        grants[0].version()
    };
    let [access, refresh] = [&first.access, &first.refresh];
    for (token, writes) in [(access, 1), (access, 0), (refresh, 1), (refresh, 0), (access, 0)] {
        let before = version().await;
        store.counted();
        empty(&world.revoke(token).await);
        assert_eq!((version().await != before, store.counted()), (writes == 1, (writes, 1 - writes)));
    }
    // Another client confirms nothing.
    let other = world.register(form()).await;
    store.counted();
    for token in [access, refresh] {
        empty(&world.revoke_as(&other, token).await);
    }
    assert_eq!(store.counted(), (0, 0));
    // A confirmation that fails acknowledges nothing.
    store.fail(Fault::Writes);
    for token in [access, refresh] {
        assert_eq!(world.revoke(token).await.status(), 503);
    }
}

/// CVE-2020-15223
/// A server that caches a client from before its grants were withdrawn recognizes tokens that were granted since.
#[tokio::test]
async fn a_cached_client_hides_no_newer_token() {
    let mut world = World::platform().await;
    let here = world.server.clone();
    let clients = CachedClients::new(world.store.clone(), Duration::from_secs(3600));
    let stores = Stores::new(world.store.clone()).with_registry(clients);
    let there = world.builder(config_of(Profile::Platform), stores).build().unwrap();
    let with = |world: &mut World, server: &AuthorizationServer| world.server = server.clone();

    let old = world.pair().await;
    with(&mut world, &there);
    assert!(world.opens(&old.access).await, "the client is cached now");
    with(&mut world, &here);
    here.registrar().unwrap().revoke_grants(&world.client.client_id()).await.unwrap();
    let (first, second) = (world.pair().await, world.pair().await);
    with(&mut world, &there);
    empty(&world.revoke(&first.access).await);
    empty(&world.revoke(&second.refresh).await);
    with(&mut world, &here);
    assert!(!world.opens(&first.access).await && !world.opens(&second.access).await);

    let third = world.pair().await;
    let code = world.code().await;
    with(&mut world, &there);
    // No code or token granted since is reported as invalid, and none is used up.
    for response in [world.refresh(&third.refresh).await, world.exchange(&code).await] {
        assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
    }
    with(&mut world, &here);
    ok(&world.exchange(&code).await);
    ok(&world.refresh(&third.refresh).await);
    with(&mut world, &there);
    assert!(world.opens(&third.access).await && !world.opens(&old.access).await);
    assert!(!there.grants_of(&world.alice).await.unwrap().is_empty());
}

/// CVE-2018-1000211, CVE-2016-6582, CVE-2026-115472, 7009-2.1-03, 7009-2.1-07, workers-oauth-provider #188
/// Public and confidential clients, the token's own client and another one.
#[tokio::test]
async fn only_its_own_client_revokes_a_token() {
    let world = World::platform().await;
    let clients = [
        world.register(form()).await,
        world.register(form()).await,
        world.register(public_form()).await,
        world.register(public_form()).await,
    ];
    for owner in &clients {
        for caller in &clients {
            for takes_refresh in [false, true] {
                let held = world.pair_of(owner).await;
                let token = if takes_refresh { &held.refresh } else { &held.access };
                let response = world.revoke_as(caller, token).await;
                if caller.id == owner.id {
                    empty(&response);
                    assert!(!world.opens(&held.access).await);
                } else {
                    e400(&response, "invalid_grant");
                    assert!(world.opens(&held.access).await);
                    ok(&world.refresh_as(owner, &held.refresh).await);
                }
            }
        }
    }
    let held = world.pair_of(&clients[0]).await;
    r401(&world.post(Endpoint::Revocation, &[("token", &held.access)]).send().await);
    r401(&world.post(Endpoint::Revocation, &[("token", &held.access), ("client_id", &clients[0].id)]).send().await);
    assert!(world.opens(&held.access).await);
}
