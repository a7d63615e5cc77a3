//! Lists: a set of entries in the order of their keys, read in parts, with their rows.
//!
//! The row decides whether it is listed, so an entry that is older or newer than its row does no harm.

use futures_util::future::{join_all, try_join_all};
use redis::Cmd;

use crate::store::redis::error::RedisError;
use crate::store::redis::keys::{Entry, Written};
use crate::store::redis::link::{Link, RELIST};
use crate::store::redis::row;
use crate::store::{List, Row, StoreError, Table};

/// Entries that are read at a time, and their rows with them.
const MAX_AT_A_TIME: usize = 64;

/// Returns up to `limit` rows of the list after the key `after`, keys ascending.
///
/// An unreadable row is an error only for a page that contains it.
pub(super) async fn list(link: &Link, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
    let index = link.keys.list(list.table, &list.name);
    let is_listed = |row: &row::Row<'_>| row.lists.contains(&list.name.as_slice());
    let mut found = Vec::new();
    let mut start = Entry::after(after);
    loop {
        // One more than needed, since a row may have two entries.
        let wanted = (limit - found.len()).saturating_add(1).min(MAX_AT_A_TIME);
        let members = members(link, &index, &start, wanted).await?;
        let Some(next) = behind(&members) else { return Ok(found) };
        start = next;
        // Other members are skipped: a later release may have written them.
        let entries: Vec<_> = members.iter().filter_map(|member| Entry::from_member(member)).collect();
        let mut needless = Vec::new();
        let by_key: Vec<_> = entries.chunk_by(|entry, next| entry.key == next.key).collect();
        let of_row = by_key.iter().filter_map(|entries| entries.last());
        let rows = of_row.map(async |entry| (&entry.key, row::find(link, list.table, &entry.key, is_listed).await));
        for (entries, (key, row)) in by_key.iter().zip(join_all(rows).await) {
            if found.len() == limit {
                break;
            }
            let row = row?;
            // The newest entry of a row stays.
            let stays = usize::from(row.is_some());
            needless.extend(entries.iter().rev().skip(stays).filter(|entry| entry.written.is_settled()).cloned());
            found.extend(row.map(|bytes| Row::new(key.as_slice(), bytes)));
        }
        drop_entries(link, &index, &needless).await?;
        if members.len() < wanted || found.len() == limit {
            return Ok(found);
        }
    }
}

/// Adds an entry to each list that has none for that key; returns whether it added one.
pub(super) async fn add_missing(
    link: &Link,
    table: Table,
    key: &[u8],
    lists: &[Vec<u8>],
    written: Written,
) -> Result<bool, RedisError> {
    let entry = Entry { key: key.to_vec(), written };
    let (member, [from, to]) = (entry.member(), entry.of_its_key());
    let arguments = [member.as_slice(), &from, &to];
    let add = async |list: &Vec<u8>| link.run(&RELIST, &link.keys.list(table, list), &arguments).await;
    Ok(try_join_all(lists.iter().map(add)).await?.contains(&1))
}

/// Drops entries. A later write of the row adds its own.
pub(super) async fn drop_entries(link: &Link, index: &[u8], entries: &[Entry]) -> Result<(), RedisError> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut remove = Cmd::new();
    remove.arg("ZREM").arg(index);
    for entry in entries {
        remove.arg(entry.member());
    }
    link.write::<i64>(index, remove).await.map(drop)
}

async fn members(link: &Link, index: &[u8], start: &[u8], count: usize) -> Result<Vec<Vec<u8>>, RedisError> {
    let mut range = Cmd::new();
    range.arg("ZRANGE").arg(index).arg(start).arg("+").arg("BYLEX").arg("LIMIT").arg(0).arg(count);
    link.read(index, range).await
}

/// Returns the bound of a range that begins after these members, and after all entries of the keys in them.
fn behind(members: &[Vec<u8>]) -> Option<Vec<u8>> {
    let last = members.last()?;
    let entry = members.iter().rev().find_map(|member| Entry::from_member(member));
    let behind_entry = entry.map(|entry| Entry::after(Some(&entry.key)));
    behind_entry.filter(|bound| bound.get(1..) > Some(last)).or_else(|| Some([b"(", last.as_slice()].concat()))
}
