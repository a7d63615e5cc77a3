//! Reading rows and their parts, by key or as members of a list.

use redis::Cmd;

use crate::model::codec::DecodeError;
use crate::store::redis::keys::Keys;
use crate::store::redis::link::Link;
use crate::store::redis::row::Row;
use crate::store::{List, Part, StoreError, Table};

/// Returns a part of the row with that key.
pub(super) async fn find(
    link: &Link,
    keys: &Keys,
    table: Table,
    key: &[u8],
    part: Part,
) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes = match (is_hash(table), part) {
        (false, Part::Record) => read(link, keys, table, key, "GET", &[]).await?,
        (false, _) => return Ok(None),
        (true, part) => read(link, keys, table, key, "HGET", &[part.as_str()]).await?,
    };
    let Some(bytes): Option<Vec<u8>> = bytes else { return Ok(None) };
    if part != Part::Record {
        return Ok(Some(bytes));
    }
    Row::read(&bytes).map(|row| Some(row.record.to_vec())).ok_or_else(|| unreadable(key))
}

/// Returns the listed part of the row with that key, if the row is on the list.
pub(super) async fn find_listed(
    link: &Link,
    keys: &Keys,
    list: &List,
    key: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let part = list.table.listed_part();
    let (row, listed): (Option<Vec<u8>>, Option<Vec<u8>>) = if is_hash(list.table) {
        read(link, keys, list.table, key, "HMGET", &[Part::Record.as_str(), part.as_str()]).await?
    } else {
        (read(link, keys, list.table, key, "GET", &[]).await?, None)
    };
    let Some(bytes) = row else { return Ok(None) };
    let row = Row::read(&bytes).ok_or_else(|| unreadable(key))?;
    if !row.lists.contains(&list.name.as_slice()) {
        return Ok(None);
    }
    if part == Part::Record {
        return Ok(Some(row.record.to_vec()));
    }
    listed.map(Some).ok_or_else(|| unreadable(key))
}

async fn read<T: redis::FromRedisValue>(
    link: &Link,
    keys: &Keys,
    table: Table,
    key: &[u8],
    command: &str,
    fields: &[&str],
) -> Result<T, StoreError> {
    let row = keys.row(table, key);
    let mut read = Cmd::new();
    read.arg(command).arg(&row).arg(fields);
    link.read(&row, read).await.map_err(|error| if error.is_wrong_type() { unreadable(key) } else { error.into() })
}

fn unreadable(key: &[u8]) -> StoreError {
    StoreError::unreadable(key, DecodeError::Malformed)
}

/// Returns whether the rows of a table are hashes. Rows of clients have parts, and are hashes with the row in the field
/// `record`; all others are strings.
pub(super) const fn is_hash(table: Table) -> bool {
    matches!(table, Table::Clients)
}
