//! The names of keys, and the members of the sets that are indexes.
//!
//! An entry of an index is written before the row that it stands for, and may outlive it. So it carries
//! the time at which it was written: an entry without a row is dropped when it is older than the hour
//! within which a write is applied or never. A later attempt writes an entry of its own, so that dropping
//! the old one takes nothing from it.

use crate::clock::{Clock, SystemClock, Timestamp};
use crate::store::record::WRITE_BOUND;

/// Seconds that share one time of writing: a code that is sent again and again adds few entries.
const BUCKET_SECONDS: u32 = 1024;
/// Stands behind an id, below every octet that the id of a client has.
const END_OF_ID: u8 = 0;

/// The key of something by its kind and name.
pub(super) fn key(prefix: &str, kind: &str, name: &str) -> Vec<u8> {
    format!("{prefix}:{kind}:{name}").into_bytes()
}

/// When an entry was written, in steps of 1024 seconds of this machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written(u32);

impl Written {
    pub(super) fn now() -> Self {
        Self(SystemClock.now().seconds() / BUCKET_SECONDS)
    }

    pub(super) const fn from_octets(octets: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(octets))
    }

    pub(super) const fn octets(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Tells whether every write that was begun with this entry has been applied, or never will be.
    pub(super) fn is_over(self) -> bool {
        let end = self.0.saturating_add(1).saturating_mul(BUCKET_SECONDS);
        SystemClock.now() > Timestamp::from_seconds(end).plus(WRITE_BOUND)
    }
}

/// A member of a set of ids, in whose order it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Vec<u8>,
    pub(super) written: Written,
}

impl Entry {
    pub(super) fn member(&self) -> Vec<u8> {
        let mut member = self.id.clone();
        member.push(END_OF_ID);
        member.extend(self.written.octets());
        member
    }

    pub(super) fn from_member(member: &[u8]) -> Option<Self> {
        let (rest, written) = member.split_last_chunk()?;
        let (end, id) = rest.split_last()?;
        (*end == END_OF_ID).then(|| Self { id: id.to_vec(), written: Written::from_octets(*written) })
    }

    /// The bounds of a range that holds all entries of this id.
    pub(super) fn of_its_id(&self) -> [Vec<u8>; 2] {
        [(b"[", END_OF_ID), (b"(", END_OF_ID + 1)].map(|(kind, end)| [kind, self.id.as_slice(), &[end]].concat())
    }

    /// The bound of a range that begins behind all entries of `id`, or with the first of all.
    pub(super) fn after(id: Option<&[u8]>) -> Vec<u8> {
        id.map_or_else(|| b"-".to_vec(), |id| [b"[", id, &[END_OF_ID + 1]].concat())
    }
}

/// A member of a set of due times: what has to be known when the row is gone already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DueEntry {
    pub(super) id: [u8; 16],
    pub(super) written: Written,
    pub(super) subject: String,
}

impl DueEntry {
    pub(super) fn member(&self) -> Vec<u8> {
        [&self.id[..], &self.written.octets(), self.subject.as_bytes()].concat()
    }

    pub(super) fn from_member(member: &[u8]) -> Option<Self> {
        let (id, rest) = member.split_first_chunk()?;
        let (written, subject) = rest.split_first_chunk()?;
        let subject = std::str::from_utf8(subject).ok()?.to_owned();
        Some(Self { id: *id, written: Written::from_octets(*written), subject })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_the_order_of_their_ids() {
        let written = [Written(0), Written(1), Written(u32::MAX)];
        let ids: [&[u8]; 4] = [b"a", b"a b", b"ab", b"a~"];
        let members: Vec<_> =
            ids.iter().flat_map(|id| written.map(|written| Entry { id: id.to_vec(), written }.member())).collect();
        assert!(members.is_sorted());
        for (place, id) in ids.iter().enumerate() {
            let bound = Entry::after(Some(id));
            let (inclusive, bound) = bound.split_first().unwrap();
            assert_eq!(*inclusive, b'[');
            let after = members.iter().filter(|member| member.as_slice() >= bound).count();
            assert_eq!(after, (ids.len() - place - 1) * written.len(), "{id:?}");
        }
    }

    #[test]
    fn members_are_read_as_they_were_written() {
        let entry = Entry { id: vec![0, 0xff, 0, 7], written: Written(0x0102_0304) };
        assert_eq!(Entry::from_member(&entry.member()), Some(entry));
        let due = DueEntry { id: [0xff; 16], written: Written(7), subject: "alice\u{202e}".to_owned() };
        assert_eq!(DueEntry::from_member(&due.member()), Some(due));
        assert_eq!(Entry::from_member(b"abc"), None);
        assert_eq!(DueEntry::from_member(&[0; 19]), None);
    }

    #[test]
    fn an_entry_is_over_an_hour_after_the_last_write_with_it() {
        let now = SystemClock.now().seconds();
        let written = |ago: u32| Written((now - ago) / BUCKET_SECONDS);
        assert!(!Written::now().is_over());
        assert!(!written(3600).is_over());
        assert!(written(3600 + BUCKET_SECONDS + 60).is_over());
        assert!(!Written(u32::MAX).is_over());
    }
}
