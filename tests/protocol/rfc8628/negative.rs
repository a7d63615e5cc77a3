//! Faults of others.

use grantor::Decision;
use grantor::secret::Entropy;
use grantor::testing::SeededEntropy;

use super::{approved, approved_page, asked, decided, poll, typed, world};
use support::attempts::Attempts;
use support::world::{e400, ok, pair};

/// Repeats what it draws for user codes: the same 32 bytes each time, for so many draws.
#[derive(Debug)]
struct Repeating {
    rest: SeededEntropy,
    times: std::sync::atomic::AtomicUsize,
}

impl Entropy for Repeating {
    fn fill(&self, bytes: &mut [u8]) {
        use std::sync::atomic::Ordering;
        let is_code = bytes.len() == 32 && self.times.load(Ordering::Relaxed) % 2 == 1;
        if bytes.len() == 32 {
            self.times.fetch_add(1, Ordering::Relaxed);
        }
        if is_code && self.times.load(Ordering::Relaxed) < 6 { bytes.fill(7) } else { self.rest.fill(bytes) }
    }
}

/// 8628-6.1-03, NEG-03
#[tokio::test]
async fn a_taken_code_is_replaced_by_another() {
    let mut world = world().await;
    let entropy = Repeating { rest: SeededEntropy::new(3), times: 0.into() };
    let builder = world.builder(world.server.config().clone(), world.store.clone()).throttle(Attempts::default());
    world.server = builder.entropy(entropy).build().unwrap();
    // Each draws a secret and then a code.
    let first = asked(&world).await;
    assert_eq!(first.user_code, "KKKK-KKKK", "byte 7 is the eighth letter");
    let second = asked(&world).await;
    assert_ne!(second.user_code, first.user_code);
    let ids = [&first, &second].map(|device| device.device_code[3..25].to_owned());
    assert_ne!(ids[0], ids[1]);
    for device in [&first, &second] {
        approved_page(&approved(&world, &typed(&world, &device.user_code).await).await);
        ok(&poll(&world, &device.device_code).await);
    }
}

/// 8628-6.1-03: a code whose request gave its place to another one leads nowhere.
#[tokio::test]
async fn an_old_code_does_not_lead_to_the_request_that_has_the_place_now() {
    let world = super::world_with(grantor::config::Profile::Strict, |config| config.limits.device_requests = 1).await;
    let first = asked(&world).await;
    let second = asked(&world).await;
    assert_eq!(first.device_code[..25], second.device_code[..25], "the same place");
    let error = super::typed_by(&world, &first.user_code, &world.alice, support::world::SESSION).await.unwrap_err();
    assert_eq!(error.reason().to_string(), super::UNKNOWN);
    e400(&poll(&world, &first.device_code).await, "invalid_grant");
    approved(&world, &typed(&world, &second.user_code).await).await;
    ok(&poll(&world, &second.device_code).await);
}

/// NEG-08
#[tokio::test]
async fn a_late_second_approval_changes_nothing() {
    let world = world().await;
    let device = asked(&world).await;
    let [first, second] = [typed(&world, &device.user_code).await, typed(&world, &device.user_code).await];
    approved_page(&approved(&world, &first).await);
    let pair_one = pair(&poll(&world, &device.device_code).await);
    for decision in [Decision::Approve(grantor::Consent::to_everything()), Decision::Deny] {
        let late = decided(&world, &second, decision).await;
        assert!(String::from_utf8_lossy(late.body()).contains("already been answered"));
    }
    assert_eq!(pair(&poll(&world, &device.device_code).await), pair_one);
}
