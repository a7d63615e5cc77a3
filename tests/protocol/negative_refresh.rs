//! Faults of other authorization servers with refresh and grace, in the order of the list.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use grantor::config::Profile;
use grantor::hooks::{SubjectStatus, Subjects};
use grantor::store::{Grant, Page, Record, RecordStore};
use grantor::wire::Response;
use grantor::{Client, Config, Subject};
use tokio::sync::Barrier;

use crate::interleaved::{CALLERS, from_threads};
use crate::unreliable::{Fault, Unreliable};
use support::world::{ISSUER, PKCE, Pair, World, e400, empty, error_body, ok, pair, public_form};

const DAY: u64 = 86_400;

async fn alive(world: &World, pair: &Pair) {
    assert!(world.opens(&pair.access).await);
    ok(&world.refresh(&pair.refresh).await);
}

async fn dead(world: &World, pair: &Pair) {
    assert!(!world.opens(&pair.access).await);
    e400(&world.refresh(&pair.refresh).await, "invalid_grant");
}

#[track_caller]
fn unavailable(response: &Response) {
    assert_eq!(response.status(), 503);
    assert!(response.header("Retry-After").is_some());
    error_body(response, "temporarily_unavailable");
}

/// negative case #1, django-oauth-toolkit #1816
#[tokio::test]
async fn revoked_is_not_superseded() {
    let world = World::platform().await;
    for revoked_first in [true, false] {
        let first = world.pair().await;
        let second = if revoked_first { None } else { Some(pair(&world.refresh(&first.refresh).await)) };
        empty(&world.revoke(&first.refresh).await);
        for seconds in [0, 1, 298] {
            world.advance(seconds);
            dead(&world, &first).await;
            if let Some(second) = &second {
                dead(&world, second).await;
            }
        }
    }
}

/// negative case #3, django-oauth-toolkit #1687, django-oauth-toolkit #702, django-oauth-toolkit #660
#[tokio::test]
async fn a_replay_whose_successor_is_gone_is_an_answer_and_no_failure() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    empty(&world.revoke(&second.access).await);
    let third = pair(&world.refresh(&first.refresh).await);
    assert_ne!(third, second, "a revoked token is not returned again");
    assert!(world.opens(&third.access).await && !world.opens(&second.access).await);

    world.advance(200 * DAY);
    for _ in 0..3 {
        let _ = world.purge(1000).await;
    }
    for token in [&first.refresh, &second.refresh, &third.refresh] {
        e400(&world.refresh(token).await, "invalid_grant");
        empty(&world.revoke(token).await);
    }
    assert!(RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(10)).await.unwrap().is_empty());
}

/// negative case #6
#[tokio::test]
async fn reuse_is_noticed_after_any_time() {
    let world = World::platform().await;
    let first = world.pair().await;
    let mut newest = first.clone();
    for _ in 0..17 {
        newest = pair(&world.refresh(&newest.refresh).await);
        world.advance(10 * DAY);
        let _ = world.purge(1000).await;
    }
    newest = pair(&world.refresh(&newest.refresh).await);
    world.advance(10 * DAY - 1);
    newest = pair(&world.refresh(&newest.refresh).await);
    assert!(world.opens(&newest.access).await);
    world.events.take();
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert!(world.events.saw("RefreshTokenReused"));
    dead(&world, &newest).await;
}

/// negative case #9
#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_beats_the_refreshes_in_flight() {
    let world = Arc::new(World::platform().await);
    for _ in 0..20 {
        let first = world.pair().await;
        let start = Arc::new(Barrier::new(9));
        let refreshes: Vec<_> = (0..8)
            .map(|_| {
                let (world, start, token) = (world.clone(), start.clone(), first.refresh.clone());
                tokio::spawn(async move {
                    start.wait().await;
                    world.refresh(&token).await
                })
            })
            .collect();
        start.wait().await;
        empty(&world.revoke(&first.refresh).await);
        dead(&world, &first).await;
        for refresh in refreshes {
            let response = refresh.await.unwrap();
            if response.status() == 200 {
                dead(&world, &pair(&response)).await;
            } else {
                e400(&response, "invalid_grant");
            }
        }
    }
}

/// negative case #10, django-oauth-toolkit #1809, openiddict #1381
#[tokio::test]
async fn ending_a_family_is_one_write_and_a_second_replay_none() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    let mut family = vec![first.clone()];
    for _ in 0..40 {
        let newest = family.last().unwrap();
        family.push(pair(&world.refresh(&newest.refresh).await));
    }
    world.advance(360);
    store.counted();
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert_eq!(store.counted(), (1, 0));
    for _ in 0..3 {
        e400(&world.refresh(&first.refresh).await, "invalid_grant");
    }
    for member in &family {
        assert!(!world.opens(&member.access).await);
    }
    assert_eq!(store.counted(), (0, 0));
}

/// negative case #12
#[tokio::test]
async fn grace_needs_no_token_in_clear() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    assert_eq!(pair(&world.refresh(&first.refresh).await), second);
    let grants = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(10)).await.unwrap();
    let record = grants[0].encode();
    for pair in [&first, &second] {
        for token in [&pair.access, &pair.refresh] {
            let secret = &token.as_bytes()[25..];
            assert!(!record.windows(16).any(|window| secret.starts_with(window)), "in clear");
        }
    }
    alive(&world, &second).await;
}

/// negative case #13, doorkeeper #1787, workers-oauth-provider #43
#[tokio::test]
async fn using_an_access_token_writes_nothing_and_ends_no_grace() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    store.counted();
    for _ in 0..5 {
        assert!(world.opens(&second.access).await);
        assert_eq!(world.introspect_as(&world.client, &second.access).await["active"], true);
    }
    assert_eq!(store.counted(), (0, 0));
    world.advance(299);
    ok(&world.refresh(&first.refresh).await);
    world.advance(1);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
}

/// Counts its calls.
#[derive(Clone, Debug, Default)]
struct Asked(Arc<AtomicUsize>);

#[async_trait]
impl Subjects for Asked {
    async fn status(&self, _subject: &Subject, _client: &Client) -> SubjectStatus {
        self.0.fetch_add(1, Ordering::SeqCst);
        SubjectStatus::Active
    }
}

/// negative case #14, workers-oauth-provider #216
/// The hook only reads, so each of many concurrent requests may call it. One request calls it once.
#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_asks_about_its_user_once_however_often_it_loses() {
    let asked = Asked::default();
    let world = World::built(Config::platform(ISSUER), |builder| builder.subjects(asked.clone())).await;
    let world = Arc::new(world);
    let first = world.pair().await;
    asked.0.store(0, Ordering::SeqCst);
    let [id, secret] = [world.client.id.clone(), world.client.secret.clone()];
    let refresh = [
        ("grant_type", "refresh_token"),
        ("refresh_token", first.refresh.as_str()),
        ("client_id", id.as_str()),
        ("client_secret", secret.as_str()),
    ];
    for response in from_threads(&world, &refresh).await {
        ok(&response);
    }
    assert_eq!(asked.0.load(Ordering::SeqCst), CALLERS);
}

/// negative case #15
#[tokio::test]
async fn a_typing_error_costs_nobody_a_sign_in() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let public = world.register(public_form()).await;
        let first = world.pair_of(&public).await;
        let form = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str())];
        for scope in ["repo-cod", "repo-code:rw repo-delete:rw", "a\"b"] {
            let response = world.token(&form).field("scope", scope).client(&public).send().await;
            e400(&response, "invalid_scope");
        }
        let twice = world.token(&form).field("refresh_token", "x").client(&public);
        e400(&twice.send().await, "invalid_request");
        let flipped =
            first.refresh.replace(&first.refresh[40..41], if &first.refresh[40..41] == "A" { "B" } else { "A" });
        e400(&world.refresh_as(&public, &flipped).await, "invalid_grant");
        assert!(world.opens(&first.access).await, "{profile:?}");
        ok(&world.refresh_as(&public, &first.refresh).await);
    }
}

/// negative case #16
#[tokio::test]
async fn what_is_superseded_does_not_depend_on_what_became_of_its_successor() {
    for successor_revoked in [false, true] {
        let world = World::platform().await;
        let first = world.pair().await;
        let second = pair(&world.refresh(&first.refresh).await);
        if successor_revoked {
            empty(&world.revoke(&second.access).await);
        }
        world.advance(299);
        ok(&world.refresh(&first.refresh).await);
        world.advance(28_800);
        let _ = world.purge(1000).await;
        world.events.take();
        e400(&world.refresh(&first.refresh).await, "invalid_grant");
        assert!(world.events.saw("RefreshTokenReused"));
        e400(&world.refresh(&second.refresh).await, "invalid_grant");
    }
}

/// negative case #17, workers-oauth-provider #233
#[tokio::test]
async fn a_refresh_in_the_last_second_of_a_grant_is_like_any_other() {
    let world =
        World::with(Profile::Platform, |config| config.tokens.grant_lifetime = Some(Duration::from_secs(60 * 60)))
            .await;
    let mut newest = world.pair().await;
    for (seconds, left) in [(3_540, 60), (1, 59), (58, 1)] {
        world.advance(seconds);
        let token = ok(&world.refresh(&newest.refresh).await);
        assert_eq!(token.expires_in, Some(left));
        newest = Pair {
            access: token.access_token.expose().to_owned(),
            refresh: token.refresh_token.unwrap().expose().to_owned(),
            scope: token.scope.unwrap(),
        };
        assert!(world.opens(&newest.access).await);
    }
    world.advance(1);
    dead(&world, &newest).await;
}

/// negative case #18, negative case #4
/// Also django-oauth-toolkit #609, #638, #722, #810, #960; hydra #3604; openiddict #916, #1274.
#[tokio::test]
async fn trouble_of_the_store_reports_no_reuse() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    for fault in [Fault::Writes, Fault::Everything] {
        store.fail(fault);
        unavailable(&world.refresh(&second.refresh).await);
    }
    store.fail(Fault::None);
    world.advance(1000);
    store.fail_reads(1);
    unavailable(&world.refresh(&second.refresh).await);
    store.fail_reads(1);
    unavailable(&world.refresh(&first.refresh).await);
    store.fail(Fault::Writes);
    unavailable(&world.refresh(&first.refresh).await);
    store.fail(Fault::None);
    assert!(world.opens(&second.access).await);
    alive(&world, &second).await;
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    dead(&world, &second).await;
}

/// negative case #19
/// Several workers share one token, and each continues with the pair it received.
#[tokio::test]
async fn workers_that_share_a_token_all_go_on() {
    for profile in [Profile::Platform, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let public = world.register(public_form()).await;
        for client in [&world.client, &public] {
            let code = world.code_for(&world.query_of(client, &PKCE)).await;
            let shared = pair(&world.exchange_as(client, &code).await);
            let mut workers = Vec::new();
            for _ in 0..10 {
                world.advance(5);
                workers.push(pair(&world.refresh_as(client, &shared.refresh).await));
            }
            for _ in 0..3 {
                world.advance(28_700);
                for worker in &mut workers {
                    assert!(world.opens(&worker.access).await, "{profile:?}");
                    *worker = pair(&world.refresh_as(client, &worker.refresh).await);
                }
            }
        }
    }
}
