//! Lists of applications, page by page.

use std::collections::BTreeSet;

use grantor::application::ApplicationFilter;
use grantor::client::ClientState;
use grantor::store::{Grant, Insertion, Page, RecordStore};
use grantor::testing::records;
use grantor::{Application, ClientId, Subject};

use crate::registration::registrar;
use support::world::World;

/// ADM-13
#[tokio::test]
async fn each_application_that_stays_is_listed_once() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let owner = Subject::new("busy").unwrap();
    let insert = async || {
        let application = records::application(&owner);
        let id = application.id().clone();
        let inserted = RecordStore::<Application>::insert(&world.store, application.into()).await.unwrap();
        assert_eq!(inserted, Insertion::Inserted);
        id
    };
    let mut stay = BTreeSet::new();
    let mut go = Vec::new();
    for number in 0..2500 {
        let id = insert().await;
        if number % 5 == 0 { go.push(id) } else { assert!(stay.insert(id)) }
    }
    for filter in [ApplicationFilter::InState(ClientState::Pending), ApplicationFilter::OwnedBy(owner.clone())] {
        let mut found = Vec::new();
        let mut page = Page::first(usize::MAX);
        loop {
            let limit = page.limit();
            let part = registrar.list(&filter, page).await.unwrap();
            assert!(part.len() <= 1000);
            found.extend(part.iter().map(|application| application.id().clone()));
            let Some(last) = part.last().filter(|_| part.len() == limit) else { break };
            page = Page::after(last.id().clone(), usize::MAX);
            // Other applications are added and removed between two pages.
            insert().await;
            if let Some(id) = go.pop() {
                registrar.delete(&id, 1).await.unwrap();
            }
        }
        assert!(found.is_sorted());
        let listed: BTreeSet<_> = found.iter().cloned().collect();
        assert!(listed.len() == found.len() && listed.is_superset(&stay), "{filter:?}");
    }
}

/// ADM-13, CVE-2026-33504
#[tokio::test]
async fn a_cursor_is_a_value() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    world.pair().await;
    let alice = ApplicationFilter::OwnedBy(world.alice.clone());
    for text in ["", "\0", "a\nb", &"x".repeat(10_000), "é"] {
        assert!(ClientId::new(text).is_err());
    }
    for text in [
        "'; DROP TABLE clients; --",
        "' OR '1'='1",
        "\" OR 1=1 --",
        "0) UNION SELECT 1 --",
        "%' ESCAPE '\\",
        "]] redis.call('FLUSHALL') --[[",
        "\"",
        " ",
        "~",
        world.client.id.as_str(),
        &"x".repeat(255),
    ] {
        let page = Page::after(ClientId::new(text).unwrap(), 10);
        let subject = Subject::new(text).unwrap();
        let grants = RecordStore::<Grant>::list(&world.store, subject.as_str(), Page::first(10)).await.unwrap();
        assert!(grants.is_empty(), "{text}");
        assert_eq!(registrar.list(&ApplicationFilter::OwnedBy(subject), Page::first(10)).await.unwrap(), []);
        assert_eq!(registrar.list(&alice, page.clone()).await.unwrap(), []);
        assert!(registrar.list(&ApplicationFilter::All, page).await.unwrap().len() <= 1);
    }
    assert_eq!((Page::<ClientId>::first(0).limit(), Page::<ClientId>::first(usize::MAX).limit()), (1, 1000));
}
