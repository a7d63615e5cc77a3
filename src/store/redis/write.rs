//! Writes rows if their version is unchanged, and confirms rows that are equal.

use std::time::Duration;

use futures_util::future::{try_join, try_join_all};

use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::model::WRITE_BOUND;
use crate::store::redis::check::MAX_CLOCK_SKEW;
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::keys::{Entry, Written};
use crate::store::redis::link::{CONFIRM, LIST, Link, PUT};
use crate::store::redis::options::LONGEST_TIMEOUT;
use crate::store::redis::row::{push_record, row_of};
use crate::store::redis::{due, listed};
use crate::store::{Lists, Table, Write};

/// How long after it was sent a write of a row may still be applied, by the server's clock.
const WRITE_LIFE: Duration = Duration::from_secs(20 * 60);
const _: () = assert!(
    // Before that, at most three commands in turn write entries. Each may take the longest time-out to answer and to
    // wait.
    6 * LONGEST_TIMEOUT.as_secs() + WRITE_LIFE.as_secs() + MAX_CLOCK_SKEW.as_secs() < WRITE_BOUND.as_secs(),
    "an entry would be dropped before its row is written"
);

/// A write whose version is a multiple of this checks the entries of its row: one write in four on average, since
/// versions are random. Each check is one more command.
const CHECKED_MULTIPLES: u32 = 4;

/// Adds a row, after its entries in the lists and in the purge index.
pub(super) async fn insert(link: &Link, write: &Write) -> Result<bool, RedisError> {
    add_entries(link, write).await?;
    put(link, None, write).await
}

/// Returns whether a replacement checks the entries of its row. An authorization is replaced once or twice, so each of
/// these writes does.
fn checks_entries(write: &Write) -> bool {
    write.table == Table::Authorizations || write.version.is_multiple_of(CHECKED_MULTIPLES)
}

/// Replaces the row that has that key and `version`.
///
/// In a cluster, the loss of a primary may lose an entry but not its row. So some replacements check the entry: see
/// [`checks_entries`]. Rows whose lists move write their entries each time.
pub(super) async fn replace(link: &Link, version: u32, write: &Write) -> Result<bool, RedisError> {
    if write.due_moved {
        due::add(link, write, Written::now()).await?;
    }
    if write.table.lists() == Lists::Many {
        // Such a row may get a due time with this write, as a deleted client does.
        add_entries(link, write).await?;
    } else if link.spreads_keys() && checks_entries(write) {
        let written = Written::now();
        if listed::add_missing(link, write.table, &write.key, &write.lists, written).await? {
            due::add(link, write, written).await?;
        }
    }
    put(link, Some(version), write).await
}

/// Writes the row again if version and record are those of `write`.
pub(super) async fn confirm(link: &Link, write: &Write) -> Result<bool, RedisError> {
    let version = write.version.to_be_bytes();
    let mut record = Vec::new();
    push_record(&mut record, &write.record);
    Ok(link.run(&CONFIRM, &link.keys.row(write.table, &write.key), &[version.as_slice(), &record]).await? == 1)
}

async fn put(link: &Link, seen: Option<u32>, write: &Write) -> Result<bool, RedisError> {
    let last = SystemClock.now().plus(WRITE_LIFE).seconds().to_string();
    let seen = seen.map(u32::to_be_bytes);
    let expires = expiry(write).map_or(0, Timestamp::seconds).to_string();
    let row = row_of(write);
    let seen = seen.as_ref().map_or(&[][..], <[u8; 4]>::as_slice);
    let arguments = [last.as_bytes(), seen, expires.as_bytes(), &row];
    match link.run(&PUT, &link.keys.row(write.table, &write.key), &arguments).await? {
        -1 => Err(RedisProblem::TooLate.into()),
        answer => Ok(answer == 1),
    }
}

/// Returns when the server drops the row by its own clock, which may be ahead.
fn expiry(write: &Write) -> Option<Timestamp> {
    // An assertion or a proof is valid until a minute before that, and must not work twice. Most other rows are due an
    // hour after their last use ends.
    let skew = if write.table == Table::Replays { MAX_CLOCK_SKEW } else { Duration::ZERO };
    write.due.map(|due| due.plus(skew))
}

/// Adds the entries of a row, in the purge index and in its lists.
async fn add_entries(link: &Link, write: &Write) -> Result<(), RedisError> {
    let written = Written::now();
    let member = Entry { key: write.key.clone(), written }.member();
    let add = async |list: &Vec<u8>| link.run(&LIST, &link.keys.list(write.table, list), &[&member]).await;
    try_join(due::add(link, write, written), try_join_all(write.lists.iter().map(add))).await.map(drop)
}
