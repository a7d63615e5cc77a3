//! A store over single keys with revisions, such as the base tables of DynamoDB. The database writes a key
//! only if it still has the revision that was read. It has no transaction over two keys, and no secondary index.
//!
//! The comments of `RevisionsStore` are the protocol that keeps lists complete on such a database. The guide
//! `writing_a_store` explains it. Its tests: `cargo test --features testing --example revisions_store`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grantor::store::{Engine, Insertion, List, Lists, Purge, Replacement, Row, Store, StoreError, Table, Write};
use grantor::{AuthorizationServer, Clock, Config, ConfigError, SystemClock, Timestamp};

/// One hour for a write, which gives up after that, and one hour for the differences between the clocks of servers and
/// for a request in progress. Each request has a timeout of seconds.
const STALE_AFTER: Duration = Duration::from_secs(2 * 60 * 60);

/// Three kinds of keys: rows; entries of lists; entries of the purge index, in the order of time.
///
/// A row has its record, the names of its lists, and its exact `due`. The names decide which entries are valid. The
/// purge index always has an entry for the row; its time may be earlier than `due`.
#[derive(Clone, Debug, Default)]
struct RevisionsStore(Database);

impl RevisionsStore {
    async fn row(&self, table: Table, key: &[u8]) -> Option<(Write, u64)> {
        self.0.get(&row_key(table, key)).await.and_then(|found| Some((found.row?, found.revision)))
    }

    /// Writes the entries of a row, before the row: a crash in between leaves a surplus entry, never a missing one.
    ///
    /// An existing entry is renewed: its new revision stops any reader that is about to drop it. A writer that was
    /// delayed for an hour between entry and row gives up, since the entry may be dropped soon.
    async fn enter(&self, write: &Write) -> Result<(), StoreError> {
        let began = SystemClock.now();
        for entry in entries(write) {
            self.0.put(&entry, None, None).await;
        }
        let is_late = SystemClock.now() >= began.plus(STALE_AFTER / 2);
        if is_late { Err(StoreError::transient("the write took too long")) } else { Ok(()) }
    }

    /// Drops an entry whose row is gone or has left the list. The entry must have been read before the row. It is kept
    /// if it was renewed less than two hours ago, since a writer may be between entry and row.
    async fn drop_stale(&self, entry: &Found) {
        if is_stale(entry) {
            self.0.delete(&entry.key, entry.revision).await;
        }
    }

    /// Removes a row, then its entries, which were read before the row was deleted.
    async fn remove(&self, row: &Write, seen: u64) -> bool {
        let mut read = Vec::new();
        for entry in entries(row) {
            read.extend(self.0.get(&entry).await);
        }
        let is_removed = self.0.delete(&row_key(row.table, &row.key), seen).await;
        for entry in read.iter().filter(|_| is_removed) {
            self.drop_stale(entry).await;
        }
        is_removed
    }

    /// Replaces the row if it is `wanted`. If its revision has changed, perhaps by a confirm of the same version, the
    /// row is read again.
    async fn swap(&self, wanted: impl Fn(&Write) -> bool, write: &Write) -> Result<Replacement, StoreError> {
        loop {
            let found = self.row(write.table, &write.key).await;
            let Some((row, seen)) = found.filter(|(row, _)| wanted(row)) else { return Ok(Replacement::Lost) };
            // A refresh changes no list, so it writes one key. The purge index changes when the purge reaches the row,
            // or here if the new time is earlier.
            if write.table.lists() == Lists::Many || write.due_moved {
                self.enter(write).await?;
            }
            if self.0.put(&row_key(row.table, &row.key), Some(seen), Some(write.clone())).await {
                return Ok(Replacement::Replaced);
            }
        }
    }
}

impl Store for RevisionsStore {
    /// DynamoDB reads where it writes, with `ConsistentRead`.
    fn reads_settled(&self) -> bool {
        true
    }
}

impl Engine for RevisionsStore {
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.row(table, key).await.map(|(row, _)| row.record))
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        self.enter(&write).await?;
        let key = row_key(write.table, &write.key);
        // If the row exists, the entries stay until they are stale: they may be from the insert of that row.
        Ok(if self.0.put(&key, Some(0), Some(write)).await { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        self.swap(|row| row.version == version, &write).await
    }

    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        self.swap(|row| row.version == write.version && row.record == write.record, &write).await
    }

    /// An entry counts if its row names the list. Other entries are skipped, and dropped if stale. The page is still
    /// full.
    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        let prefix = list_key(list.table, &list.name, &[]);
        let mut after = [&prefix, after.unwrap_or_default()].concat();
        let mut rows = Vec::new();
        while rows.len() < limit {
            let entries = self.0.range(&prefix, &after, limit - rows.len()).await;
            for entry in &entries {
                let found = self.row(list.table, &entry.key[prefix.len()..]).await;
                match found.filter(|(row, _)| row.lists.contains(&list.name)) {
                    Some((row, _)) => rows.push(Row::new(row.key, row.record)),
                    None => self.drop_stale(entry).await,
                }
            }
            let Some(last) = entries.last() else { break };
            after.clone_from(&last.key);
        }
        Ok(rows)
    }

    /// Reads entries in the order of time. If the row is not due yet, its entry moves to the row's time; the new entry
    /// is written first. An entry without a row is moved until it is stale, since its row may still be written.
    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let latest = due_key(table, now, &[]);
        let prefix = &latest[..latest.len() - 4];
        let mut entries = self.0.range(prefix, prefix, limit).await;
        entries.retain(|entry| entry.key[..latest.len()] <= latest[..]);
        let (mut removed, mut is_finished) = (0, entries.len() < limit);
        for entry in entries {
            let key = &entry.key[latest.len()..];
            let next = match self.row(table, key).await {
                Some((row, _)) if row.due.is_none_or(|due| due > now) => row.due,
                Some((row, seen)) => {
                    let is_removed = self.remove(&row, seen).await;
                    removed += usize::from(is_removed);
                    is_finished &= is_removed;
                    // If the row was written meanwhile, the next step reads it again.
                    (!is_removed).then_some(now)
                }
                None => (!is_stale(&entry)).then(|| now.plus(STALE_AFTER)),
            };
            if let Some(next) = next {
                self.0.put(&due_key(table, next, key), None, None).await;
            }
            self.0.delete(&entry.key, entry.revision).await;
        }
        Ok(if is_finished { Purge::new(removed).finished() } else { Purge::new(removed) })
    }
}

fn entries(row: &Write) -> impl Iterator<Item = Vec<u8>> {
    let lists = row.lists.iter().map(|name| list_key(row.table, name, &row.key));
    lists.chain(row.due.map(|due| due_key(row.table, due, &row.key)))
}

fn row_key(table: Table, key: &[u8]) -> Vec<u8> {
    [b"row/", table.as_str().as_bytes(), b"/", key].concat()
}

/// The length precedes the name, so no list key is a prefix of another list's keys.
fn list_key(table: Table, name: &[u8], key: &[u8]) -> Vec<u8> {
    [b"list/", table.as_str().as_bytes(), b"/", &name.len().to_be_bytes(), name, key].concat()
}

fn due_key(table: Table, due: Timestamp, key: &[u8]) -> Vec<u8> {
    [b"due/", table.as_str().as_bytes(), b"/", &due.seconds().to_be_bytes(), key].concat()
}

/// A simulated database: the last revision, which is never used again, and ordered keys. A real one stores bytes.
#[derive(Clone, Debug, Default)]
struct Database(Arc<Mutex<Contents>>);

type Contents = (u64, BTreeMap<Vec<u8>, Found>);

/// A row, or an entry, which has no `row`.
#[derive(Clone, Debug)]
struct Found {
    key: Vec<u8>,
    revision: u64,
    /// By the clock of the writer.
    written: Timestamp,
    row: Option<Write>,
}

fn is_stale(entry: &Found) -> bool {
    entry.written.plus(STALE_AFTER) <= SystemClock.now()
}

impl Database {
    async fn get(&self, key: &[u8]) -> Option<Found> {
        tokio::task::yield_now().await;
        self.0.lock().unwrap().1.get(key).cloned()
    }

    /// Writes a key, if it has the revision `seen`, or without a condition. The revision of a missing key is 0.
    async fn put(&self, key: &[u8], seen: Option<u64>, row: Option<Write>) -> bool {
        tokio::task::yield_now().await;
        let (last, values) = &mut *self.0.lock().unwrap();
        let is_seen = seen.is_none_or(|seen| seen == values.get(key).map_or(0, |found| found.revision));
        if is_seen {
            *last += 1;
            let (key, written) = (key.to_vec(), SystemClock.now());
            values.insert(key.clone(), Found { key, revision: *last, written, row });
        }
        is_seen
    }

    async fn delete(&self, key: &[u8], seen: u64) -> bool {
        tokio::task::yield_now().await;
        let values = &mut self.0.lock().unwrap().1;
        values.get(key).is_some_and(|found| found.revision == seen) && values.remove(key).is_some()
    }

    /// Returns the values of keys that begin with `prefix` and come after `after`, in order.
    async fn range(&self, prefix: &[u8], after: &[u8], limit: usize) -> Vec<Found> {
        tokio::task::yield_now().await;
        let values = &self.0.lock().unwrap().1;
        let found = values.range(after.to_vec()..).map(|(_, found)| found).filter(|found| found.key != after);
        found.take_while(|found| found.key.starts_with(prefix)).take(limit).cloned().collect()
    }
}

fn main() -> Result<(), ConfigError> {
    AuthorizationServer::new(Config::strict("https://auth.example"), RevisionsStore::default()).map(drop)
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use grantor::store::{Grant, Page, RecordStore};

    use super::*;

    grantor::store_tests!(#[tokio::test] => store: RevisionsStore::default(), another: store.clone());

    /// A surplus entry is neither listed nor counted, and is dropped once it is stale.
    #[tokio::test]
    async fn a_stale_entry_is_dropped_unless_it_was_renewed() {
        let (store, alice) = (RevisionsStore::default(), grantor::Subject::new("alice").unwrap());
        let key = list_key(Table::Grants, b"alice", &[1; 16]);
        let age = || store.0.0.lock().unwrap().1.values_mut().for_each(|found| found.written = Timestamp::default());
        store.0.put(&key, None, None).await;
        age();
        let read = store.0.get(&key).await.unwrap();
        store.0.put(&key, None, None).await;
        store.drop_stale(&read).await;
        for is_there in [true, false] {
            assert_eq!(RecordStore::<Grant>::list(&store, alice.as_str(), Page::first(10)).await.unwrap(), []);
            assert_eq!(store.0.get(&key).await.is_some(), is_there, "it was renewed after it was read");
            age();
        }
    }
}
