//! A row as bytes: `Write` without its columns, which nobody can query here, and with its place in the purge index.

use grantor::Timestamp;
use grantor::store::Write;

/// The value of a row's key.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) version: u32,
    pub(crate) due: Option<Timestamp>,
    /// The time of the row's entry in the purge index.
    pub(crate) purge_at: Option<Timestamp>,
    pub(crate) lists: Vec<Vec<u8>>,
    pub(crate) record: Vec<u8>,
}

impl Stored {
    /// Returns the row of an insert.
    pub(crate) fn of(write: Write) -> Self {
        let Write { version, due, lists, record, .. } = write;
        Self { version, due, purge_at: due, lists, record }
    }

    /// Each part has a fixed length or its length in front, and the record is the rest.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.version.to_be_bytes().to_vec();
        for time in [self.due, self.purge_at] {
            bytes.push(time.is_some().into());
            bytes.extend(time.map_or(0, Timestamp::seconds).to_be_bytes());
        }
        // The longest name has 261 bytes.
        let lengths = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
        bytes.extend(lengths(self.lists.len()));
        for name in &self.lists {
            bytes.extend(lengths(name.len()));
            bytes.extend(name);
        }
        bytes.extend(&self.record);
        bytes
    }

    /// Returns `None` for a value that no `encode` wrote.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let version = number(&mut bytes)?;
        let (due, purge_at) = (time(&mut bytes)?, time(&mut bytes)?);
        let mut lists = Vec::new();
        for _ in 0..number(&mut bytes)? {
            let length = usize::try_from(number(&mut bytes)?).ok()?;
            lists.push(bytes.split_off(..length)?.to_vec());
        }
        Some(Self { version, due, purge_at, lists, record: bytes.to_vec() })
    }
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    bytes.split_off(..4)?.try_into().ok().map(u32::from_be_bytes)
}

fn time(bytes: &mut &[u8]) -> Option<Option<Timestamp>> {
    let is_some = *bytes.split_off_first()? == 1;
    let seconds = number(bytes)?;
    Some(is_some.then(|| Timestamp::from_seconds(seconds)))
}
