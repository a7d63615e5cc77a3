//! The contract of the registry.

use futures::executor::block_on;
use grantor::store::{ClientRegistry, ClientStore, Insertion, Page, Registration, Replacement};
use grantor::{
    Application, ApplicationFilter, Approval, ClientId, ClientState, Logo, LogoSlot, MemoryStore, RegistrationLimits,
    Subject,
};

use crate::records::{Net, world_with_net};
use crate::world::{PNG, Reviewer as _, World, form, logo};
use crate::{CALLERS, ROUNDS, at_once, with};

/// An application at its submission, and everything that was written of it later, version by version.
struct Life {
    id: ClientId,
    /// Submitted, approved, changed with another logo, the change approved, suspended.
    versions: Vec<Registration>,
}

fn lives(count: usize) -> Vec<Life> {
    let (world, net) = world_with_net();
    (0..count).map(|number| block_on(life(&world, &net, number))).collect()
}

async fn life(world: &World, net: &Net, number: usize) -> Life {
    let registrar = world.server.registrar().unwrap();
    let developer = Subject::new(if number.is_multiple_of(2) { "even" } else { "odd" }).unwrap();
    let id = registrar.submit(developer, form(), Some(logo())).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    registrar.change(&id, form(), Some(other_logo())).await.unwrap();
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    registrar.suspend(&id).await.unwrap();
    let caught = net.registrations.lock().unwrap();
    let versions: Vec<_> = caught.iter().filter(|written| *written.client.id() == id).cloned().collect();
    assert_eq!(versions.len(), 5);
    Life { id, versions }
}

fn other_logo() -> Logo {
    Logo::new([PNG, &[0]].concat(), &RegistrationLimits::default()).unwrap()
}

/// Writes the first versions of a life.
fn begin(store: &MemoryStore, life: &Life, versions: usize) {
    for (number, registration) in life.versions[..versions].iter().enumerate() {
        match number.checked_sub(1) {
            None => assert_eq!(insert(store, registration), Insertion::Inserted),
            Some(before) => {
                let version = life.versions[before].client.version();
                assert_eq!(replace(store, version, registration), Replacement::Replaced);
            }
        }
    }
}

fn insert(store: &MemoryStore, registration: &Registration) -> Insertion {
    block_on(ClientRegistry::insert(store, registration.clone())).unwrap()
}

fn replace(store: &MemoryStore, version: u32, registration: &Registration) -> Replacement {
    block_on(ClientRegistry::replace(store, version, registration.clone())).unwrap()
}

fn list(store: &MemoryStore, filter: &ApplicationFilter) -> Vec<ClientId> {
    let applications = block_on(store.list(filter, Page::first(1000))).unwrap();
    applications.iter().map(|application| application.id().clone()).collect()
}

/// Client, application, logo and proposed logo as a reader finds them.
#[track_caller]
fn assert_found(store: &MemoryStore, expected: &Registration, logo: Option<&Logo>, proposed: Option<&Logo>) {
    let id = expected.client.id();
    assert_eq!(block_on(ClientStore::find(store, id)).unwrap().as_deref(), Some(&expected.client));
    assert_eq!(block_on(store.current(id)).unwrap().as_deref(), Some(&expected.client));
    assert_eq!(block_on(store.application(id)).unwrap().as_deref(), Some(&expected.application));
    assert_eq!(block_on(store.logo(id, LogoSlot::InForce)).unwrap().as_deref(), logo);
    assert_eq!(block_on(store.logo(id, LogoSlot::Proposed)).unwrap().as_deref(), proposed);
}

/// ClientRegistry 1
#[test]
fn an_insert_of_a_client_succeeds_for_exactly_one_of_all_callers_with_the_same_id() {
    let life = lives(1).remove(0);
    let rivals: Vec<_> = life.versions.iter().cycle().take(CALLERS).cloned().collect();
    for _ in 0..ROUNDS {
        let store = MemoryStore::new();
        let answers = at_once(&rivals, |registration| insert(&store, registration));
        let winners = with(&rivals, &answers, Insertion::Inserted);
        assert_eq!(winners.len(), 1);
        let found = block_on(ClientStore::find(&store, &life.id)).unwrap();
        assert_eq!(found.as_deref(), Some(&winners[0].client));
        assert_eq!(list(&store, &ApplicationFilter::All), std::slice::from_ref(&life.id));
    }
}

/// ClientRegistry 2, ClientRegistry 3
#[test]
fn a_replace_of_a_client_succeeds_for_exactly_one_of_all_callers_with_the_same_version() {
    let life = lives(1).remove(0);
    let first = &life.versions[0];
    let rivals: Vec<_> = life.versions[1..].iter().cycle().take(CALLERS).cloned().collect();
    for _ in 0..ROUNDS {
        let store = MemoryStore::new();
        begin(&store, &life, 1);
        let answers = at_once(&rivals, |registration| replace(&store, first.client.version(), registration));
        let winners = with(&rivals, &answers, Replacement::Replaced);
        assert_eq!(winners.len(), 1);
        let found = block_on(ClientStore::find(&store, &life.id)).unwrap();
        assert_eq!(found.as_deref(), Some(&winners[0].client));
        let application = block_on(store.application(&life.id)).unwrap();
        assert_eq!(application.as_deref(), Some(&winners[0].application), "both are the winner's");
    }
}

/// ClientRegistry 2
#[test]
fn a_replace_of_a_missing_client_or_with_another_version_is_lost_and_writes_nothing() {
    let life = lives(1).remove(0);
    let [submitted, approved, changed, ..] = &life.versions[..] else { unreachable!() };
    let store = MemoryStore::new();
    assert_eq!(replace(&store, submitted.client.version(), approved), Replacement::Lost);
    assert_eq!(block_on(ClientStore::find(&store, &life.id)).unwrap(), None);
    assert_eq!(block_on(store.application(&life.id)).unwrap(), None);
    assert_eq!(block_on(store.logo(&life.id, LogoSlot::InForce)).unwrap(), None);
    assert!(list(&store, &ApplicationFilter::All).is_empty());

    begin(&store, &life, 2);
    for version in [0, submitted.client.version(), changed.client.version(), u32::MAX] {
        assert_eq!(replace(&store, version, changed), Replacement::Lost, "version {version}");
        assert_found(&store, approved, Some(&logo()), None);
    }
    assert_eq!(insert(&store, changed), Insertion::Exists);
    assert_found(&store, approved, Some(&logo()), None);
    assert_eq!(replace(&store, approved.client.version(), changed), Replacement::Replaced);
    assert_found(&store, changed, Some(&logo()), Some(&other_logo()));
}

/// ClientRegistry 3, ClientRegistry 4
#[test]
fn client_application_and_logos_change_together() {
    let life = lives(1).remove(0);
    let (one, other) = (logo(), other_logo());
    let logos = [
        (Some(&one), None),
        (Some(&one), None),
        (Some(&one), Some(&other)),
        (Some(&other), None),
        (Some(&other), None),
    ];
    for (versions, (logo, proposed)) in logos.into_iter().enumerate() {
        let store = MemoryStore::new();
        begin(&store, &life, versions + 1);
        assert_found(&store.clone(), &life.versions[versions], logo, proposed);
    }
}

/// ClientRegistry 3: nobody sees one half of a write, whenever he looks.
#[test]
fn a_reader_finds_client_and_application_of_no_two_versions_far_apart() {
    let life = lives(1).remove(0);
    for _ in 0..ROUNDS {
        let store = MemoryStore::new();
        begin(&store, &life, 1);
        at_once(&[true, false, false], |writes| {
            if *writes {
                for pair in life.versions.windows(2) {
                    assert_eq!(replace(&store, pair[0].client.version(), &pair[1]), Replacement::Replaced);
                }
                return;
            }
            let mut before = 0;
            while before < 5 {
                let client = block_on(store.current(&life.id)).unwrap().unwrap();
                let application = block_on(store.application(&life.id)).unwrap().unwrap();
                let after = block_on(store.current(&life.id)).unwrap().unwrap();
                assert!(before <= client.version() && client.version() <= application.version());
                assert!(application.version() <= after.version(), "an application before its client");
                let whole = &life.versions[usize::try_from(application.version()).unwrap() - 1];
                assert_eq!(*application, whole.application);
                before = after.version();
            }
        });
    }
}

/// ClientRegistry 5
#[test]
fn an_application_is_listed_at_once_under_what_it_is_and_under_nothing_else() {
    let lives = lives(6);
    let store = MemoryStore::new();
    let filters = || {
        let states = [ClientState::Pending, ClientState::Approved, ClientState::Rejected, ClientState::Suspended];
        let owners = ["even", "odd", "nobody"].map(|name| ApplicationFilter::OwnedBy(Subject::new(name).unwrap()));
        [ApplicationFilter::All, ApplicationFilter::AwaitingReview]
            .into_iter()
            .chain(states.map(ApplicationFilter::InState))
            .chain(owners)
    };
    let mut written: Vec<&Application> = Vec::new();
    for versions in 0..5 {
        for (number, life) in lives.iter().enumerate() {
            let registration = &life.versions[versions];
            match versions.checked_sub(1) {
                None => {
                    assert_eq!(insert(&store, registration), Insertion::Inserted);
                    written.push(&registration.application);
                }
                Some(before) => {
                    let version = life.versions[before].client.version();
                    assert_eq!(replace(&store, version, registration), Replacement::Replaced);
                    written[number] = &registration.application;
                }
            }
            for filter in filters() {
                let mut expected: Vec<_> = written
                    .iter()
                    .filter(|application| application.filters().any(|own| own == filter))
                    .map(|application| application.id().clone())
                    .collect();
                expected.sort();
                assert_eq!(list(&store, &filter), expected, "{filter:?} after version {versions} of {number}");
            }
        }
    }
    let listed = block_on(store.list(&ApplicationFilter::All, Page::first(100))).unwrap();
    assert!(listed.iter().all(|application| application.state() == ClientState::Suspended));
}

/// ClientRegistry 5
#[test]
fn a_list_of_applications_comes_in_pages_while_others_come_and_go() {
    let lives = lives(20);
    let (there, newcomers) = lives.split_at(14);
    let all: Vec<_> = {
        let store = MemoryStore::new();
        there.iter().for_each(|life| begin(&store, life, 1));
        list(&store, &ApplicationFilter::All)
    };
    for limit in [1, 2, 7, 14, 100] {
        let store = MemoryStore::new();
        there.iter().for_each(|life| begin(&store, life, 1));
        let mut found = Vec::new();
        let mut page = Page::first(limit);
        let mut comers = newcomers.iter();
        let mut last = None;
        loop {
            let items = block_on(store.list(&ApplicationFilter::AwaitingReview, page)).unwrap();
            found.extend(items.iter().map(|application| application.id().clone()));
            match items.last().filter(|_| items.len() == limit) {
                Some(item) => page = Page::after(item.id().clone(), limit),
                None => break,
            }
            // One comes, and one that was read is approved and leaves the list.
            comers.next().into_iter().for_each(|life| begin(&store, life, 1));
            let left = there.iter().find(|life| Some(&life.id) == found.first().filter(|_| last.is_none()));
            if let Some(life) = left {
                assert_eq!(
                    replace(&store, life.versions[0].client.version(), &life.versions[1]),
                    Replacement::Replaced
                );
                last = Some(&life.id);
            }
        }
        assert!(found.is_sorted_by(|one, other| one < other), "in pages of {limit}: {found:?}");
        assert!(all.iter().all(|id| found.contains(id)), "in pages of {limit}: one was missed");
    }
}

#[test]
fn clones_of_the_registry_share_their_contents() {
    let life = lives(1).remove(0);
    let store = MemoryStore::new();
    let other = store.clone();
    begin(&store, &life, 3);
    assert_found(&other, &life.versions[2], Some(&logo()), Some(&other_logo()));
    assert_eq!(insert(&other, &life.versions[0]), Insertion::Exists);
}
