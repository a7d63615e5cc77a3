//! Reading rows, by key or as members of a list.

use redis::Cmd;

use crate::model::codec::DecodeError;
use crate::store::redis::keys::Keys;
use crate::store::redis::link::Link;
use crate::store::redis::row::Row;
use crate::store::{List, StoreError, Table};

/// Returns the record of the row with that key.
pub(super) async fn find(link: &Link, keys: &Keys, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(bytes) = read(link, keys, table, key).await? else { return Ok(None) };
    let row = Row::read(&bytes).ok_or_else(|| unreadable(key))?;
    Ok(Some(row.record.to_vec()))
}

/// Returns the record of the row with that key, if the row is on the list.
pub(super) async fn find_listed(
    link: &Link,
    keys: &Keys,
    list: &List,
    key: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(bytes) = read(link, keys, list.table, key).await? else { return Ok(None) };
    let row = Row::read(&bytes).ok_or_else(|| unreadable(key))?;
    Ok(row.lists.contains(&list.name.as_slice()).then(|| row.record.to_vec()))
}

async fn read(link: &Link, keys: &Keys, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    let row = keys.row(table, key);
    let mut read = Cmd::new();
    read.arg("GET").arg(&row);
    link.read(&row, read).await.map_err(|error| if error.is_wrong_type() { unreadable(key) } else { error.into() })
}

fn unreadable(key: &[u8]) -> StoreError {
    StoreError::unreadable(key, DecodeError::Malformed)
}
