//! Section 5.1: user codes survive guessing.

use grantor::authorization::TypedUserCode;
use grantor::config::Profile;
use grantor::{AuthorizationError, MemoryThrottle, Reason, Subject};

use super::{asked, device_config, device_form};
use support::intercepted::over_with;
use support::intercepted::scripts::Calls;
use support::world::{SESSION, World, public_form};

struct Guesses {
    world: World,
    calls: Calls,
}

async fn guesses() -> Guesses {
    let mut world =
        World::built(device_config(Profile::Strict), |builder| builder.throttle(MemoryThrottle::new())).await;
    world.client = world.register(device_form(public_form())).await;
    let calls = Calls::recorded();
    let throttle = MemoryThrottle::new().with_clock(world.clock.clone());
    let world = over_with(&world, calls.clone(), |builder| builder.throttle(throttle));
    Guesses { world, calls }
}

impl Guesses {
    /// Uses up the first guess of a user, in a network of its own.
    async fn missed_before(&self, user: &str) {
        assert_eq!(self.typed(WRONG, user, "192.0.2.200").await, Some(None));
    }

    /// Types a code, and returns the reason of a refusal, and the seconds to wait if there are any.
    async fn typed(&self, code: &str, user: &str, peer: &str) -> Option<Option<u32>> {
        let user = Subject::new(user).unwrap();
        let typed = TypedUserCode::new(code).peer(peer.parse().unwrap());
        let error: AuthorizationError = self.world.server.enter_user_code(&typed, &user, SESSION).await.err()?;
        match error.reason() {
            Reason::UnknownUserCode => Some(None),
            Reason::Throttled { .. } => {
                let response = error.response(None);
                assert_eq!(response.status(), 429);
                Some(Some(response.header("Retry-After").unwrap().parse().unwrap()))
            }
            other => panic!("{other:?}"),
        }
    }
}

const WRONG: &str = "BCDF-GHJK";

/// 8628-5.1-01
#[tokio::test]
async fn eleven_misses_of_one_network_are_too_many() {
    let guesses = guesses().await;
    for number in 0..11 {
        guesses.missed_before(&format!("user {number}")).await;
    }
    for number in 0..10 {
        assert_eq!(guesses.typed(WRONG, &format!("user {number}"), "198.51.100.1").await, Some(None), "{number}");
    }
    guesses.calls.take();
    assert_eq!(guesses.typed(WRONG, "user 10", "198.51.100.1").await, Some(Some(60)));
    assert!(guesses.calls.take().is_empty(), "nothing is looked up");
    assert_eq!(guesses.typed(WRONG, "user 10", "198.51.100.2").await, Some(None), "another network");
    guesses.world.advance(60);
    assert_eq!(guesses.typed(WRONG, "user 9", "198.51.100.1").await, Some(None), "one a minute");
    assert_eq!(guesses.typed(WRONG, "user 9", "198.51.100.1").await, Some(Some(60)));
}

/// 8628-5.1-01: the first miss of each user for a time counts apart.
#[tokio::test]
async fn a_network_has_a_hundred_users_who_miss_once() {
    let guesses = guesses().await;
    for number in 0..100 {
        assert_eq!(guesses.typed(WRONG, &format!("user {number}"), "198.51.100.1").await, Some(None), "{number}");
    }
    assert_eq!(guesses.typed(WRONG, "user 100", "198.51.100.1").await, Some(Some(60)));
    assert_eq!(guesses.typed(WRONG, "user 0", "198.51.100.1").await, Some(None), "the second one of a user");
}

/// 8628-5.1-01: five accounts guess as often as they may for 40 minutes.
#[tokio::test]
async fn accounts_that_guess_lock_nobody_of_their_network_out() {
    let guesses = guesses().await;
    let (mut wrong, mut right) = (0, 0);
    for minute in 0..40 {
        for number in 0..5 {
            let answer = guesses.typed(WRONG, &format!("attacker {number}"), "198.51.100.1").await;
            wrong += u32::from(answer == Some(None));
        }
        if minute >= 10 {
            let device = asked(&guesses.world).await;
            let answer = guesses.typed(&device.user_code, &format!("user {minute}"), "198.51.100.1").await;
            right += u32::from(answer.is_none());
        }
        guesses.world.advance(60);
    }
    assert_eq!((wrong >= 49, right), (true, 30), "{wrong} wrong codes");
}

/// 8628-5.1-01
#[tokio::test]
async fn six_misses_of_one_user_are_too_many() {
    let guesses = guesses().await;
    for number in 0..5 {
        assert_eq!(guesses.typed(WRONG, "alice", &format!("198.51.100.{number}")).await, Some(None), "{number}");
    }
    assert_eq!(guesses.typed(WRONG, "alice", "198.51.100.9").await, Some(Some(300)));
    guesses.world.advance(300);
    assert_eq!(guesses.typed(WRONG, "alice", "198.51.100.9").await, Some(None));
}

/// NEG-09, 8628-5.1-01
#[tokio::test]
async fn a_hit_does_not_count_and_gives_nothing_back() {
    let guesses = guesses().await;
    let address = "198.51.100.1";
    for number in 0..11 {
        guesses.missed_before(&format!("user {number}")).await;
    }
    for number in 0..9 {
        assert_eq!(guesses.typed(WRONG, &format!("user {number}"), address).await, Some(None));
    }
    let device = asked(&guesses.world).await;
    for _ in 0..3 {
        assert_eq!(guesses.typed(&device.user_code, "alice", address).await, None);
    }
    assert_eq!(guesses.typed(WRONG, "user 9", address).await, Some(None), "the tenth miss");
    assert_eq!(guesses.typed(WRONG, "user 10", address).await, Some(Some(60)), "the eleventh");
}

/// 8628-5.1-01: guesses from this machine count too.
#[tokio::test]
async fn no_address_is_exempt_from_the_limit_of_a_user() {
    let mut guesses = guesses().await;
    let throttle = MemoryThrottle::new().with_clock(guesses.world.clock.clone()).exempt_loopback();
    guesses.world = over_with(&guesses.world, guesses.calls.clone(), |builder| builder.throttle(throttle));
    for _ in 0..5 {
        assert_eq!(guesses.typed(WRONG, "alice", "127.0.0.1").await, Some(None));
    }
    assert_eq!(guesses.typed(WRONG, "alice", "127.0.0.1").await, Some(Some(300)));
    for number in 0..20 {
        assert_eq!(guesses.typed(WRONG, &format!("user {number}"), "127.0.0.1").await, Some(None));
    }
}

/// 8628-5.1-01: guesses at one moment count too.
#[tokio::test]
async fn a_flood_of_guesses_gets_no_further() {
    let guesses = guesses().await;
    let users: Vec<_> = (0..2000).map(|number| format!("user {number}")).collect();
    let flood = users.iter().map(|user| guesses.typed(WRONG, user, "198.51.100.1"));
    let answers = futures::future::join_all(flood).await;
    let looked_up = answers.iter().filter(|answer| **answer == Some(None)).count();
    assert_eq!(looked_up, 100);
    assert!(guesses.calls.take().iter().filter(|call| call.starts_with("user_codes")).count() == 100);
    // A mistyped code that cannot be one costs nobody anything.
    assert_eq!(guesses.typed("BCDF", "alice", "198.51.100.2").await, Some(None));
}
