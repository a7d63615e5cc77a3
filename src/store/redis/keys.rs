//! The names of keys, and the members of the sorted sets that are indexes.
//!
//! An index entry is written before its row, and may outlive it. So it carries the time at which it was written. A
//! write is applied within an hour or never: an entry without a row is dropped when it is older than that. A later
//! attempt writes its own entry, which is not affected.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::model::WRITE_BOUND;
use crate::store::{Table, Write};

/// Sets of due times for each table, so that they lie in several slots of a cluster.
pub(super) const DUE_SETS: usize = 16;
/// Times of writing are counted in steps of this many seconds, so that an insert that is retried often adds few
/// entries.
const BUCKET_SECONDS: u32 = 1024;
/// Separates the key of a row from the rest of an index entry. It is below every byte of a client id; the keys of any
/// other table with lists all have the same length.
const END_OF_KEY: u8 = 0;

/// The names of all keys of one store.
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) const fn new(prefix: String) -> Self {
        Self { prefix }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the key that holds the version of the layout of all keys.
    pub(super) fn layout(&self) -> Vec<u8> {
        format!("{}:layout", self.prefix).into_bytes()
    }

    /// Returns the key of a row: a client id as it is, any other key as base64url.
    pub(super) fn row(&self, table: Table, key: &[u8]) -> Vec<u8> {
        if table == Table::Applications {
            return self.key(table, ":", key);
        }
        self.key(table, ":", URL_SAFE_NO_PAD.encode(key).as_bytes())
    }

    /// Returns the key of the set of a list's entries.
    pub(super) fn list(&self, table: Table, name: &[u8]) -> Vec<u8> {
        self.key(table, "-list:", name)
    }

    /// Returns the key of one of the sets of a table's due times.
    pub(super) fn due(&self, table: Table, set: usize) -> Vec<u8> {
        self.key(table, "-due:", set.to_string().as_bytes())
    }

    fn key(&self, table: Table, kind: &str, name: &[u8]) -> Vec<u8> {
        [self.prefix.as_bytes(), b":", table.as_str().as_bytes(), kind.as_bytes(), name].concat()
    }
}

/// When an entry was written, in steps of 1024 seconds of this machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written(u32);

impl Written {
    pub(super) fn now() -> Self {
        Self(SystemClock.now().seconds() / BUCKET_SECONDS)
    }

    const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }

    const fn bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Returns whether every write that began with this entry has been applied, or never will be.
    pub(super) fn is_settled(self) -> bool {
        let end = self.0.saturating_add(1).saturating_mul(BUCKET_SECONDS);
        SystemClock.now() > Timestamp::from_seconds(end).plus(WRITE_BOUND)
    }
}

/// A member of the set of a list, in the order of the keys of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    pub(super) written: Written,
}

impl Entry {
    pub(super) fn member(&self) -> Vec<u8> {
        [self.key.as_slice(), &[END_OF_KEY], &self.written.bytes()].concat()
    }

    pub(super) fn from_member(member: &[u8]) -> Option<Self> {
        let (rest, written) = member.split_last_chunk()?;
        let (end, key) = rest.split_last()?;
        (*end == END_OF_KEY).then(|| Self { key: key.to_vec(), written: Written::from_bytes(*written) })
    }

    /// Returns the bounds of a range that holds all entries of this key.
    pub(super) fn of_its_key(&self) -> [Vec<u8>; 2] {
        [(b"[", END_OF_KEY), (b"(", END_OF_KEY + 1)].map(|(kind, end)| [kind, self.key.as_slice(), &[end]].concat())
    }

    /// Returns the bound of a range that begins after all entries of `key`, or with the first of all.
    pub(super) fn after(key: Option<&[u8]>) -> Vec<u8> {
        key.map_or_else(|| b"-".to_vec(), |key| [b"[", key, &[END_OF_KEY + 1]].concat())
    }
}

/// A member of a set of due times. It contains what must be known once the row is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DueEntry {
    pub(super) written: Written,
    pub(super) key: Vec<u8>,
    pub(super) lists: Vec<Vec<u8>>,
}

impl DueEntry {
    pub(super) fn of(write: &Write, written: Written) -> Self {
        Self { written, key: write.key.clone(), lists: write.lists.clone() }
    }

    /// Returns which of the sets of its table the entry is in, by the random end of its key.
    pub(super) fn set(&self) -> usize {
        self.key.last().map_or(0, |last| usize::from(*last) % DUE_SETS)
    }

    pub(super) fn member(&self) -> Vec<u8> {
        let mut member = self.written.bytes().to_vec();
        push_text(&mut member, &self.key);
        self.lists.iter().for_each(|list| push_text(&mut member, list));
        member
    }

    pub(super) fn from_member(member: &[u8]) -> Option<Self> {
        let (written, texts) = member.split_first_chunk()?;
        let mut texts = read_texts(texts)?.into_iter().map(<[u8]>::to_vec);
        Some(Self { written: Written::from_bytes(*written), key: texts.next()?, lists: texts.collect() })
    }
}

/// Adds a key or the name of a list with its length before it. Neither has more than 261 bytes.
pub(super) fn push_text(to: &mut Vec<u8>, text: &[u8]) {
    to.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    to.extend(text);
}

/// Reads all keys and names to the end of the bytes.
pub(super) fn read_texts(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        texts.push(text);
        bytes = rest;
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_the_order_of_their_keys() {
        let written = [Written(0), Written(1), Written(u32::MAX)];
        let keys: [&[u8]; 4] = [b"a", b"a b", b"ab", b"a~"];
        let members: Vec<_> =
            keys.iter().flat_map(|key| written.map(|written| Entry { key: key.to_vec(), written }.member())).collect();
        assert!(members.is_sorted());
        for (place, key) in keys.iter().enumerate() {
            let bound = Entry::after(Some(key));
            let (inclusive, bound) = bound.split_first().unwrap();
            assert_eq!(*inclusive, b'[');
            let after = members.iter().filter(|member| member.as_slice() >= bound).count();
            assert_eq!(after, (keys.len() - place - 1) * written.len(), "{key:?}");
        }
    }

    #[test]
    fn keys_are_named_after_their_tables() {
        let keys = Keys::new("own".to_owned());
        assert_eq!(keys.row(Table::Applications, b"an id"), b"own:applications:an id");
        assert_eq!(keys.row(Table::Grants, &[0xff; 16]), b"own:grants:_____________________w");
        assert_eq!(keys.list(Table::Grants, b"alice"), b"own:grants-list:alice");
        assert_eq!(keys.due(Table::Replays, 15), b"own:replays-due:15");
    }

    #[test]
    fn members_are_read_as_they_were_written() {
        let entry = Entry { key: vec![0, 0xff, 0, 7], written: Written(0x0102_0304) };
        assert_eq!(Entry::from_member(&entry.member()), Some(entry));
        for lists in [&[][..], &[b"alice".to_vec()], &[vec![0xff; 261], Vec::new()]] {
            let due = DueEntry { written: Written(7), key: vec![0xff; 32], lists: lists.to_vec() };
            assert_eq!(DueEntry::from_member(&due.member()), Some(due));
        }
        assert_eq!(Entry::from_member(b"abc"), None);
        assert_eq!(DueEntry::from_member(&[0; 4]), None);
        assert_eq!(DueEntry::from_member(&[0, 0, 0, 7, 0, 9, 1]), None);
    }

    #[test]
    fn an_entry_is_settled_an_hour_after_the_last_write_with_it() {
        let now = SystemClock.now().seconds();
        let written = |ago: u32| Written((now - ago) / BUCKET_SECONDS);
        assert!(!Written::now().is_settled());
        assert!(!written(3600).is_settled());
        assert!(written(3600 + BUCKET_SECONDS + 60).is_settled());
        assert!(!Written(u32::MAX).is_settled());
    }
}
