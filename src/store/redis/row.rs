//! Rows, each of which is the whole value of its key.
//!
//! ```text
//! version (4) | number of the write (8) | due (4) | length (4) and record | length (2) and name of each list
//! ```
//!
//! Lists and purges read what they need from here and decode no record.

use redis::Cmd;

use crate::base::clock::Timestamp;
use crate::base::codec::DecodeError;
use crate::base::entropy::{Entropy, SystemEntropy};
use crate::store::redis::keys::{push_text, read_texts};
use crate::store::redis::link::Link;
use crate::store::{StoreError, Table, Write};

/// Bytes before the length of the record.
const HEADER_LENGTH: usize = 16;
/// The time in a row that is never due.
const NEVER: Timestamp = Timestamp::from_seconds(u32::MAX);

/// Returns the record of the row with that key, if the row is one of those wanted.
pub(super) async fn find(
    link: &Link,
    table: Table,
    key: &[u8],
    is_wanted: impl Fn(&Row<'_>) -> bool,
) -> Result<Option<Vec<u8>>, StoreError> {
    let unreadable = || StoreError::unreadable(key, DecodeError::Malformed);
    let name = link.keys.row(table, key);
    let mut get = Cmd::new();
    get.arg("GET").arg(&name);
    let found: Option<Vec<u8>> = match link.read(&name, get).await {
        Err(error) if error.is_wrong_type() => return Err(unreadable()),
        found => found?,
    };
    let Some(bytes) = found else { return Ok(None) };
    let row = Row::read(&bytes).ok_or_else(unreadable)?;
    Ok(is_wanted(&row).then(|| row.record.to_vec()))
}

/// What a reader needs of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) record: &'a [u8],
    pub(super) lists: Vec<&'a [u8]>,
}

impl<'a> Row<'a> {
    /// Reads a row; `None` if the bytes are no row.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.get(HEADER_LENGTH..)?.split_first_chunk()?;
        let (record, lists) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        Some(Self { record, lists: read_texts(lists)? })
    }
}

/// Returns the row of a write, with a number that no other write has.
pub(super) fn row_of(write: &Write) -> Vec<u8> {
    let mut number = [0; 8];
    SystemEntropy.fill(&mut number);
    let due = write.due.unwrap_or(NEVER).seconds();
    let lists: usize = write.lists.iter().map(|list| 2 + list.len()).sum();
    let mut row = Vec::with_capacity(HEADER_LENGTH + 4 + write.record.len() + lists);
    row.extend(write.version.to_be_bytes());
    row.extend(number);
    row.extend(due.to_be_bytes());
    push_record(&mut row, &write.record);
    write.lists.iter().for_each(|list| push_text(&mut row, list));
    row
}

/// Adds a record with its length before it.
pub(super) fn push_record(to: &mut Vec<u8>, record: &[u8]) {
    // Records are much smaller than 4 GiB.
    to.extend(u32::try_from(record.len()).unwrap_or(u32::MAX).to_be_bytes());
    to.extend(record);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Columns, Table};

    fn write(lists: &[&[u8]]) -> Write {
        Write {
            table: Table::Grants,
            key: vec![7; 16],
            version: 0x0102_0304,
            record: b"record".to_vec(),
            lists: lists.iter().map(|list| list.to_vec()).collect(),
            due: Some(Timestamp::from_seconds(0x0506_0708)),
            due_moved: false,
            columns: Columns::default(),
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let lists: [&[&[u8]]; 3] = [&[], &[b"alice"], &[b"all", b"", b"owner:alice"]];
        for lists in lists {
            let row = row_of(&write(lists));
            assert_eq!(Row::read(&row), Some(Row { record: b"record", lists: lists.to_vec() }));
            assert_eq!((&row[..4], &row[12..16]), (&[1, 2, 3, 4][..], &[5, 6, 7, 8][..]));
        }
        let stays = row_of(&Write { due: None, ..write(&[]) });
        assert_eq!(stays[12..16], [0xff; 4]);
    }

    #[test]
    fn no_two_writes_share_a_number() {
        let [one, other] = [(); 2].map(|()| row_of(&write(&[])));
        assert_ne!(one[4..12], other[4..12]);
    }

    #[test]
    fn what_is_cut_off_is_no_row() {
        let row = row_of(&write(&[b"alice"]));
        let without_lists = HEADER_LENGTH + 4 + b"record".len();
        for cut in (0..row.len()).filter(|cut| *cut != without_lists) {
            assert_eq!(Row::read(&row[..cut]), None, "cut to {cut}");
        }
    }
}
