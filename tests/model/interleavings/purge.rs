//! The purge beside everything else: it removes expired records, and nothing that is still needed.

use crate::interleavings::explore::{Move, Scene, Waits, each, in_every_order};
use support::intercepted::step::{Answer, Step};
use support::world::{Pair, World};

const CODE_LIFE: u64 = 600;
const REFRESH_LIFE: u64 = 15_552_000;
const KEPT: u64 = 3600;

#[test]
fn a_purge_takes_nothing_from_what_goes_on_beside_it() {
    let kinds: [fn(&Prepared) -> Step; 6] = [
        |prepared| Step::Exchange(prepared.code.clone()),
        |prepared| Step::Refresh(prepared.pair.refresh.clone()),
        |prepared| Step::Revoke(prepared.pair.refresh.clone()),
        |prepared| Step::Agree(prepared.handle.clone()),
        |_| Step::Hold,
        |prepared| Step::Authenticate(prepared.pair.access.clone()),
    ];
    for kind in kinds {
        let scene = async move || {
            let prepared = Prepared::new().await;
            let tasks = each([kind(&prepared), Step::Purge]);
            Scene { world: prepared.world, tasks, pair: prepared.pair, pairs_made: 1 }
        };
        in_every_order("purge and another", Waits::CodesAndTokens, scene, async |scene, answers| {
            let answer = answers[0][0].clone().good();
            assert!(answers[1][0].is_good(), "{answers:?}");
            let [Move::Take(step)] = scene.tasks[0].as_slice() else { unreachable!() };
            let was_revoked = matches!(step, Step::Revoke(_));
            assert_eq!(scene.world.is_dead(&scene.pair).await, was_revoked, "{answers:?}");
            if let Some(pair) = &answer.pair {
                assert!(scene.is_live(pair).await, "what was acknowledged is not lost: {answers:?}");
            }
            match step {
                Step::Agree(_) => assert!(Step::Exchange(answer.given).run(&scene.world).await.is_good()),
                Step::Hold => assert!(Step::Agree(answer.given).run(&scene.world).await.is_good()),
                _ => {}
            }
            // What had expired at the start is gone.
            let left = 2 + usize::from(matches!(step, Step::Hold));
            assert_eq!(scene.world.store.authorization_count().await, left, "{answers:?}");
        });
    }
}

/// A world with an old request and an old code that are due for the purge, a valid one of each, and a grant whose first
/// access token has expired.
struct Prepared {
    world: World,
    handle: String,
    code: String,
    pair: Pair,
}

impl Prepared {
    async fn new() -> Self {
        let world = World::platform().await;
        let _ = world.code().await;
        let _ = Step::Hold.run(&world).await.good();
        let first = world.pair().await;
        world.advance(28_800);
        let pair = Step::Refresh(first.refresh).run(&world).await.pair();
        let code = world.code().await;
        let handle = Step::Hold.run(&world).await.good().given;
        Self { world, handle, code, pair }
    }
}

/// At the second from which its code may be forgotten, a replay is noticed or unknown.
#[test]
fn a_replay_at_the_end_of_its_notice_revokes_or_is_unknown() {
    in_every_order(
        "purge, replay",
        Waits::CodesAndTokens,
        async || {
            let world = World::platform().await;
            let code = world.code().await;
            let pair = Step::Exchange(code.clone()).run(&world).await.pair();
            // A page may stay open for longer than a code is valid.
            world.advance(1800 + KEPT);
            Scene { world, tasks: each([Step::Exchange(code), Step::Purge]), pair, pairs_made: 1 }
        },
        async |scene, answers| {
            assert_eq!(answers[0][0].error, "invalid_grant", "{answers:?}");
            let replayed = scene.world.events.saw("CodeReplayed");
            assert_eq!(scene.world.is_dead(&scene.pair).await, replayed, "{answers:?}");
        },
    );
}

/// The exchange pauses between its read and its claim, until the code has expired. The record in the grant's place must
/// still be there.
#[test]
#[ignore = "tries 8,000 orders"]
fn an_exchange_that_comes_too_late_brings_nothing_that_works() {
    withdrawn_and_purged(CODE_LIFE + KEPT);
}

#[test]
#[ignore = "tries 8,000 orders"]
fn an_exchange_after_the_end_of_a_page_brings_nothing_that_works() {
    withdrawn_and_purged(1800 + KEPT);
}

#[test]
#[ignore = "tries 8,000 orders"]
fn an_exchange_that_comes_half_a_year_late_brings_nothing_that_works() {
    withdrawn_and_purged(CODE_LIFE + REFRESH_LIFE + KEPT);
}

/// An exchange while the code is withdrawn and, that many seconds later, a purge runs.
fn withdrawn_and_purged(later: u64) {
    let scene = async move || {
        let world = World::platform().await;
        let code = world.code().await;
        let other = vec![Step::WithdrawSubject.into(), Move::Wait(later), Step::Purge.into()];
        let pair = Pair { access: String::new(), refresh: String::new(), scope: String::new() };
        Scene { world, tasks: vec![vec![Step::Exchange(code).into()], other], pair, pairs_made: 1 }
    };
    in_every_order("exchange; withdrawal, later, purge", Waits::CodesAndTokens, scene, async |scene, answers| {
        assert!(answers[1].iter().all(Answer::is_good), "{answers:?}");
        match &answers[0][0].pair {
            Some(pair) => assert!(scene.world.is_dead(pair).await, "{answers:?}"),
            // The record that blocked it may be removed before it reads whose record that was. Then it cannot know.
            None => {
                let known = ["invalid_grant", "temporarily_unavailable"];
                assert!(known.contains(&answers[0][0].error.as_str()), "{answers:?}");
            }
        }
        assert_eq!(scene.world.live_grants().await, 0, "{answers:?}");
    });
}
