//! The purge: sets of ids by the time at which their rows may go.
//!
//! A time in a set may be earlier than the row's own, and is moved when the purge meets it. A row that the
//! server has expired by itself leaves its entries behind, which go here.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::try_join_all;
use redis::Cmd;
use time::Duration;

use crate::clock::Timestamp;
use crate::store::record::WRITE_BOUND;
use crate::store::redis::error::RedisError;
use crate::store::redis::keys::{DueEntry, Entry, key};
use crate::store::redis::link::Link;
use crate::store::redis::listed::drop_entries;
use crate::store::redis::rows::{DUE_SETS, Keyed, Row, due_key, look, relist, row_key};
use crate::store::redis::script::REMOVE;
use crate::store::{Purge, StoreError};

/// Records that are looked at together.
const MOST_AT_A_TIME: usize = 64;

/// How long a row is left alone that this release cannot read.
const UNREADABLE: Duration = Duration::DAY;

/// What became of an entry.
enum Outcome {
    Removed,
    Moved,
    /// The row was written meanwhile: it is looked at once more.
    Left,
}

/// How far a purge has come.
#[derive(Default)]
struct Step {
    /// Records that may still be looked at.
    room: usize,
    removed: usize,
    left: bool,
}

/// One purge of the rows of one kind.
pub(super) struct PurgeStep<'a> {
    pub(super) link: &'a Link,
    pub(super) prefix: &'a str,
    pub(super) now: Timestamp,
    /// The set that comes first, which the step moves on.
    pub(super) next_set: &'a AtomicUsize,
}

impl PurgeStep<'_> {
    /// Removes rows that are due, looking at no more than `limit` records.
    pub(super) async fn run<R: Keyed>(&self, limit: usize) -> Result<Purge, StoreError> {
        let first = self.next_set.load(Ordering::Relaxed);
        let mut step = Step { room: limit, ..Step::default() };
        for set in (first..first + DUE_SETS).map(|number| number % DUE_SETS) {
            if let Err(error) = self.set::<R>(set, &mut step).await {
                // The next call begins behind it, so that one that cannot be read holds no other up.
                self.next_set.store((set + 1) % DUE_SETS, Ordering::Relaxed);
                return Err(error.into());
            }
            if step.room == 0 {
                self.next_set.store(set, Ordering::Relaxed);
                return Ok(Purge::new(step.removed));
            }
        }
        Ok(if step.left { Purge::new(step.removed) } else { Purge::new(step.removed).finished() })
    }

    /// Goes through one set, as far as there is room.
    async fn set<R: Keyed>(&self, set: usize, step: &mut Step) -> Result<(), RedisError> {
        while step.room > 0 {
            let wanted = step.room.min(MOST_AT_A_TIME);
            let members = self.due::<R>(set, wanted).await?;
            let outcomes = try_join_all(members.iter().map(|member| self.entry::<R>(set, member))).await?;
            step.room = step.room.saturating_sub(members.len());
            step.removed += outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Removed)).count();
            step.left |= outcomes.iter().any(|outcome| matches!(outcome, Outcome::Left));
            if members.len() < wanted {
                break;
            }
        }
        Ok(())
    }

    /// Returns members of the set whose time has come, the earliest first.
    async fn due<R: Keyed>(&self, set: usize, count: usize) -> Result<Vec<Vec<u8>>, RedisError> {
        let set = due_key::<R>(self.prefix, set);
        let mut range = Cmd::new();
        range.arg("ZRANGE").arg(&set).arg("-inf").arg(self.now.seconds()).arg("BYSCORE").arg("LIMIT").arg(0).arg(count);
        self.link.read(&set, range).await
    }

    async fn entry<R: Keyed>(&self, set: usize, member: &[u8]) -> Result<Outcome, RedisError> {
        let set = due_key::<R>(self.prefix, set);
        let Some(entry) = DueEntry::from_member(member) else {
            self.forget(&set, member).await?;
            return Ok(Outcome::Moved);
        };
        let outcome = match look::<R>(self.link, self.prefix, entry.id).await? {
            Row::Missing => Outcome::Moved,
            Row::Unreadable(_) => {
                self.move_to(&set, member, self.now.plus(UNREADABLE)).await?;
                return Ok(Outcome::Moved);
            }
            Row::Found(row) if self.now < row.purge_after() => {
                if self.link.spreads_keys() {
                    relist(self.link, self.prefix, &row, entry.written).await?;
                }
                self.move_to(&set, member, row.purge_after()).await?;
                return Ok(Outcome::Moved);
            }
            Row::Found(row) => {
                let version = row.version().to_be_bytes();
                if !REMOVE.run(self.link, &row_key::<R>(self.prefix, entry.id), &[&version]).await? {
                    return Ok(Outcome::Left);
                }
                Outcome::Removed
            }
        };
        if entry.written.is_over() {
            let subject = key(self.prefix, R::OF_SUBJECT, &entry.subject);
            let listed = Entry { id: entry.id.to_vec(), written: entry.written };
            match drop_entries(self.link, &subject, &[listed]).await {
                Err(error) if !error.is_wrong_type() => return Err(error),
                _ => self.forget(&set, member).await?,
            }
        } else {
            // Its write may still be under way.
            self.move_to(&set, member, self.now.plus(WRITE_BOUND)).await?;
        }
        Ok(outcome)
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
