//! A clock that jumps forward or is set back: nothing is lost, and nothing invalid becomes valid again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join_all;
use grantor::config::Profile;
use grantor::server::{NotReady, PurgeError};
use grantor::store::{LastPurge, RecordStore, Stores};
use grantor::testing::SeededEntropy;
use grantor::wire::{Endpoint, Response};
use grantor::{AuthorizationServer, Config, Consent, Decision, Timestamp};

use support::intercepted::over_with;
use support::intercepted::scripts::Calls;
use support::world::{PKCE, Pair, SESSION, START, World, e400, empty, error_body, form, ok, pair, wa};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;
const ACCESS_LIFE: u64 = 28_800;

/// A world after its first purge.
async fn world() -> World {
    let world = World::platform().await;
    assert!(world.server.purge_expired(100).await.unwrap().is_finished());
    world
}

/// Replaces the world's server with a new one on the same store, which has not observed any time yet.
fn restart(world: &mut World) {
    static SEED: AtomicU64 = AtomicU64::new(100);
    let entropy = SeededEntropy::new(SEED.fetch_add(1, Ordering::Relaxed));
    let builder = world.builder(world.server.config().clone(), world.store.clone());
    world.server = builder.entropy(entropy).build().unwrap();
}

fn set_clock(world: &World, seconds: u64) {
    world.clock.set(Timestamp::from_seconds(START + u32::try_from(seconds).unwrap()));
}

async fn stored(world: &World) -> (usize, usize) {
    (world.store.authorization_count().await, world.store.grant_count().await)
}

/// The purge is refused with the error and with one event, and removes nothing.
async fn refused(world: &World) {
    let before = stored(world).await;
    for _ in 0..2 {
        world.events.take();
        let error = world.server.purge_expired(100).await.unwrap_err();
        let PurgeError::ClockAhead { now, newest, .. } = error else { panic!("{error}") };
        assert!(now > newest.plus(Duration::from_secs(DAY)));
        let events = world.events.take();
        assert!(events.len() == 1 && events[0].starts_with("PurgeRefused"), "{events:?}");
        for time in [now, newest] {
            assert!(events[0].contains(&time.to_string()) && error.to_string().contains(&time.to_string()), "{error}");
        }
    }
    assert_eq!(stored(world).await, before);
}

/// Purges, and returns how many records were removed.
async fn removed(world: &World) -> usize {
    let purge = world.server.purge_expired(100).await.unwrap();
    assert!(purge.is_finished());
    purge.removed()
}

/// CLK-01
///
/// The first call on a store writes its time and removes nothing.
#[tokio::test]
async fn the_first_purge_removes_nothing() {
    let mut world = World::platform().await;
    world.pair().await;
    world.advance(YEAR);
    assert_eq!((removed(&world).await, stored(&world).await), (0, (1, 1)));
    restart(&mut world);
    assert_eq!((removed(&world).await, stored(&world).await), (2, (0, 0)));
}

/// CLK-01
///
/// A difference of up to a day does not count as a clock jump.
#[tokio::test]
async fn a_purge_within_a_day_is_accepted() {
    for ahead in [23 * HOUR, DAY] {
        let world = world().await;
        world.pair().await;
        world.advance(ahead);
        assert_eq!((removed(&world).await, stored(&world).await), (1, (0, 1)), "{ahead}");
    }
}

/// CLK-01
///
/// After a clock jump of more than a day nothing is removed, not even after a restart.
#[tokio::test]
async fn a_purge_beyond_a_day_is_refused() {
    for ahead in [DAY + 1, 25 * HOUR] {
        let mut world = world().await;
        world.pair().await;
        world.advance(ahead);
        refused(&world).await;
        restart(&mut world);
        refused(&world).await;
    }
}

/// CLK-01
///
/// Sign-ins while the clock is wrong do not confirm its time. Once the clock is right again, nothing is lost.
#[tokio::test]
async fn a_clock_jump_of_ten_years_deletes_nothing() {
    let mut world = world().await;
    let live = world.pair().await;
    let code = world.code().await;
    world.advance(10 * YEAR);
    for _ in 0..3 {
        world.pair().await;
        refused(&world).await;
        restart(&mut world);
        world.pair().await;
        refused(&world).await;
        world.advance(60);
    }

    set_clock(&world, 300);
    assert_eq!(removed(&world).await, 0);
    assert!(world.opens(&live.access).await);
    ok(&world.refresh(&live.refresh).await);
    ok(&world.exchange(&code).await);
    set_clock(&world, 2 * HOUR);
    assert!(removed(&world).await >= 2, "expired records are removed again");
}

/// CLK-01
///
/// After idle days a purge is refused until the clock is confirmed.
#[tokio::test]
async fn a_purge_after_idle_days_is_confirmed() {
    let mut world = world().await;
    world.pair().await;
    world.advance(3 * DAY);
    restart(&mut world);
    refused(&world).await;
    world.server.confirm_clock().await.unwrap();
    assert_eq!((removed(&world).await, stored(&world).await), (1, (0, 1)));
    restart(&mut world);
    assert_eq!(removed(&world).await, 0, "the confirmation is in the store");
}

/// CLK-01
///
/// A process that served requests meanwhile has observed the time pass.
#[tokio::test]
async fn busy_days_without_a_purge_are_no_clock_jump() {
    let mut world = world().await;
    let mut live = world.pair().await;
    for _ in 0..3 {
        world.advance(20 * HOUR);
        live = pair(&world.refresh(&live.refresh).await);
    }
    assert_eq!(removed(&world).await, 1);

    for _ in 0..3 {
        world.advance(20 * HOUR);
        live = pair(&world.refresh(&live.refresh).await);
    }
    restart(&mut world);
    refused(&world).await;
}

/// CLK-01
///
/// After a wrong clock was confirmed by mistake, the right one can be confirmed.
#[tokio::test]
async fn a_mistaken_confirmation_is_taken_back() {
    let mut world = world().await;
    world.advance(YEAR);
    world.server.confirm_clock().await.unwrap();
    set_clock(&world, 60);
    restart(&mut world);
    assert_eq!(removed(&world).await, 0);
    world.server.confirm_clock().await.unwrap();
    set_clock(&world, YEAR);
    refused(&world).await;
}

/// CLK-01
///
/// The limit of one day is a setting.
#[tokio::test]
async fn the_largest_clock_jump_is_configured() {
    let set = |config: &mut Config| config.clock_jump = Duration::from_secs(2 * HOUR);
    let world = World::with(Profile::Platform, set).await;
    removed(&world).await;
    world.advance(2 * HOUR);
    removed(&world).await;
    world.advance(2 * HOUR + 1);
    assert!(matches!(world.server.purge_expired(100).await, Err(PurgeError::ClockAhead { .. })));
}

/// CLK-01
///
/// Servers share the record. Concurrent purges all succeed, and write it once a minute.
#[tokio::test]
async fn purges_at_once_share_one_record() {
    let world = world().await;
    world.advance(60);
    for minutes in 1..=3_u32 {
        let servers: Vec<_> = (0..8)
            .map(|_| {
                let stores = Stores::from(world.store.clone());
                AuthorizationServer::builder(world.server.config().clone(), stores).clock(world.clock.clone())
            })
            .map(|builder| builder.build().unwrap())
            .collect();
        let purges = join_all(servers.iter().map(|server| server.purge_expired(10))).await;
        assert!(purges.into_iter().all(|purge| purge.is_ok_and(|purge| purge.is_finished())));
        let written = RecordStore::<LastPurge>::find(&world.store, &LastPurge::KEY).await.unwrap().unwrap();
        assert_eq!(written.time(), Timestamp::from_seconds(START + 60 * minutes));
        world.advance(1);
        assert!(servers[0].purge_expired(10).await.is_ok());
        assert_eq!(
            RecordStore::<LastPurge>::find(&world.store, &LastPurge::KEY).await.unwrap().unwrap(),
            written,
            "once a minute"
        );
        world.advance(59);
    }
}

/// One of everything that a server issues, issued 100 days ahead of the clock.
struct OfTheFuture {
    handle: String,
    code: String,
    pair: Pair,
}

const AHEAD: u64 = 100 * DAY;

async fn of_the_future(world: &World) -> OfTheFuture {
    set_clock(world, AHEAD);
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let (code, pair) = (world.code().await, world.pair().await);
    set_clock(world, 0);
    OfTheFuture { handle: handle.expose().to_owned(), code, pair }
}

async fn decides(world: &World, handle: &str) -> bool {
    let consent = Decision::Approve(Consent::to_everything());
    world.server.decide(handle, &world.alice, SESSION, &consent).await.is_ok()
}

/// CLK-02
///
/// What a clock that is ahead by more than minutes issued is invalid until then, and valid afterwards.
#[tokio::test]
async fn what_is_issued_in_the_future_waits() {
    let world = World::platform().await;
    let OfTheFuture { handle, code, pair } = of_the_future(&world).await;
    for at in [0, AHEAD - 901] {
        set_clock(&world, at);
        wa(world.access(&pair.access).await.unwrap_err(), 401, "invalid_token");
        assert_eq!(world.introspect_as(&world.client, &pair.access).await["active"], false);
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
        e400(&world.exchange(&code).await, "invalid_grant");
        assert!(!decides(&world, &handle).await);
    }
    assert!(!world.events.take().iter().any(|event| event.contains("Revoked") || event.contains("Reused")));
    set_clock(&world, AHEAD - 60);
    assert!(world.opens(&pair.access).await);
    assert_eq!(world.introspect_as(&world.client, &pair.access).await["active"], true);
    ok(&world.refresh(&pair.refresh).await);
    ok(&world.exchange(&code).await);
    assert!(decides(&world, &handle).await);
}

/// CLK-02
///
/// It can be revoked before it is valid.
#[tokio::test]
async fn what_is_issued_in_the_future_is_revoked_for_good() {
    let world = World::platform().await;
    let OfTheFuture { handle, code, pair } = of_the_future(&world).await;
    let (access, other) = (of_the_future(&world).await.pair, of_the_future(&world).await.pair);
    empty(&world.revoke(&pair.refresh).await);
    empty(&world.revoke(&access.access).await);
    assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 2, "they are listed");
    set_clock(&world, AHEAD);
    assert!(!world.opens(&pair.access).await && !world.opens(&access.access).await);
    e400(&world.refresh(&pair.refresh).await, "invalid_grant");

    set_clock(&world, 0);
    assert!(world.server.revoke_subject(&world.alice).await.unwrap() >= 4);
    set_clock(&world, AHEAD);
    assert!(!world.opens(&other.access).await);
    e400(&world.refresh(&other.refresh).await, "invalid_grant");
    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(!decides(&world, &handle).await);
}

/// CLK-02
///
/// A code that was exchanged in the future is used up.
#[tokio::test]
async fn a_code_redeemed_in_the_future_stays_redeemed() {
    let world = World::platform().await;
    set_clock(&world, AHEAD);
    let code = world.code().await;
    let live = pair(&world.exchange(&code).await);
    set_clock(&world, 0);
    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(world.events.saw("CodeReplayed"));
    set_clock(&world, AHEAD);
    assert!(!world.opens(&live.access).await);
    e400(&world.exchange(&code).await, "invalid_grant");
}

/// CLK-02
///
/// A token that was refreshed during the jump leads to a pair that works now.
#[tokio::test]
async fn an_old_token_replaces_a_pair_of_the_future() {
    let world = World::platform().await;
    let first = world.pair().await;
    set_clock(&world, 5 * HOUR);
    let second = pair(&world.refresh(&first.refresh).await);
    set_clock(&world, 60);
    assert!(!world.opens(&second.access).await);
    e400(&world.refresh(&second.refresh).await, "invalid_grant");
    let third = pair(&world.refresh(&first.refresh).await);
    assert!(third != second && world.opens(&third.access).await);
    ok(&world.refresh(&third.refresh).await);
}

/// CLK-02
///
/// A grace that began in the future ends as one that begins now, so it does not occupy a place for long.
#[tokio::test]
async fn a_grace_of_the_future_is_cut() {
    let world = World::platform().await;
    let first = world.pair().await;
    set_clock(&world, AHEAD);
    pair(&world.refresh(&first.refresh).await);
    set_clock(&world, 60);
    let mut newest = pair(&world.refresh(&first.refresh).await);
    for round in 1..=130 {
        set_clock(&world, 60 + round * HOUR);
        newest = pair(&world.refresh(&newest.refresh).await);
    }
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert!(world.events.saw("RefreshTokenReused"));
}

/// CLK-02
///
/// Records left by a clock jump take no place from usable ones.
#[tokio::test]
async fn requests_and_grants_of_the_future_take_no_place() {
    let world = World::with(Profile::Platform, |config| config.limits.grants = 2).await;
    for _ in 0..11 {
        of_the_future(&world).await;
    }
    let hold = async || {
        let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap().expose().to_owned()
    };
    let mut tabs = Vec::new();
    for _ in 0..10 {
        tabs.push(hold().await);
    }
    for tab in &tabs {
        assert!(decides(&world, tab).await);
    }
    let (one, other) = (world.pair().await, world.pair().await);
    assert!(world.opens(&one.access).await && world.opens(&other.access).await);
}

/// CLK-02
///
/// Setting the clock back moves no expiry: an expired token is valid again for as long as the clock was set back.
#[tokio::test]
async fn a_clock_set_back_moves_no_end() {
    let world = World::platform().await;
    let live = world.pair().await;
    let ends = ACCESS_LIFE;
    set_clock(&world, ends + HOUR / 2);
    assert!(!world.opens(&live.access).await);
    set_clock(&world, ends - HOUR / 2);
    assert!(world.opens(&live.access).await);
    set_clock(&world, ends - 1);
    assert!(world.opens(&live.access).await);
    set_clock(&world, ends);
    assert!(!world.opens(&live.access).await);
}

/// CLK-02
///
/// Setting the clock back restores nothing that was revoked or used.
#[tokio::test]
async fn a_clock_set_back_brings_nothing_back() {
    let world = World::platform().await;
    let (revoked, alone) = (world.pair().await, world.pair().await);
    let code = world.code().await;
    let redeemed = pair(&world.exchange(&code).await);
    let superseded = world.pair().await;
    set_clock(&world, HOUR);
    empty(&world.revoke(&revoked.refresh).await);
    empty(&world.revoke(&alone.access).await);
    let next = pair(&world.refresh(&superseded.refresh).await);
    set_clock(&world, HOUR + 361);
    e400(&world.refresh(&superseded.refresh).await, "invalid_grant");
    set_clock(&world, 361);
    for token in [&revoked.access, &alone.access, &superseded.access, &next.access] {
        assert!(!world.opens(token).await);
    }
    for token in [&revoked.refresh, &superseded.refresh, &next.refresh] {
        e400(&world.refresh(token).await, "invalid_grant");
    }
    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(!world.opens(&redeemed.access).await, "its code was used twice");
}

/// CLK-02
///
/// A server whose clock is ahead considers a token expired that the others accept. Its revocation counts everywhere.
#[tokio::test]
async fn a_revocation_at_a_clock_that_is_ahead_counts_at_the_others() {
    let set = |config: &mut Config| config.tokens.access_lifetime = Duration::from_secs(300);
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, set).await;
        let (one, other) = (world.pair().await, world.pair().await);
        set_clock(&world, 600);
        empty(&world.revoke(&one.access).await);
        set_clock(&world, 180 * DAY + 600);
        empty(&world.revoke(&other.refresh).await);
        set_clock(&world, 0);
        assert!(!world.opens(&one.access).await, "{profile:?}");
        ok(&world.refresh(&one.refresh).await);
        assert!(!world.opens(&other.access).await, "{profile:?}");
        e400(&world.refresh(&other.refresh).await, "invalid_grant");
    }
}

/// CLK-02
///
/// A copy of a token that expired long ago, or that another client sends, revokes nothing. Nor does a superseded one in
/// the platform profile.
#[tokio::test]
async fn an_old_or_foreign_copy_revokes_nothing() {
    let world = World::platform().await;
    let foreign = world.register(form()).await;
    let live = world.pair().await;
    let lifetime = 180 * DAY;
    for (at, client) in [(lifetime + DAY, &world.client), (lifetime + DAY - 1, &foreign)] {
        set_clock(&world, at);
        for token in [&live.access, &live.refresh] {
            empty(&world.revoke_as(client, token).await);
        }
    }
    set_clock(&world, 0);
    assert!(world.opens(&live.access).await);
    let next = pair(&world.refresh(&live.refresh).await);
    set_clock(&world, lifetime + 600);
    empty(&world.revoke(&live.refresh).await);
    set_clock(&world, 0);
    ok(&world.refresh(&next.refresh).await);
}

/// One of everything that a server ten minutes ahead issued, seen by one whose clock is right, and the reverse.
const APART: u64 = 600;

/// The answer is 503 with `Retry-After`.
fn e503(response: &Response) {
    assert_eq!(response.status(), 503);
    assert_eq!(response.header("Retry-After"), Some("1"));
    error_body(response, "temporarily_unavailable");
}

/// CLK-02
///
/// Clocks that differ by minutes cost an honest client no token: it gets 503 until it asks the other server, or until
/// the clocks agree.
#[tokio::test]
async fn clocks_that_differ_by_minutes_refuse_nothing_for_good() {
    for ahead in [61, APART, 900] {
        let world = World::with(Profile::Platform, |_| {}).await;
        set_clock(&world, ahead);
        let (code, live) = (world.code().await, world.pair().await);
        set_clock(&world, 0);
        world.events.take();
        assert_eq!(world.access(&live.access).await.unwrap_err().into_response().status(), 503);
        e503(&world.post(Endpoint::Introspection, &[("token", &live.access)]).client(&world.client).send().await);
        e503(&world.refresh(&live.refresh).await);
        e503(&world.exchange(&code).await);
        let events = world.events.take();
        let reports = events.iter().filter(|event| event.starts_with("ClockDiffers"));
        assert_eq!(reports.collect::<Vec<_>>(), [&format!("ClockDiffers {{ ahead: {ahead} }}")], "once a minute");
        // The server that issued them accepts them, and the other one does when its clock is right.
        for at in [ahead, ahead - 60] {
            set_clock(&world, at);
            assert!(world.opens(&live.access).await);
        }
        ok(&world.exchange(&code).await);
        ok(&world.refresh(&live.refresh).await);
    }
}

/// CLK-02
///
/// A server that is ahead accepts what the others issue, as long as it has not expired by its clock.
#[tokio::test]
async fn a_server_that_is_ahead_accepts_what_the_others_issue() {
    let world = World::with(Profile::Platform, |_| {}).await;
    let live = world.pair().await;
    let code = world.code().await;
    set_clock(&world, APART - 1);
    assert!(world.opens(&live.access).await);
    let next = pair(&world.refresh(&live.refresh).await);
    ok(&world.exchange(&code).await);
    // Back at the others, the old token leads to a usable access token of the same line, and accuses no one.
    set_clock(&world, 0);
    let again = pair(&world.refresh(&live.refresh).await);
    assert_eq!(again.refresh, next.refresh);
    assert!(world.opens(&again.access).await);
    set_clock(&world, 2 * HOUR);
    ok(&world.refresh(&next.refresh).await);
}

/// CLK-02
///
/// What a server ten minutes ahead holds and issued keeps its place: at the limits the oldest goes, not the newest.
#[tokio::test]
async fn what_a_server_that_is_ahead_holds_keeps_its_place() {
    let world = World::with(Profile::Platform, |config| config.limits.grants = 2).await;
    let hold = async || {
        let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap().expose().to_owned()
    };
    let oldest = world.pair().await;
    set_clock(&world, APART);
    let (page, live) = (hold().await, world.pair().await);
    set_clock(&world, 0);
    let another_tab = hold().await;
    let newest = world.pair().await;
    assert!(decides(&world, &another_tab).await && !world.opens(&oldest.access).await);
    set_clock(&world, APART);
    assert!(decides(&world, &page).await);
    assert!(world.opens(&live.access).await && world.opens(&newest.access).await);
}

/// CLK-02
///
/// 503 is for honest clients alone: other checks come first.
#[tokio::test]
async fn a_clock_that_differs_hides_no_refusal() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    set_clock(&world, APART);
    let (code, spent, live) = (world.code().await, world.code().await, world.pair().await);
    let redeemed = pair(&world.exchange(&spent).await);
    set_clock(&world, 0);
    e400(&world.exchange_as(&other, &code).await, "invalid_grant");
    e400(&world.refresh_as(&other, &live.refresh).await, "invalid_grant");
    let wrong = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", &"x".repeat(43))];
    e400(&world.token(&wrong).client(&world.client).send().await, "invalid_grant");
    for _ in 0..2 {
        e400(&world.exchange(&spent).await, "invalid_grant");
    }
    assert!(world.events.saw("CodeReplayed"));
    set_clock(&world, APART);
    assert!(!world.opens(&redeemed.access).await);
    ok(&world.exchange(&code).await);
}

/// CLK-02
///
/// A load balancer sends no requests to a server whose clock is behind that of another one.
#[tokio::test]
async fn a_server_whose_clock_is_behind_is_not_ready() {
    let world = World::platform().await;
    world.server.ready().await.unwrap();
    for (ahead, status) in [(0, 204), (60, 204), (APART, 503)] {
        set_clock(&world, ahead);
        let _ = world.server.purge_expired(10).await.unwrap();
        assert!(world.server.ready().await.is_ok(), "it is the clock of the last purge");
        set_clock(&world, 0);
        assert_eq!(world.server.readiness_response().await.status(), status, "{ahead}");
    }
    let error = world.server.ready().await.unwrap_err();
    assert!(matches!(error, NotReady::ClockDiffers { ahead: 600, .. }), "{error}");
}

/// Strangers who ask whether a server is ready cost its store one read and one write a second.
#[tokio::test]
async fn who_asks_whether_a_server_is_ready_costs_one_write_a_second() {
    let world = world().await;
    let calls = Calls::recorded();
    let asked = over_with(&world, calls.clone(), |builder| builder);
    for second in 0..3 {
        for _ in 0..100 {
            assert_eq!(asked.server.readiness_response().await.status(), 204);
        }
        assert_eq!(calls.take(), ["purges.find", "purges.confirm"], "{second}");
        world.advance(1);
    }
}
