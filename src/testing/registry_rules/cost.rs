//! A call costs the same, however many applications there are.

use crate::model::application::ApplicationFilter;
use crate::store::{ClientRegistry, Insertion, Page, Replacement};
use crate::testing::applications::Applications;
use crate::testing::records;
use crate::text::LookAlikeKey;

/// How many applications are stored before the calls are counted again.
const ROWS: usize = 200;

pub(in crate::testing) async fn of_calls_stays_the_same<S: ClientRegistry>(
    store: &S,
    count: impl Fn() -> u64 + Send + Sync,
) {
    let store = &Applications(store);
    // This prepares all that is prepared only once.
    let _ = costs(store, &count).await;
    let before = costs(store, &count).await;
    for _ in 0..ROWS {
        store.begin(&records::registration(&records::subject())).await;
    }
    let after = costs(store, &count).await;
    for ((call, before), (_, after)) in before.into_iter().zip(after) {
        assert_eq!(after, before, "{call} costs more after {ROWS} more applications than before");
    }
}

/// Returns a name of lower-case letters. It is on one list of names that look alike, where another name may be on two.
fn with_one_key(drawn: &str) -> Box<str> {
    drawn.bytes().map(|byte| char::from(b'a' + byte % 26)).collect()
}

/// Returns the cost of each call, one after the other.
async fn costs<S: ClientRegistry>(
    store: &Applications<'_, S>,
    count: &(impl Fn() -> u64 + Send + Sync),
) -> [(&'static str, u64); 9] {
    let owner = records::subject();
    let mut first = records::registration(&owner);
    first.application.form.name = with_one_key(&first.application.form.name);
    first.client.name = first.application.form.name.clone();
    let mut next = records::changed(&first);
    if let Some(proposed) = &mut next.application.proposed {
        proposed.name = with_one_key(&proposed.name);
    }
    let (id, version) = (first.client.id(), first.client.version());
    let mut spent = count();
    let mut costs = |call| {
        let before = std::mem::replace(&mut spent, count());
        (call, spent - before)
    };
    assert_eq!(store.insert(&first).await, Insertion::Inserted);
    let inserted = costs("an insert");
    assert_eq!(store.insert(&first).await, Insertion::Exists);
    let exists = costs("an insert of what exists");
    assert_eq!(store.replace(version, &next).await, Replacement::Replaced);
    let replaced = costs("a replace that moves an application");
    assert_eq!(store.replace(version, &next).await, Replacement::Lost);
    let lost = costs("a replace that loses");
    assert_eq!(store.confirm(&next).await, Replacement::Replaced);
    let confirmed = costs("a confirm");
    assert!(store.current(id).await.is_some());
    let found = costs("a look-up of a client");
    assert!(store.application(id).await.is_some());
    let application = costs("a look-up of an application");
    assert_eq!(store.list(&ApplicationFilter::OwnedBy(owner), Page::first(10)).await.len(), 1);
    let listed = costs("a page of a list");
    let key = LookAlikeKey::of(next.application.form().name()).map(ApplicationFilter::LooksLike).next();
    let similar = store.list(&key.unwrap_or(ApplicationFilter::All), Page::first(20)).await;
    assert_eq!(similar.len(), 1, "applications with a unique name");
    let similar = costs("a page of names that look alike");
    [inserted, exists, replaced, lost, confirmed, found, application, listed, similar]
}
