//! Any number of grants, as bytes and as records. All are of one client, and each has its own user.

use std::sync::Arc;

use grantor::store::{Grant, Record};
use grantor::testing::records;
use grantor::{Subject, Timestamp};

/// Where `Grant::encode` writes the id and, behind it, the version; the client with its length, the
/// epoch, the flag and the length of the subject follow.
const ID: usize = 2;
const VERSION: usize = 18;
const CLIENT: usize = 22;
/// The length of a user's name, which is the number of the grant in hexadecimal digits.
const SUBJECT: usize = 16;
/// Grants of one time bucket. Their ids are close together, in no order.
const TOGETHER: u64 = 5_000;
/// When they may be purged.
pub(crate) const PURGE_AFTER: Timestamp = Timestamp::from_seconds(2_000_000_000);

/// A grant with its first pair, and after a refresh, with the previous pair in grace.
pub(crate) struct Grants {
    client: String,
    new: Template,
    refreshed: Template,
}

impl Grants {
    pub(crate) fn new() -> Self {
        let subject = Subject::new("x".repeat(SUBJECT)).unwrap();
        let new = records::grant(&subject, PURGE_AFTER);
        let client = new.client().as_str().to_owned();
        Self { client, refreshed: Template::of(&records::refreshed(&new, PURGE_AFTER)), new: Template::of(&new) }
    }

    /// The client that has all of them.
    pub(crate) fn client(&self) -> &str {
        &self.client
    }

    /// Version 1 of a grant.
    pub(crate) fn new_bytes(&self, number: u64) -> Vec<u8> {
        self.new.bytes(number, 1)
    }

    /// A later version of it.
    pub(crate) fn refreshed_bytes(&self, number: u64, version: u32) -> Vec<u8> {
        self.refreshed.bytes(number, version)
    }

    pub(crate) fn new_grant(&self, number: u64) -> Arc<Grant> {
        Arc::new(Grant::decode(&self.new_bytes(number)).unwrap())
    }

    pub(crate) fn refreshed_grant(&self, number: u64, version: u32) -> Arc<Grant> {
        Arc::new(Grant::decode(&self.refreshed_bytes(number, version)).unwrap())
    }
}

/// The version of a record in its bytes.
pub(crate) fn version(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[VERSION..CLIENT].try_into().unwrap())
}

/// Four bytes of time, twelve that look random, as a server draws them.
pub(crate) fn id(number: u64) -> [u8; 16] {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&((number / TOGETHER) as u32).to_be_bytes());
    id[4..12].copy_from_slice(&mixed(number).to_be_bytes());
    id[12..].copy_from_slice(&(number as u32).to_be_bytes());
    id
}

pub(crate) fn subject(number: u64) -> String {
    format!("{:0SUBJECT$x}", mixed(!number))
}

/// Maps each number to a different one, in no order.
pub(crate) fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

struct Template {
    bytes: Vec<u8>,
    subject: usize,
}

impl Template {
    fn of(grant: &Grant) -> Self {
        let bytes = grant.encode();
        let subject = CLIENT + 4 + grant.client().as_str().len() + 4 + 1 + 4;
        assert_eq!(&bytes[subject..subject + SUBJECT], grant.subject().unwrap().as_str().as_bytes());
        Self { bytes, subject }
    }

    fn bytes(&self, number: u64, version: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[ID..VERSION].copy_from_slice(&id(number));
        bytes[VERSION..CLIENT].copy_from_slice(&version.to_be_bytes());
        bytes[self.subject..self.subject + SUBJECT].copy_from_slice(subject(number).as_bytes());
        bytes
    }
}
