//! The purge: sets of keys by the time from which their rows may be removed.
//!
//! A time in a set may be earlier than the row's own; the purge then corrects it. A row that the server has expired
//! leaves its entries behind; the purge removes them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::try_join_all;
use redis::Cmd;

use crate::base::clock::Timestamp;
use crate::model::WRITE_BOUND;
use crate::store::redis::error::RedisError;
use crate::store::redis::keys::{DUE_SETS, DueEntry, Entry, Written};
use crate::store::redis::link::{Link, REMOVE};
use crate::store::redis::listed;
use crate::store::{Purge, Table, Write};

/// Entries that are examined together.
const MAX_AT_A_TIME: usize = 64;

/// How long the purge skips an entry whose key does not hold a row.
const UNREADABLE: Duration = Duration::from_secs(24 * 60 * 60);

/// Adds the entry of a row that has a due time, before the row is written.
pub(super) async fn add(link: &Link, write: &Write, written: Written) -> Result<(), RedisError> {
    let Some(due) = write.due else { return Ok(()) };
    let entry = DueEntry::of(write, written);
    let set = link.keys.due(write.table, entry.set());
    let mut add = Cmd::new();
    add.arg("ZADD").arg(&set).arg("LT").arg(due.seconds()).arg(entry.member());
    link.write::<i64>(&set, add).await.map(drop)
}

/// One purge of one table.
pub(super) struct PurgeStep<'a> {
    pub(super) link: &'a Link,
    pub(super) table: Table,
    pub(super) now: Timestamp,
}

impl PurgeStep<'_> {
    /// Removes rows that are due, examining at most `limit`.
    pub(super) async fn run(&self, limit: usize) -> Result<Purge, RedisError> {
        let first = self.link.next_due_set.load(Ordering::Relaxed);
        let (mut room, mut removed) = (limit, 0);
        for set in (first..first + DUE_SETS).map(|number| number % DUE_SETS) {
            let key = self.link.keys.due(self.table, set);
            if let Err(error) = self.purge_set(&key, &mut room, &mut removed).await {
                // The next call begins after this set, so that an unreadable set does not block the others.
                self.link.next_due_set.store((set + 1) % DUE_SETS, Ordering::Relaxed);
                return Err(error);
            }
            if room == 0 {
                self.link.next_due_set.store(set, Ordering::Relaxed);
                return Ok(Purge::new(removed));
            }
        }
        Ok(Purge::new(removed).finished())
    }

    async fn purge_set(&self, set: &[u8], room: &mut usize, removed: &mut usize) -> Result<(), RedisError> {
        while *room > 0 {
            let wanted = (*room).min(MAX_AT_A_TIME);
            let members = self.due(set, wanted).await?;
            let are_removed = try_join_all(members.iter().map(|member| self.purge_row(set, member))).await?;
            *room = room.saturating_sub(members.len());
            *removed += are_removed.into_iter().filter(|is_removed| *is_removed).count();
            if members.len() < wanted {
                break;
            }
        }
        Ok(())
    }

    /// Returns members of the set that are due, the earliest first.
    async fn due(&self, set: &[u8], count: usize) -> Result<Vec<Vec<u8>>, RedisError> {
        let mut range = Cmd::new();
        range.arg("ZRANGE").arg(set).arg("-inf").arg(self.now.seconds()).arg("BYSCORE").arg("LIMIT").arg(0).arg(count);
        self.link.read(set, range).await
    }

    /// Removes a row if it is due, and its entries once they are settled; returns whether it removed the row.
    async fn purge_row(&self, set: &[u8], member: &[u8]) -> Result<bool, RedisError> {
        let Some(entry) = DueEntry::from_member(member) else {
            self.forget(set, member).await?;
            return Ok(false);
        };
        let row = self.remove(&entry.key).await?;
        match row {
            Removal::Removed | Removal::Missing if entry.written.is_settled() => {
                self.drop_from_lists(&entry).await?;
                self.forget(set, member).await?;
            }
            // Its write may still be in progress.
            Removal::Removed | Removal::Missing => self.move_to(set, member, self.now.plus(WRITE_BOUND)).await?,
            Removal::NotDue(due) => {
                if self.link.spreads_keys() {
                    let DueEntry { key, lists, written } = &entry;
                    listed::add_missing(self.link, self.table, key, lists, *written).await?;
                }
                self.move_to(set, member, due).await?;
            }
            Removal::NoRow => self.move_to(set, member, self.now.plus(UNREADABLE)).await?,
        }
        Ok(row == Removal::Removed)
    }

    async fn remove(&self, key: &[u8]) -> Result<Removal, RedisError> {
        let now = self.now.seconds().to_string();
        match self.link.run(&REMOVE, &self.link.keys.row(self.table, key), &[now.as_bytes()]).await {
            Ok(0) => Ok(Removal::Removed),
            Ok(-1) => Ok(Removal::Missing),
            Ok(due) => {
                Ok(u32::try_from(due).map_or(Removal::NoRow, |due| Removal::NotDue(Timestamp::from_seconds(due))))
            }
            Err(error) if error.is_wrong_type() => Ok(Removal::NoRow),
            Err(error) => Err(error),
        }
    }

    async fn drop_from_lists(&self, entry: &DueEntry) -> Result<(), RedisError> {
        let listed = [Entry { key: entry.key.clone(), written: entry.written }];
        for list in &entry.lists {
            match listed::drop_entries(self.link, &self.link.keys.list(self.table, list), &listed).await {
                Err(error) if !error.is_wrong_type() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves an entry to a later time, if it is still there.
    async fn move_to(&self, set: &[u8], member: &[u8], time: Timestamp) -> Result<(), RedisError> {
        let mut add = Cmd::new();
        add.arg("ZADD").arg(set).arg("XX").arg("GT").arg(time.seconds()).arg(member);
        self.link.write::<i64>(set, add).await.map(drop)
    }

    async fn forget(&self, set: &[u8], member: &[u8]) -> Result<(), RedisError> {
        let mut remove = Cmd::new();
        remove.arg("ZREM").arg(set).arg(member);
        self.link.write::<i64>(set, remove).await.map(drop)
    }
}

/// The result of removing the row of a due entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Removed,
    Missing,
    /// The row is due later than its entry.
    NotDue(Timestamp),
    /// The key holds something else than a row.
    NoRow,
}
