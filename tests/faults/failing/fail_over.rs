//! A fail-over to a replica, and a write that arrives late.

use grantor::Config;
use grantor::testing::SeededEntropy;

use crate::failing::replicated::Replicated;
use crate::scene::{Kind, Scene};
use support::intercepted::copy;
use support::intercepted::step::Step;
use support::world::{AnyStore, Credentials, ISSUER, World};

/// A write took effect where it is read, but not on the replica that it waits for, which then takes over. What was
/// acknowledged, at once or at the next try, is there: a read acknowledges nothing.
#[tokio::test]
async fn what_no_replica_has_is_not_acknowledged() {
    for stays_cut in [false, true] {
        for kind in Kind::ALL {
            let mut acknowledged = 0;
            for write in 0..20 {
                let store = Replicated::new();
                let scene = Scene::of(on(AnyStore::over(store.clone())).await, kind).await;
                store.cut_after(write, stays_cut);
                let mut answer = scene.step.run(&scene.world).await;
                let case = format!("{kind:?}, write {write}, stays cut: {stays_cut}");
                if !answer.is_good() {
                    assert!(answer.is_transient(), "{case}: {answer:?}");
                    answer = scene.step.run(&scene.world).await;
                }
                if answer.is_good() {
                    acknowledged += 1;
                    scene.after_fail_over(&store).await.holds(answer, &case).await;
                }
                if !store.was_cut() {
                    break;
                }
                assert!(write < 19, "{case}: endless writes");
            }
            assert!(acknowledged > 0, "{kind:?}: without a cut it is acknowledged");
        }
    }
}

/// The same with a fail-over in the middle of the next try: what the try read first is gone when the try confirms it.
#[tokio::test]
async fn what_is_gone_when_it_is_made_sure_of_is_not_acknowledged() {
    let kinds = [
        Kind::RevokeRefreshToken,
        Kind::RevokeAccessToken,
        Kind::WithdrawGrant,
        Kind::WithdrawApplication,
        Kind::WithdrawSubject,
        Kind::Deny,
        Kind::Exchange,
        Kind::Refresh,
    ];
    for kind in kinds {
        let (mut retried, mut acknowledged) = (0, 0);
        for (write, calls) in (0..6).flat_map(|write| (0..24).map(move |calls| (write, calls))) {
            let store = Replicated::new();
            let scene = Scene::of(on(AnyStore::over(store.clone())).await, kind).await;
            store.cut_after(write, true);
            if scene.step.run(&scene.world).await.is_good() {
                continue;
            }
            retried += 1;
            store.fail_over_after(calls);
            let answer = scene.step.run(&scene.world).await;
            if answer.is_good() {
                acknowledged += 1;
                let case = format!("{kind:?}, write {write}, fail-over after {calls} calls");
                scene.after_fail_over(&store).await.holds(answer, &case).await;
            }
        }
        assert!(retried > 0 && acknowledged > 0, "{kind:?}: {acknowledged} of {retried} were acknowledged");
    }
}

/// A write is answered with an error and takes effect later: before a call of the next try, or after it. What was
/// acknowledged stays.
#[tokio::test]
async fn a_write_that_arrives_late_undoes_nothing_that_was_acknowledged() {
    for kind in Kind::ALL {
        let mut was_late = false;
        for (write, calls) in (0..6).flat_map(|write| (0..16).map(move |calls| (write, calls))) {
            let store = Replicated::new();
            let scene = Scene::of(on(AnyStore::over(store.clone())).await, kind).await;
            store.delay(write, calls);
            let mut answer = scene.step.run(&scene.world).await;
            let case = format!("{kind:?}, write {write} is late by {calls} calls");
            if !answer.is_good() {
                assert!(answer.is_transient(), "{case}: {answer:?}");
                answer = scene.step.run(&scene.world).await;
            }
            if !store.land() {
                break;
            }
            was_late = true;
            if kind == Kind::RotateSecret && answer.is_good() {
                // The undelivered secret may be the second, and the first may be gone.
                let secret = answer.good().given;
                assert!(scene.client_opens(&Credentials { secret, ..scene.world.client.clone() }).await, "{case}");
                continue;
            }
            if answer.is_good() {
                scene.holds(answer, &case).await;
                continue;
            }
            // The next try found that it was done already, or a code that was used.
            let is_known = matches!((answer.status, answer.error.as_str()), (400, "" | "invalid_grant"));
            assert!(is_known || answer.status == 409 || answer.is_transient(), "{case}: {answer:?}");
            if kind == Kind::Suspend {
                Step::Resume.run(&scene.world).await.good();
            }
            // The world continues with the secret that is left.
            if kind != Kind::RetireSecret {
                scene.bystander_lives(&case).await;
            }
        }
        let reads = [Kind::Authorize, Kind::Introspect, Kind::Authenticate, Kind::ReadApplication, Kind::ListGrants];
        assert_eq!(was_late, !reads.contains(&kind), "{kind:?}");
    }
}

impl Scene {
    /// The same users, on a server with the contents of the replica.
    async fn after_fail_over(self, store: &Replicated) -> Self {
        let config: Config = self.world.server.config().clone();
        let store = AnyStore::over(store.promoted());
        let server = self.world.builder(config, store.clone()).entropy(SeededEntropy::new(9)).build().unwrap();
        Self { world: World { server, store, ..copy(&self.world) }, ..self }
    }
}

/// The world of the platform on that store.
async fn on(store: AnyStore) -> World {
    let mut config = Config::platform(ISSUER);
    config.public_clients = true;
    World::on(store, config, |builder| builder).await
}
