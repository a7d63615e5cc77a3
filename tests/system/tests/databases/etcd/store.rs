//! A store on etcd 3.4 or later. A row, its places on lists and its place in the purge index are keys of one
//! transaction, so no list ever lags. The guide `writing_a_store` explains what etcd itself needs.

use std::sync::Arc;

use futures::future::join_all;
use grantor::Timestamp;
use grantor::store::{Engine, Insertion, List, Lists, Purge, Replacement, Row, Store, StoreError, Table, Write};

use crate::etcd::cluster::{Cluster, Transaction};
use crate::etcd::row::Stored;

/// How many rows one request reads. etcd allows 128 operations in a transaction.
const AT_ONCE: usize = 16;

/// A store on a cluster. All its keys begin with the prefix.
#[derive(Clone, Debug)]
pub(crate) struct EtcdStore {
    cluster: Cluster,
    prefix: Arc<str>,
}

impl EtcdStore {
    /// Uses the members with these addresses, such as `http://10.0.0.1:2379`.
    pub(crate) fn new(members: &[String], prefix: &str) -> Self {
        Self { cluster: Cluster::new(members), prefix: prefix.into() }
    }

    /// Returns another handle to the same rows, which asks the members in another order.
    pub(crate) fn at_another_member(&self, members: &[String]) -> Self {
        let mut members = members.to_vec();
        members.rotate_left(1);
        Self { cluster: Cluster::new(&members), prefix: self.prefix.clone() }
    }

    /// Returns the key of a kind, with a slash after each part of known length or content.
    fn key(&self, kind: &str, table: Table, parts: &[&[u8]]) -> Vec<u8> {
        [format!("{}/{kind}/{}/", self.prefix, table.as_str()).as_bytes(), &parts.concat()].concat()
    }

    fn row_key(&self, table: Table, key: &[u8]) -> Vec<u8> {
        self.key("row", table, &[key])
    }

    /// The length precedes the name, so no list key is a prefix of another list's keys.
    fn list_key(&self, table: Table, name: &[u8], key: &[u8]) -> Vec<u8> {
        self.key("list", table, &[&name.len().to_be_bytes(), name, key])
    }

    fn due_key(&self, table: Table, due: Timestamp, key: &[u8]) -> Vec<u8> {
        self.key("due", table, &[&due.seconds().to_be_bytes(), key])
    }

    /// Returns the keys of a row besides the row itself: one on each list, and one in the purge index.
    fn entries(&self, table: Table, key: &[u8], row: &Stored) -> Vec<Vec<u8>> {
        let lists = row.lists.iter().map(|name| self.list_key(table, name, key));
        lists.chain(row.purge_at.map(|due| self.due_key(table, due, key))).collect()
    }

    /// Returns the rows with those keys, and the revision of each.
    async fn rows(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<(Stored, u64)>>, StoreError> {
        let names: Vec<_> = keys.iter().map(|key| self.row_key(table, key)).collect();
        let found = self.cluster.get_all(&names).await?;
        let decoded = |(value, seen): (Vec<u8>, u64)| {
            let row = Stored::decode(&value).ok_or_else(|| StoreError::permanent("a row has another form"))?;
            Ok((row, seen))
        };
        found.into_iter().map(|found| found.map(decoded).transpose()).collect()
    }

    async fn row(&self, table: Table, key: &[u8]) -> Result<Option<(Stored, u64)>, StoreError> {
        Ok(self.rows(table, &[key]).await?.into_iter().next().flatten())
    }

    /// Writes the row and all keys that change with it, if it still has the revision that was read; 0 if there was no
    /// row.
    async fn put(
        &self,
        table: Table,
        key: &[u8],
        before: Option<(&Stored, u64)>,
        next: &Stored,
    ) -> Result<bool, StoreError> {
        let own = self.row_key(table, key);
        let old = before.map(|(row, _)| self.entries(table, key, row)).unwrap_or_default();
        let new = self.entries(table, key, next);
        let mut transaction = Transaction::if_unchanged(&own, before.map_or(0, |(_, seen)| seen));
        transaction.put(&own, &next.encode());
        old.iter().filter(|entry| !new.contains(entry)).for_each(|entry| transaction.delete(entry));
        new.iter().filter(|entry| !old.contains(entry)).for_each(|entry| transaction.put(entry, &[]));
        self.cluster.commit(transaction).await
    }
}

impl EtcdStore {
    /// Removes the row if it is due, or moves its entry to the time when it is. Returns whether it was removed, and
    /// whether it had not changed since it was read.
    async fn purge_row(
        &self,
        table: Table,
        key: &[u8],
        row: Stored,
        seen: u64,
        now: Timestamp,
    ) -> Result<(bool, bool), StoreError> {
        if row.due.is_none_or(|due| due > now) {
            let moved = Stored { purge_at: row.due, ..row.clone() };
            return Ok((false, self.put(table, key, Some((&row, seen)), &moved).await?));
        }
        let own = self.row_key(table, key);
        let mut transaction = Transaction::if_unchanged(&own, seen);
        transaction.delete(&own);
        self.entries(table, key, &row).iter().for_each(|entry| transaction.delete(entry));
        let is_removed = self.cluster.commit(transaction).await?;
        Ok((is_removed, is_removed))
    }
}

impl Store for EtcdStore {
    /// A read asks the leader, which answers with what most members have on their disks.
    fn reads_settled(&self) -> bool {
        true
    }
}

impl Engine for EtcdStore {
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.row(table, key).await?.map(|(row, _)| row.record))
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        let (table, key) = (write.table, write.key.clone());
        let is_new = self.put(table, &key, None, &Stored::of(write)).await?;
        Ok(if is_new { Insertion::Inserted } else { Insertion::Exists })
    }

    /// If the row keeps its version and changes its revision meanwhile, as by a purge, it is read again.
    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        let (table, key, due_moved) = (write.table, write.key.clone(), write.due_moved);
        let mut next = Stored::of(write);
        let (due, lists) = (next.due, next.lists.clone());
        loop {
            let found = self.row(table, &key).await?;
            let Some((row, seen)) = found.filter(|(row, _)| row.version == version) else {
                return Ok(Replacement::Lost);
            };
            // A refresh writes one key: lists stay, and the purge corrects its index when it reaches the row.
            next.lists = if table.lists() == Lists::Many { lists.clone() } else { row.lists.clone() };
            next.purge_at = if due_moved { due } else { row.purge_at };
            if self.put(table, &key, Some((&row, seen)), &next).await? {
                return Ok(Replacement::Replaced);
            }
        }
    }

    /// What is read is durable, so nothing is written.
    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        let found = self.row(write.table, &write.key).await?;
        let is_same = found.is_some_and(|(row, _)| row.version == write.version && row.record == write.record);
        Ok(if is_same { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        let prefix = self.list_key(list.table, &list.name, &[]);
        let mut from = after.map_or_else(|| prefix.clone(), |after| [&prefix, after, &[0]].concat());
        let mut rows = Vec::new();
        loop {
            let wanted = (limit - rows.len()).min(AT_ONCE);
            let entries = self.cluster.range(&from, &after_all(&prefix), wanted).await?;
            let keys: Vec<_> = entries.iter().filter_map(|entry| entry.get(prefix.len()..)).collect();
            // A row that was purged since is left out.
            let found = keys.iter().zip(self.rows(list.table, &keys).await?);
            rows.extend(found.filter_map(|(key, row)| Some(Row::new(*key, row?.0.record))));
            match entries.last() {
                Some(last) if entries.len() == wanted && rows.len() < limit => from = [last, &[0][..]].concat(),
                _ => return Ok(rows),
            }
        }
    }

    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        // For etcd, a limit of 0 is none.
        if limit == 0 {
            return Ok(Purge::new(0));
        }
        let prefix = self.key("due", table, &[]);
        let end = after_all(&self.due_key(table, now, &[]));
        let entries = self.cluster.range(&prefix, &end, limit).await?;
        let (mut removed, mut is_finished) = (0, entries.len() < limit);
        for chunk in entries.chunks(AT_ONCE) {
            let keys: Vec<_> = chunk.iter().filter_map(|entry| entry.get(prefix.len() + 4..)).collect();
            // The row that is missing was removed meanwhile, and its entry with it.
            let found = keys.iter().zip(self.rows(table, &keys).await?).filter_map(|(key, found)| Some((key, found?)));
            let steps = found.map(|(key, (row, seen))| self.purge_row(table, key, row, seen, now));
            for step in join_all(steps).await {
                let (is_removed, is_done) = step?;
                removed += usize::from(is_removed);
                is_finished &= is_done;
            }
        }
        Ok(if is_finished { Purge::new(removed).finished() } else { Purge::new(removed) })
    }
}

/// Returns the first key after all keys that begin with this one.
fn after_all(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            break;
        }
    }
    end
}
