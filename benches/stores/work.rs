//! What callers do with any store, and which grant each of them takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use grantor::GrantId;
use grantor::store::{Insertion, Replacement, TokenStore};

use super::grants::{Grants, id, mixed};

/// Grants that are there already, numbered from 0, and those that are added.
pub(crate) struct Work {
    pub(crate) grants: Arc<Grants>,
    pub(crate) rows: u64,
    turn: AtomicU64,
    added: AtomicU64,
}

impl Work {
    pub(crate) fn on(rows: u64) -> Self {
        Self { grants: Arc::new(Grants::new()), rows, turn: AtomicU64::new(0), added: AtomicU64::new(rows) }
    }

    /// A grant that none of the other callers takes at the same time.
    pub(crate) fn any(&self, caller: u32, callers: u32) -> u64 {
        let callers = u64::from(callers);
        let drawn = mixed(self.turn.fetch_add(1, Ordering::Relaxed));
        drawn % (self.rows / callers) * callers + u64::from(caller)
    }

    /// A grant that is not there yet.
    pub(crate) fn next(&self) -> u64 {
        self.added.fetch_add(1, Ordering::Relaxed)
    }
}

/// Finds a grant and puts its next version in its place, as a refresh does.
pub(crate) async fn refresh(store: impl TokenStore, grants: Arc<Grants>, number: u64) {
    let found = store.find(&GrantId::from_octets(id(number))).await.unwrap().unwrap();
    let next = grants.refreshed_grant(number, found.version() + 1);
    assert_eq!(store.replace(found.version(), next).await.unwrap(), Replacement::Replaced);
}

/// Adds a grant, as the exchange of a code does.
pub(crate) async fn insert(store: impl TokenStore, grants: Arc<Grants>, number: u64) {
    assert_eq!(store.insert(grants.new_grant(number)).await.unwrap(), Insertion::Inserted);
}

/// Looks a grant up, as each check of an access token does.
pub(crate) async fn find(store: impl TokenStore, number: u64) {
    let id = GrantId::from_octets(id(number));
    assert_eq!(store.find(&id).await.unwrap().unwrap().id(), id);
}
