//! Clients as requests look them up: one copy for each group of threads.
//!
//! All requests of an application look up the same client. One lock and one count of references for all
//! threads would go from core to core with each of them, which takes longer than the look-up itself.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::client::Client;
use crate::id::ClientId;

/// About as many as a server has cores; more threads than that share groups.
const COPIES: usize = 8;

#[derive(Default)]
pub(super) struct Copies([Group; COPIES]);

/// The clients of one group of threads, alone on their lines of the cache, of which some processors fetch two.
#[derive(Default)]
#[repr(align(128))]
struct Group(RwLock<HashMap<ClientId, Arc<Client>>>);

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Copies").finish_non_exhaustive()
    }
}

impl Copies {
    pub(super) fn find(&self, id: &ClientId) -> Option<Arc<Client>> {
        let group = self.0.get(own_group())?;
        group.0.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Writes all copies at once: nobody reads an old one after somebody read a new one.
    pub(super) fn put(&self, client: &Client) {
        let mut copies: Vec<_> =
            self.0.iter().map(|group| group.0.write().unwrap_or_else(PoisonError::into_inner)).collect();
        for copy in &mut copies {
            copy.insert(client.id.clone(), Arc::new(client.apart()));
        }
    }
}

/// The group of this thread: they are given out in turn.
fn own_group() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % COPIES;
    }
    // Where the platform frees it before the thread ends, any group will do.
    OWN.try_with(|own| *own).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::config::Config;

    fn client(version: u32) -> Client {
        let scopes = Config::platform().scopes.parse(b"account-profile:r").unwrap();
        let client = Client::builder(ClientId::new("client").unwrap()).scopes(scopes).build();
        Client { version, ..client }
    }

    #[test]
    fn every_thread_finds_what_was_put_last() {
        let copies = Copies::default();
        for version in 1..4 {
            copies.put(&client(version));
            thread::scope(|scope| {
                for _ in 0..2 * COPIES {
                    scope.spawn(|| assert_eq!(*copies.find(&client(0).id).unwrap(), client(version)));
                }
            });
        }
        assert!(copies.find(&ClientId::new("another").unwrap()).is_none());
    }

    #[test]
    fn no_copy_is_new_while_another_one_is_old() {
        let copies = Copies::default();
        copies.put(&client(1));
        let version = |group: &Group| group.0.try_read().map(|clients| clients[&client(0).id].version).ok();
        for held in &copies.0 {
            let guard = held.0.read().unwrap();
            thread::scope(|scope| {
                let put = scope.spawn(|| copies.put(&client(2)));
                for _ in 0..100 {
                    thread::yield_now();
                    assert!(copies.0.iter().all(|group| version(group) != Some(2)));
                }
                drop(guard);
                put.join().unwrap();
            });
            assert!(copies.0.iter().all(|group| version(group) == Some(2)));
            copies.put(&client(1));
        }
    }

    #[test]
    fn threads_count_their_references_apart() {
        let copies = Copies::default();
        copies.put(&client(1));
        let find = || copies.find(&client(1).id).unwrap();
        let mut found: Vec<_> = (0..COPIES).map(|_| thread::scope(|scope| scope.spawn(find).join().unwrap())).collect();
        found.sort_by_key(Arc::as_ptr);
        found.dedup_by_key(|client| Arc::as_ptr(client));
        // Threads of other tests take numbers in between.
        assert!(found.len() > 1, "{}", found.len());
        let texts: Vec<_> = found.iter().map(|client| client.scopes.as_str().as_ptr()).collect();
        assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:?}");
    }
}
