//! Grace and reuse of refresh tokens: RFC 6749 section 6 with RFC 9700 section 4.14.2.

use std::collections::BTreeMap;
use std::time::Duration;

use grantor::config::{GraceEnd, Profile};
use grantor::wire::Response;
use grantor::{ApplicationForm, Config};

use crate::interleaved::{CALLERS, side_by_side};
use crate::rfc6749_refresh::{native_form, records};
use crate::unreliable::{Fault, Unreliable};
use support::world::{Credentials, ISSUER, Pair, World, e400, e401, error_body, form, ok, pair, public_form};

#[derive(Clone, Copy)]
enum Ask {
    Access(usize),
    Refresh(usize),
    /// A refresh with less scope.
    RefreshForLess(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    /// The access token is accepted.
    Accepted,
    /// The access token is refused.
    Invalid,
    /// The pair with this number: a new one, or the same one again.
    Pair(usize),
    /// A further access token with this number, and the refresh token of that pair. Nothing rotates.
    Further(usize, usize),
    /// `invalid_grant`, the whole grant is revoked.
    Dead,
}

struct Row {
    at: u64,
    ask: Ask,
    platform: Answer,
    strict: Answer,
    /// The strict profile with 300 s set, so only a later refresh ends the grace of R1.
    strict_long: Answer,
}

const fn row(at: u64, ask: Ask, answers: [Answer; 3]) -> Row {
    let [platform, strict, strict_long] = answers;
    Row { at, ask, platform, strict, strict_long }
}

const LESS: &str = "repo-code:r";

const TIMELINE: [Row; 12] = {
    use Answer::{Accepted, Dead, Further, Invalid, Pair};
    use Ask::{Access, Refresh, RefreshForLess};
    [
        row(1000, Refresh(1), [Pair(2), Pair(2), Pair(2)]),
        row(1100, Access(1), [Accepted, Accepted, Accepted]),
        row(1100, Refresh(1), [Pair(2), Pair(2), Pair(2)]),
        row(1105, RefreshForLess(1), [Further(10, 2), Further(10, 2), Further(10, 2)]),
        row(1108, Access(2), [Accepted, Accepted, Accepted]),
        row(1110, Refresh(2), [Pair(3), Pair(3), Pair(3)]),
        row(1115, Refresh(1), [Pair(3), Dead, Dead]),
        row(1121, Refresh(1), [Pair(3), Dead, Dead]),
        row(1299, Access(1), [Accepted, Accepted, Accepted]),
        row(1300, Access(1), [Invalid, Invalid, Invalid]),
        row(1300, Refresh(1), [Dead, Dead, Dead]),
        row(1301, Access(3), [Invalid, Invalid, Invalid]),
    ]
};

/// One run through the timeline.
struct Run {
    world: World,
    client: Credentials,
    now: u64,
    pairs: BTreeMap<usize, Pair>,
    /// When each pair was issued.
    issued: BTreeMap<usize, u64>,
}

impl Run {
    async fn begin(profile: Profile, form: ApplicationForm, change: impl FnOnce(&mut Config)) -> Self {
        let world = World::with(profile, change).await;
        let client = world.register(form).await;
        let pairs = BTreeMap::from([(1, world.pair_of(&client).await)]);
        Self { world, client, now: 0, pairs, issued: BTreeMap::from([(1, 0)]) }
    }

    async fn step(&mut self, row: &Row, answer: Answer) {
        let Row { at, ask, .. } = *row;
        self.world.advance(at - self.now);
        self.now = at;
        let before = records(&self.world).await;
        match ask {
            Ask::Access(number) => {
                let opens = self.world.opens(&self.pairs[&number].access).await;
                assert_eq!(opens, answer == Answer::Accepted, "A{number} at {at}");
            }
            Ask::RefreshForLess(number) => {
                let Answer::Further(access, refresh) = answer else { panic!("no such answer to less: {answer:?}") };
                let form =
                    [("grant_type", "refresh_token"), ("refresh_token", &self.pairs[&number].refresh), ("scope", LESS)];
                let seen = pair(&self.world.token(&form).client(&self.client).send().await);
                assert_eq!((&*seen.scope, &seen.refresh), (LESS, &self.pairs[&refresh].refresh), "R{number} at {at}");
                assert!(self.pairs.values().all(|own| own.access != seen.access), "R{number} at {at}");
                self.pairs.insert(access, seen);
            }
            Ask::Refresh(number) => {
                self.unauthorized_use_changes_nothing(&self.pairs[&number].refresh).await;
                let response = self.world.refresh_as(&self.client, &self.pairs[&number].refresh).await;
                match answer {
                    Answer::Pair(expected) => {
                        let seen = pair(&response);
                        let is_new = self.pairs.values().all(|own| *own != seen);
                        let known = self.pairs.entry(expected).or_insert_with(|| seen.clone());
                        assert_eq!(*known, seen, "R{number} at {at}");
                        let issued = *self.issued.entry(expected).or_insert(at);
                        assert_eq!(is_new, issued == at, "R{number} at {at}");
                        assert_eq!(ok(&response).expires_in, Some(28_800 - (at - issued)));
                        assert_eq!(records(&self.world).await == before, !is_new, "R{number} at {at}");
                    }
                    _ => {
                        e400(&response, "invalid_grant");
                        self.is_dead().await;
                    }
                }
            }
        }
    }

    async fn unauthorized_use_changes_nothing(&self, token: &str) {
        let before = records(&self.world).await;
        let wrong = Credentials { secret: "wrong".into(), ..self.client.clone() };
        e401(&self.world.refresh_as(&wrong, token).await, "invalid_client");
        assert_eq!(records(&self.world).await, before);
    }

    async fn is_dead(&self) {
        assert!(self.world.events.saw("RefreshTokenReused"), "at {}", self.now);
        for (number, pair) in &self.pairs {
            assert!(!self.world.opens(&pair.access).await, "A{number} at {}", self.now);
            e400(&self.world.refresh_as(&self.client, &pair.refresh).await, "invalid_grant");
        }
        assert!(!self.world.events.saw("RefreshTokenReused"), "a grant is revoked once");
    }
}

/// D-11, D-12, SVC-3-03, 6750-3.1-01, 9700-4.14.2-02, 6749-6-05, 6749-5.1-03, CVE-2026-53512, negative case #1,
/// negative case #3, django-oauth-toolkit #1816, django-oauth-toolkit #1687
#[tokio::test]
async fn the_timeline_of_the_platform_profile() {
    let mut run = Run::begin(Profile::Platform, form(), |_| {}).await;
    for row in &TIMELINE {
        run.step(row, row.platform).await;
    }
    // In this profile every client has the same grace.
    for form in [public_form(), native_form()] {
        let mut run = Run::begin(Profile::Platform, form.clone(), |_| {}).await;
        for row in &TIMELINE {
            run.step(row, row.platform).await;
        }
    }
}

/// D-11, D-12, 9700-4.14.2-02, negative case #2, django-oauth-toolkit #1617
#[tokio::test]
async fn the_timeline_of_the_strict_profile() {
    let nothing: fn(&mut Config) = |_| {};
    let longer: fn(&mut Config) = |config| config.refresh.grace = Duration::from_secs(300);
    type Column = fn(&Row) -> Answer;
    let columns: [(_, _, Column); 4] = [
        (public_form(), nothing, |row| row.strict),
        (native_form(), nothing, |row| row.strict),
        (form(), nothing, |row| row.strict),
        (form(), longer, |row| row.strict_long),
    ];
    for (form, change, answer) in columns {
        // No earlier request of the column was refused, except just before the last row.
        for last in 0..TIMELINE.len() {
            let mut run = Run::begin(Profile::Strict, form.clone(), change).await;
            for (number, row) in TIMELINE.iter().enumerate().take(last + 1) {
                let refused = answer(row) == Answer::Dead;
                if number == last || !refused || last == 11 && number == 10 {
                    run.step(row, answer(row)).await;
                }
            }
        }
    }
}

/// D-11, SVC-3-03, 7662-2.2-03
#[tokio::test]
async fn the_deadline_of_grace_is_set_once() {
    let world = World::platform().await;
    let first = world.pair().await;
    let mut newest = pair(&world.refresh(&first.refresh).await);
    world.events.take();
    for (seconds, age) in [(0, 0), (100, 100), (100, 200), (99, 299)] {
        world.advance(seconds);
        assert_eq!(pair(&world.refresh(&first.refresh).await), newest);
        let event = world.events.take().into_iter().find(|event| event.starts_with("RefreshedInGrace")).unwrap();
        assert!(event.contains(&format!("age: {age}")), "{event}");
        newest = pair(&world.refresh(&newest.refresh).await);
        let shown = world.introspect_as(&world.client, &first.access).await;
        assert_eq!(shown["exp"], 1_000_000_300);
        assert!(world.opens(&first.access).await && world.opens(&newest.access).await);
    }
    world.advance(1);
    assert!(!world.opens(&first.access).await);
    ok(&world.refresh(&newest.refresh).await);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
}

/// SVC-3-04, SVC-3-01, D-11, D-12, 9700-4.14.2-03
#[tokio::test]
async fn grace_never_lengthens_a_life() {
    for (used_after, good) in [(59, true), (60, false), (61, false)] {
        let world = World::platform().await;
        let first = world.pair().await;
        world.advance(28_740);
        ok(&world.refresh(&first.refresh).await);
        world.advance(used_after);
        assert_eq!(world.opens(&first.access).await, good, "after {used_after} s");
        ok(&world.refresh(&first.refresh).await);
    }
    for (used_after, good) in [(59, true), (60, false), (61, false), (299, false), (420, false)] {
        let world = World::platform().await;
        let first = world.pair().await;
        world.advance(15_551_940);
        let second = pair(&world.refresh(&first.refresh).await);
        world.advance(used_after);
        let response = world.refresh(&first.refresh).await;
        assert_eq!(response.status(), if good { 200 } else { 400 }, "after {used_after} s");
        // An expired token is not reported as reused.
        assert!(!world.events.saw("RefreshTokenReused"), "after {used_after} s");
        assert!(world.opens(&second.access).await, "after {used_after} s");
    }
    // Nor does it revive an access token that has expired.
    let world = World::platform().await;
    let first = world.pair().await;
    world.advance(28_800);
    ok(&world.refresh(&first.refresh).await);
    assert!(!world.opens(&first.access).await);
}

/// D-11, D-12, SVC-8-01, MCP-0618-04, 9700-4.14.2-02, negative case #5, negative case #16
#[tokio::test]
async fn each_profile_has_its_grace() {
    let cases = [(Profile::Platform, 300, 300), (Profile::Strict, 300, 120), (Profile::Mcp, 300, 120)];
    for ((profile, access_grace, grace), form) in
        cases.into_iter().flat_map(|case| [form(), public_form(), native_form()].map(|form| (case, form)))
    {
        let name = format!("{profile:?}, {:?}, {:?}", form.client_type, form.application_type);
        for (age, good) in [(access_grace - 1, true), (access_grace, false), (access_grace + 1, false)] {
            let run = Run::begin(profile, form.clone(), |_| {}).await;
            ok(&run.world.refresh_as(&run.client, &run.pairs[&1].refresh).await);
            run.world.advance(age);
            assert_eq!(run.world.opens(&run.pairs[&1].access).await, good, "{name}: access token after {age} s");
        }
        for age in [grace - 1, grace, grace + 1, grace + 60] {
            let run = Run::begin(profile, form.clone(), |_| {}).await;
            let (world, old) = (&run.world, &run.pairs[&1]);
            let new = pair(&world.refresh_as(&run.client, &old.refresh).await);
            world.advance(age);
            let response = world.refresh_as(&run.client, &old.refresh).await;
            assert_eq!(response.status(), if age < grace { 200 } else { 400 }, "{name}: refresh after {age} s");
            assert_eq!(world.events.saw("RefreshTokenReused"), age >= grace, "{name}: reuse after {age} s");
            assert_eq!(world.opens(&new.access).await, age < grace, "{name}: successor after {age} s");
        }
    }
}

/// D-11, D-12
#[tokio::test]
async fn a_reuse_after_the_grace_that_is_set_revokes_for_every_client() {
    for form in [form(), public_form(), native_form()] {
        let run = Run::begin(Profile::Platform, form, |config| config.refresh.grace = Duration::from_secs(7)).await;
        let (world, client, old) = (&run.world, &run.client, &run.pairs[&1]);
        ok(&world.refresh_as(client, &old.refresh).await);
        world.advance(6);
        let new = pair(&world.refresh_as(client, &old.refresh).await);
        world.advance(1);
        world.events.take();
        e400(&world.refresh_as(client, &old.refresh).await, "invalid_grant");
        assert!(world.events.saw("RefreshTokenReused"));
        assert!(!world.opens(&new.access).await);
        e400(&world.refresh_as(client, &new.refresh).await, "invalid_grant");
    }
    let refresh = Config::platform(ISSUER).refresh;
    assert_eq!([refresh.access_token_grace, refresh.grace], [Duration::from_secs(300); 2]);
    assert_eq!(refresh.grace_end, GraceEnd::Clock);
}

/// D-12, 9700-4.14.2-02, negative case #11
#[tokio::test]
async fn only_the_reuse_of_a_good_token_by_its_own_client_accuses() {
    let world = World::platform().await;
    let [first, other_device] = [world.pair().await, world.pair().await];
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(360);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert!(world.events.saw("RefreshTokenReused"));
    assert!(!world.opens(&second.access).await && world.opens(&other_device.access).await);
    ok(&world.refresh(&other_device.refresh).await);
    let before = records(&world).await;
    for token in [&first, &second] {
        e400(&world.refresh(&token.refresh).await, "invalid_grant");
    }
    assert_eq!(records(&world).await, before, "a revoked grant is not written again");
    assert!(!world.events.saw("RefreshTokenReused"));

    // The user must be asked again, and other grants of the client remain valid.
    let other = world.pair().await;
    let third = world.pair().await;
    world.revoke(&third.refresh).await;
    world.events.take();
    e400(&world.refresh(&third.refresh).await, "invalid_grant");
    world.advance(15_552_000);
    e400(&world.refresh(&other.refresh).await, "invalid_grant");
    assert!(!world.events.saw("RefreshTokenReused"), "revoked and expired tokens report no reuse");
}

// Fifty requests at once.

/// D-11, SVC-3-03, negative case #4, negative case #19, django-oauth-toolkit #558, hydra #3004, openiddict #262
#[tokio::test]
async fn of_fifty_parallel_refreshes_one_rotates_and_the_others_are_in_grace() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let mut world = World::with(profile, |_| {}).await;
        let first = world.pair().await;
        world.events.take();
        let responses = side_by_side(&mut world, async |world: &World| world.refresh(&first.refresh).await).await;
        all_refreshed(&world, &first, &responses).await;
    }
}

async fn all_refreshed(world: &World, first: &Pair, responses: &[Response]) {
    let events = world.events.take();
    for (name, count) in [("Refreshed {", 1), ("RefreshedInGrace {", CALLERS - 1), ("Refused", 0)] {
        assert_eq!(events.iter().filter(|event| event.starts_with(name)).count(), count, "{name}");
    }
    assert!(world.opens(&first.access).await);
    let pairs: Vec<_> = responses.iter().map(pair).collect();
    assert!(pairs.iter().all(|own| *own == pairs[0]), "one pair for all");
    assert!(world.opens(&pairs[0].access).await);
    let by_the_clock = world.server.config().refresh.grace_end == GraceEnd::Clock;
    let next = pair(&world.refresh(&pairs[0].refresh).await);
    assert_eq!(pair(&world.refresh(&pairs[0].refresh).await), next);
    assert!(world.opens(&pairs[0].access).await && world.opens(&next.access).await);
    if by_the_clock {
        assert_eq!(pair(&world.refresh(&first.refresh).await), next);
    }
}

/// D-11, D-12, 9700-4.14.2-02, CVE-2026-53517, CVE-2026-1035, CVE-2026-50631
/// The later ones have no grace: any of them may be a thief, so the grant is revoked.
#[tokio::test]
async fn of_fifty_parallel_refreshes_without_a_grace_one_succeeds() {
    for form in [public_form(), native_form()] {
        let mut world = World::with(Profile::Strict, |config| config.refresh.grace = Duration::ZERO).await;
        let client = world.register(form).await;
        let first = world.pair_of(&client).await;
        world.events.take();
        let call = async |world: &World| world.refresh_as(&client, &first.refresh).await;
        let responses = side_by_side(&mut world, call).await;
        let (winners, losers): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status() == 200);
        assert_eq!((winners.len(), losers.len()), (1, CALLERS - 1));
        for loser in losers {
            e400(loser, "invalid_grant");
        }
        let events = world.events.take();
        for (name, count) in
            [("Refreshed {", 1), ("RefreshedInGrace", 0), ("RefreshTokenReused", 1), ("GrantRevoked", 1)]
        {
            assert_eq!(events.iter().filter(|event| event.starts_with(name)).count(), count, "{name}");
        }
        let tokens = pair(winners[0]);
        assert!(!world.opens(&tokens.access).await);
        e400(&world.refresh_as(&client, &tokens.refresh).await, "invalid_grant");
    }
}

/// D-12, 9700-4.14.2-02, negative case #18, negative case #4
/// Also django-oauth-toolkit #609, #638, #722, #810, #960; hydra #3604; openiddict #916, #1274.
#[tokio::test]
async fn a_failing_store_reports_no_reuse() {
    let (world, store) = Unreliable::world(Profile::Platform).await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let unavailable = async |token: &str| {
        let response = world.refresh(token).await;
        assert!(response.status() == 503 && response.header("Retry-After").is_some(), "{response:?}");
        error_body(&response, "temporarily_unavailable");
    };
    for fault in [Fault::Writes, Fault::Everything] {
        store.fail(fault);
        unavailable(&second.refresh).await;
    }
    store.fail(Fault::None);
    world.advance(1000);
    for token in [&second.refresh, &first.refresh] {
        store.fail_reads(1);
        unavailable(token).await;
    }
    store.fail(Fault::Writes);
    unavailable(&first.refresh).await;
    store.fail(Fault::None);
    assert!(world.opens(&second.access).await);
    ok(&world.refresh(&second.refresh).await);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    assert!(!world.opens(&second.access).await);
}

/// D-12, negative case #10, django-oauth-toolkit #1809, openiddict #1381
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

/// D-11, negative case #12
#[tokio::test]
async fn grace_needs_no_token_in_clear() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    assert_eq!(pair(&world.refresh(&first.refresh).await), second);
    let record = records(&world).await.remove(0);
    for pair in [&first, &second] {
        for token in [&pair.access, &pair.refresh] {
            let secret = &token.as_bytes()[25..];
            assert!(!record.windows(16).any(|window| secret.starts_with(window)), "in clear");
        }
    }
    ok(&world.refresh(&second.refresh).await);
}
