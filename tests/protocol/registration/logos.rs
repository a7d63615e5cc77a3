//! Logos: how long they are kept, and what is left of those that nothing names.

use grantor::application::{Field, LogoSlot, Problem};
use grantor::{Approval, RegistrarError};

use crate::registration::{developer, fields, registrar, submitted};
use support::intercepted::{Failure, Fate, every, over};
use support::world::{Reviewer as _, World, form, logo};

const DAY: u64 = 86_400;

/// D-24, D-25
#[tokio::test]
async fn a_logo_stays_while_its_application_names_it() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = submitted(&world).await;
    let shown = async |slot| registrar.logo(&id, slot).await.unwrap().is_some();
    world.advance(2 * DAY);
    let _ = world.purge(1000).await;
    assert!(shown(LogoSlot::InForce).await);
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    registrar.change_now(&id, form(), Some(logo())).await.unwrap();
    world.advance(2 * DAY);
    assert_eq!(world.purge(1000).await.removed(), 0);
    assert!(shown(LogoSlot::InForce).await && shown(LogoSlot::Proposed).await);

    // The one that was in force is named no more.
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert_eq!(world.purge(1000).await.removed(), 1);
    assert!(shown(LogoSlot::InForce).await && !shown(LogoSlot::Proposed).await);
    registrar.change_now(&id, form(), Some(logo())).await.unwrap();
    registrar.reject_now(&id, "no").await.unwrap();
    assert_eq!(world.purge(1000).await.removed(), 1);
    registrar.delete(&id, registrar.version_now(&id).await).await.unwrap();
    assert_eq!(world.purge(1000).await.removed(), 1);
}

/// D-24
#[tokio::test]
async fn a_refused_change_leaves_no_logo() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let refused = registrar.change(&id, &world.alice, form(), Some(logo())).await;
    assert!(matches!(refused, Err(RegistrarError::NotFound)), "{refused:?}");
    let _ = world.purge(1000).await;
    assert_eq!(world.purge(1000).await.removed(), 0);
    let stale = registrar.version_now(&id).await.wrapping_add(1);
    registrar.change_now(&id, form(), None).await.unwrap();
    let refused = registrar.approve(&id, stale, Approval::default()).await;
    assert!(matches!(refused, Err(RegistrarError::ChangedMeanwhile)), "{refused:?}");
    assert!(registrar.logo(&id, LogoSlot::InForce).await.unwrap().is_some());
}

/// A server that stopped between two writes left an application whose logo expires. It cannot be approved without one.
#[tokio::test]
async fn an_application_without_its_logo_is_not_approved() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let failing = over(&world, every("logos.replace", Fate::FailsBefore(Failure::Transient)));
    let submitted = failing.server.registrar().unwrap().submit(developer(), form(), Some(logo())).await;
    assert!(matches!(submitted, Err(RegistrarError::Store(_))), "it was not acknowledged: {submitted:?}");
    let awaiting = grantor::application::ApplicationFilter::AwaitingReview;
    let listed = registrar.list(&awaiting, grantor::store::Page::first(9)).await.unwrap();
    let id = listed[0].id().clone();
    world.advance(DAY);
    assert_eq!(world.purge(1000).await.removed(), 1);
    let refused = registrar.approve_now(&id, Approval::default()).await;
    assert_eq!(fields(refused), [(Field::Logo, Problem::Missing)]);
    registrar.change_now(&id, form(), Some(logo())).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(registrar.logo(&id, LogoSlot::InForce).await.unwrap().is_some());
}
