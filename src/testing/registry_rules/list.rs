//! An application is listed under what it is.

use std::collections::BTreeMap;

use crate::model::application::{Application, ApplicationFilter};
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::store::{ClientRegistry, LogoWrite, Page, Registration};
use crate::testing::applications::{Applications, Whole};
use crate::testing::draw;
use crate::testing::records;
use crate::testing::told::cut;
use crate::text::LookAlikeKey;

/// Every state after every other one, with a change that awaits review in between, and every owner after another.
pub(in crate::testing) async fn follows_every_move<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let owner = records::subject();
    let mut first = records::registration(&owner);
    let mut there = store.begin(&first).await;
    let mut others = Vec::new();
    for state in records::states() {
        others.push(store.begin(&records::in_state(&records::registration(&owner), state)).await);
    }
    for (from, to) in records::states().flat_map(|from| records::states().map(move |to| (from, to))) {
        for next in [records::in_state(&first, from), records::changed(&first), records::in_state(&first, to)] {
            let next = records::numbered(&next, there.client.version() + 1);
            there = store.advance(&there, &next).await;
            first = next;
            assert_listed(store, &there.application, &owner).await;
        }
    }
    let another = records::subject();
    for to in [Some(&another), None, Some(&owner)] {
        let mut next = records::numbered(&first, there.client.version() + 1);
        next.application.owner = to.cloned();
        there = store.advance(&there, &next).await;
        for owner in [&owner, &another] {
            assert_listed(store, &there.application, owner).await;
        }
    }
    for other in &others {
        assert_listed(store, &other.application, &owner).await;
    }
}

/// Fails unless the application is listed as it is under its own filters, and under no other.
async fn assert_listed<S: ClientRegistry>(store: &Applications<'_, S>, application: &Application, owner: &Subject) {
    let own: Vec<_> = application.filters().collect();
    let states = records::states().map(ApplicationFilter::InState);
    let owners = [owner.clone(), records::subject()].map(ApplicationFilter::OwnedBy);
    let all = [ApplicationFilter::All, ApplicationFilter::AwaitingReview];
    let proposed = application.proposed().map_or("another", |proposed| proposed.name());
    let names = [application.form().name(), proposed, "another"];
    let names = names.into_iter().flat_map(LookAlikeKey::of).map(ApplicationFilter::LooksLike);
    for filter in all.into_iter().chain(states).chain(owners).chain(names) {
        let listed = store.listed(&filter).await;
        let found: Vec<_> = listed.iter().filter(|own| own.id() == application.id()).collect();
        if own.contains(&filter) {
            assert!(
                matches!(found[..], [found] if **found == *application),
                "{filter:?} should list {} once, it lists {}",
                cut(&application),
                cut(&found)
            );
        } else {
            assert!(found.is_empty(), "{filter:?} should not list {}", cut(&application));
        }
    }
}

pub(in crate::testing) async fn is_of_one_owner<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let owners = records::similar_subjects();
    let mut written = Vec::new();
    for owner in &owners {
        written.push(store.begin(&records::registration(owner)).await.application);
    }
    for (owner, application) in owners.iter().zip(written) {
        let listed = store.listed(&ApplicationFilter::OwnedBy(owner.clone())).await;
        assert!(listed == [application], "the list of {owner:?} holds {}", cut(&listed));
    }
}

/// Client ids sort as bytes, not by the letters, blanks and signs of a language.
pub(in crate::testing) async fn is_in_the_order_of_ids<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let owner = records::subject();
    let name = draw::unique();
    let endings = (' '..='~').flat_map(|one| [format!("{one}"), format!("{one}a"), format!("{one}B")]);
    let mut ids: Vec<_> = endings.map(|ending| draw::sound(ClientId::new(format!("{name}{ending}")))).collect();
    // Neither first to last nor the other way round.
    ids.sort_by_key(|id| id.as_str().bytes().rev().collect::<Vec<_>>());
    for id in &ids {
        store.begin(&records::registration_of(id.clone(), &owner)).await;
    }
    ids.sort();
    let filter = ApplicationFilter::OwnedBy(owner);
    assert_eq!(listed_ids(store, &filter).await, ids, "a list is in the ascending order of ids");
    for (place, id) in ids.iter().enumerate().step_by(17) {
        let page = store.list(&filter, Page::after(id.clone(), 5)).await;
        let found: Vec<_> = page.iter().map(|own| own.id().clone()).collect();
        let expected: Vec<_> = ids.iter().skip(place + 1).take(5).cloned().collect();
        assert_eq!(found, expected, "the page after {id:?}");
    }
}

pub(in crate::testing) async fn holds_every_application_once<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let owner = records::subject();
    for _ in 0..12 {
        store.begin(&records::registration(&owner)).await;
        store.begin(&records::registration(&records::subject())).await;
    }
    let filter = ApplicationFilter::OwnedBy(owner);
    let all = listed_ids(store, &filter).await;
    assert_eq!(all.len(), 12, "what was acknowledged is listed");
    for limit in [1, 3, 4, 11, 12, 13, 1000] {
        let (mut found, mut page, mut pages) = (Vec::new(), Page::first(limit), 0);
        loop {
            let items = store.list(&filter, page).await;
            assert!(items.len() <= limit && pages < 100, "pages of {limit} do not end, or hold {}", items.len());
            pages += 1;
            found.extend(items.iter().map(|own| own.id().clone()));
            match items.last().filter(|_| items.len() == limit) {
                Some(last) => page = Page::after(last.id().clone(), limit),
                None => break,
            }
        }
        assert_eq!(found, all, "in pages of {limit}");
        assert_eq!(pages, all.len() / limit + 1, "pages of {limit} are full except for the last one");
    }
    let least = store.list(&filter, Page::first(0)).await;
    assert_eq!(least.len(), 1, "a page has one item at least");
}

/// More than a mebibyte together, where some engines truncate their answers.
pub(in crate::testing) async fn of_the_largest_is_full<S: ClientRegistry>(store: &S) {
    const ROWS: usize = 10;
    let store = &Applications(store);
    let owner = records::subject();
    let mut largest = records::huge_registration(&owner);
    (largest.logo, largest.proposed_logo) = (LogoWrite::Keep, LogoWrite::Keep);
    for _ in 0..ROWS {
        store.begin(&records::under(&largest, &draw::sound(ClientId::new(draw::unique())))).await;
    }
    let page = store.list(&ApplicationFilter::OwnedBy(owner), Page::first(ROWS)).await;
    assert_eq!(page.len(), ROWS, "applications on a page of {ROWS} of the largest");
}

pub(in crate::testing) async fn misses_nothing_that_stays<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let owner = records::subject();
    for limit in [1, 2, 7] {
        for filter in [ApplicationFilter::OwnedBy(owner.clone()), ApplicationFilter::AwaitingReview] {
            let mut waiting = BTreeMap::new();
            for _ in 0..14 {
                let registration = records::registration(&owner);
                store.begin(&registration).await;
                waiting.insert(registration.client.id().clone(), registration);
            }
            let found = read_while_others_come_and_go(store, &filter, limit, &mut waiting).await;
            let missed: Vec<_> = waiting.keys().filter(|id| !found.contains(id)).collect();
            assert!(missed.is_empty(), "in pages of {limit}, {filter:?}: {missed:?} were missed");
        }
    }
}

/// Between two pages, one application is added, and one that was read leaves the list of pending ones.
async fn read_while_others_come_and_go<S: ClientRegistry>(
    store: &Applications<'_, S>,
    filter: &ApplicationFilter,
    limit: usize,
    waiting: &mut BTreeMap<ClientId, Registration>,
) -> Vec<ClientId> {
    let (mut found, mut page) = (Vec::new(), Page::first(limit));
    let mut newcomers = 0..3;
    loop {
        let items = store.list(filter, page).await;
        found.extend(items.iter().map(|own| own.id().clone()));
        assert!(found.is_sorted_by(|one, other| one < other), "pages of {limit}, {filter:?}: {found:?}");
        let Some(last) = items.last().filter(|_| items.len() == limit) else { return found };
        page = Page::after(last.id().clone(), limit);
        if newcomers.next().is_some() {
            store.begin(&records::registration(&records::owner_of(last))).await;
            if let Some(read) = waiting.remove(last.id()) {
                store.advance(&Whole::first(&read), &records::approved(&read)).await;
            }
        }
    }
}

async fn listed_ids<S: ClientRegistry>(store: &Applications<'_, S>, filter: &ApplicationFilter) -> Vec<ClientId> {
    store.listed(filter).await.iter().map(|own| own.id().clone()).collect()
}
