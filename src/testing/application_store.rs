//! The rules of [`RecordStore`](crate::store::RecordStore#contract) that only [`Application`]s have: similar ids, and
//! lists that every write may change.

use std::sync::Arc;

use crate::base::subject::Subject;
use crate::model::application::LookAlikeKey;
use crate::model::application::{Application, ApplicationFilter};
use crate::store::{Page, RecordStore};
use crate::testing::calls::{add, answer, assert_there, change};
use crate::testing::records;
use crate::testing::told::cut;

/// Rule 6: after every move, an application is listed as it is under its own filters and no other.
///
/// Every state after every other one, with a change that awaits review in between, and every owner after another.
pub async fn lists_follow_every_move(store: &dyn RecordStore<Application>) {
    let owner = records::subject();
    let mut there = Arc::new(records::application(&owner));
    add(store, &there).await;
    let mut others = Vec::new();
    for state in records::states() {
        let other = Arc::new(records::in_state(&records::application(&owner), state));
        add(store, &other).await;
        others.push(other);
    }
    for (from, to) in records::states().flat_map(|from| records::states().map(move |to| (from, to))) {
        for state in [Some(from), None, Some(to)] {
            let next = state.map_or_else(|| records::changed(&there), |state| records::in_state(&there, state));
            there = moved(store, &there, next).await;
            assert_listed(store, &there, &owner).await;
        }
    }
    let another = records::subject();
    for to in [Some(&another), None, Some(&owner)] {
        let next = records::numbered(&there, there.version() + 1);
        there = moved(store, &there, Application { owner: to.cloned(), ..next }).await;
        for owner in [&owner, &another] {
            assert_listed(store, &there, owner).await;
        }
    }
    for other in &others {
        assert_listed(store, other, &owner).await;
    }
}

async fn moved(store: &dyn RecordStore<Application>, from: &Arc<Application>, to: Application) -> Arc<Application> {
    let to = Arc::new(to);
    change(store, from, &to).await;
    to
}

/// Fails unless the application is listed as it is under its own filters, and under no other.
async fn assert_listed(store: &dyn RecordStore<Application>, application: &Application, owner: &Subject) {
    let own: Vec<_> = application.filters().collect();
    let states = records::states().map(ApplicationFilter::InState);
    let owners = [owner.clone(), records::subject()].map(ApplicationFilter::OwnedBy);
    let all = [ApplicationFilter::All, ApplicationFilter::AwaitingReview];
    let proposed = application.proposed.as_ref().map_or("another", |proposed| &*proposed.name);
    let names = [&*application.form().name, proposed, "another"];
    let names = names.into_iter().flat_map(LookAlikeKey::of).map(ApplicationFilter::LooksLike);
    for filter in all.into_iter().chain(states).chain(owners).chain(names) {
        let listed = listed(store, &filter).await;
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

/// Returns all applications that match the filter, read in pages, since there may be more than the kit wrote.
async fn listed(store: &dyn RecordStore<Application>, filter: &ApplicationFilter) -> Vec<Arc<Application>> {
    let mut found: Vec<Arc<Application>> = Vec::new();
    loop {
        let page = found.last().map_or_else(|| Page::first(500), |last| Page::after(last.id().clone(), 500));
        let items = answer("list", store.list(&filter.key(), page).await);
        let is_last = items.len() < 500;
        found.extend(items);
        let in_order = found.is_sorted_by(|one, other| one.id() < other.id());
        assert!(in_order, "pages of {filter:?} continue after the last item, in the order of ids");
        if is_last {
            return found;
        }
    }
}

/// Rule 1: client ids that differ in case or in blanks are different ids.
pub async fn similar_client_ids_are_distinguished(store: &dyn RecordStore<Application>) {
    let mut written = Vec::new();
    for id in records::similar_client_ids() {
        let row = Arc::new(records::application_under(&id, &records::subject()));
        add(store, &row).await;
        written.push(row);
    }
    for row in &written {
        assert_there(store, row, "beside others with similar ids").await;
    }
}
