//! What ends a device's access before it was fetched.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::config::Profile;
use grantor::hooks::{SubjectStatus, Subjects};
use grantor::{Client, Subject};

use super::{approved, approved_device, asked, device_config, device_form, poll, typed, world};
use support::attempts::Attempts;
use support::world::{Reviewer, World, e400, ok, page, public_form};

/// DEV-02, NEG-16
#[tokio::test]
async fn what_is_approved_is_listed_and_can_be_withdrawn() {
    for way in ["grant", "application", "subject", "epoch"] {
        let world = world().await;
        let device = approved_device(&world).await;
        let listed = world.server.authorizations_of(&world.alice).await.unwrap();
        assert_eq!(listed.len(), 1);
        let id = world.client.client_id();
        match way {
            "grant" => assert!(world.server.revoke_grant(listed[0].id().into(), &world.alice).await.unwrap()),
            "application" => assert_eq!(world.server.revoke_application(&world.alice, &id).await.unwrap(), 1),
            "subject" => assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 1),
            _ => world.server.registrar().unwrap().revoke_grants(&id).await.unwrap(),
        }
        assert!(world.server.authorizations_of(&world.alice).await.unwrap().is_empty(), "{way}");
        world.events.take();
        e400(&poll(&world, &device.device_code).await, "invalid_grant");
        assert!(!world.events.saw("CodeReplayed"), "{way}");
        e400(&poll(&world, &device.device_code).await, "invalid_grant");
    }
}

/// DEV-02
#[tokio::test]
async fn what_is_redeemed_is_not_listed() {
    let world = world().await;
    let device = approved_device(&world).await;
    ok(&poll(&world, &device.device_code).await);
    assert!(world.server.authorizations_of(&world.alice).await.unwrap().is_empty());
    assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 1);
}

/// The status of every user; clones share it.
#[derive(Clone, Debug)]
struct Status(Arc<Mutex<SubjectStatus>>);

#[async_trait]
impl Subjects for Status {
    async fn status(&self, _: &Subject, _: &Client) -> SubjectStatus {
        *self.0.lock().unwrap()
    }
}

/// DEV-03, NEG-06
#[tokio::test]
async fn the_user_may_be_locked_in_between() {
    let status = Status(Arc::new(Mutex::new(SubjectStatus::Active)));
    let set = |new| *status.0.lock().unwrap() = new;
    let hook = status.clone();
    let mut world =
        World::built(device_config(Profile::Strict), |builder| builder.throttle(Attempts::default()).subjects(hook))
            .await;
    world.client = world.register(device_form(public_form())).await;
    let device = approved_device(&world).await;
    set(SubjectStatus::Refused);
    e400(&poll(&world, &device.device_code).await, "invalid_grant");
    set(SubjectStatus::Unknown);
    assert_eq!(poll(&world, &device.device_code).await.status(), 503);
    set(SubjectStatus::Active);
    ok(&poll(&world, &device.device_code).await);
    // Between typing and approval.
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    set(SubjectStatus::Unknown);
    assert_eq!(approved(&world, &consent).await.status(), 503);
    set(SubjectStatus::Refused);
    page(&approved(&world, &consent).await);
    e400(&poll(&world, &device.device_code).await, "access_denied");
}

/// 8628-3.4-02: a client that lost its scopes gets nothing, and one that kept some gets those.
#[tokio::test]
async fn a_reduced_client_gets_what_is_left() {
    let world = world().await;
    let [first, second] = [approved_device(&world).await, approved_device(&world).await];
    let registrar = world.server.registrar().unwrap();
    let reduction = |scopes: &str| grantor::registration::Reduction::default().scopes(scopes);
    let id = world.client.client_id();
    registrar.reduce(&id, registrar.version_now(&id).await, reduction("repo-code:rw")).await.unwrap();
    assert_eq!(ok(&poll(&world, &first.device_code).await).scope.as_deref(), Some("repo-code:rw"));
    registrar.delete(&id, registrar.version_now(&id).await).await.unwrap();
    let response = poll(&world, &second.device_code).await;
    assert_eq!(response.status(), 401);
}
