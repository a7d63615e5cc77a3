//! Lists: a set of ids in their order, read in parts, with what it stands for.
//!
//! What is found under an id decides whether it is listed, so that an entry that is older or newer than
//! its row shows nothing wrong.

use futures_util::future::join_all;
use redis::Cmd;

use crate::store::StoreError;
use crate::store::redis::error::RedisError;
use crate::store::redis::keys::Entry;
use crate::store::redis::link::Link;
use crate::store::redis::script::{LIST, RELIST};

/// Entries that are read at a time, and their rows with them.
const MOST_AT_A_TIME: usize = 64;

/// Returns up to `limit` of what is listed in the set `index` behind the id `after`, ids ascending.
///
/// `look` returns what an id stands for if it belongs on this list. What cannot be read is the answer for a
/// part that holds it, and is no trouble behind one.
pub(super) async fn list<T, F>(
    link: &Link,
    index: &[u8],
    after: Option<&[u8]>,
    limit: usize,
    look: impl Fn(Vec<u8>) -> F,
) -> Result<Vec<T>, StoreError>
where
    F: Future<Output = Result<Option<T>, StoreError>>,
{
    let mut found = Vec::new();
    let mut start = Entry::after(after);
    loop {
        // One more than is wanted, since an id may have two entries.
        let wanted = (limit - found.len()).saturating_add(1).min(MOST_AT_A_TIME);
        let members = members(link, index, &start, wanted).await?;
        let Some(next) = behind(&members) else { return Ok(found) };
        start = next;
        // What is no entry is passed over: it may be of a later release.
        let entries: Vec<_> = members.iter().filter_map(|member| Entry::from_member(member)).collect();
        let mut needless = Vec::new();
        let ids: Vec<_> = entries.chunk_by(|entry, next| entry.id == next.id).collect();
        let rows = ids.iter().filter_map(|entries| entries.last()).map(|entry| look(entry.id.clone()));
        for (entries, row) in ids.iter().zip(join_all(rows).await) {
            if found.len() == limit {
                break;
            }
            let row = row?;
            // The newest entry of a row stays.
            let stays = usize::from(row.is_some());
            needless.extend(entries.iter().rev().skip(stays).filter(|entry| entry.written.is_over()).cloned());
            found.extend(row);
        }
        drop_entries(link, index, &needless).await?;
        if members.len() < wanted || found.len() == limit {
            return Ok(found);
        }
    }
}

/// Adds an entry for `id`, before its row is written.
pub(super) async fn add(link: &Link, index: &[u8], entry: &Entry) -> Result<(), RedisError> {
    LIST.run(link, index, &[&entry.member()]).await.map(drop)
}

/// Adds an entry where there is none of its id; tells whether there was none.
pub(super) async fn add_if_missing(link: &Link, index: &[u8], entry: &Entry) -> Result<bool, RedisError> {
    let [from, to] = entry.of_its_id();
    RELIST.run(link, index, &[&entry.member(), &from, &to]).await
}

/// Drops entries, each of which a later write would replace by one of its own.
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

/// The bound of a range that begins behind these members, and behind all entries of the ids in them.
fn behind(members: &[Vec<u8>]) -> Option<Vec<u8>> {
    let last = members.last()?;
    let entry = members.iter().rev().find_map(|member| Entry::from_member(member));
    let behind_entry = entry.map(|entry| Entry::after(Some(&entry.id)));
    behind_entry.filter(|bound| bound.get(1..) > Some(last)).or_else(|| Some([b"(", last.as_slice()].concat()))
}
