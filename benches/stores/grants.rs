//! Grants in any number, as octets and as records: all of one client, each of a user of its own.

use std::sync::Arc;

use grantor::store::Grant;
use grantor::testing::records;
use grantor::{Subject, Timestamp};

/// Where `Grant::encode` writes the id and, behind it, the version; the client with its length, the
/// epoch, the flag and the length of the subject follow.
const ID: usize = 2;
const VERSION: usize = 18;
const CLIENT: usize = 22;
/// Letters of a user's name: a number of its grant in hexadecimal digits.
const SUBJECT: usize = 16;
/// Grants of one bucket of time, whose ids lie together in no order.
const TOGETHER: u64 = 5_000;
/// When they may be purged.
pub(crate) const PURGE_AFTER: Timestamp = Timestamp::from_seconds(2_000_000_000);

/// A grant with its first pair, and as a refresh leaves it: with the pair before in grace.
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
    pub(crate) fn new_octets(&self, number: u64) -> Vec<u8> {
        self.new.octets(number, 1)
    }

    /// A later version of it.
    pub(crate) fn refreshed_octets(&self, number: u64, version: u32) -> Vec<u8> {
        self.refreshed.octets(number, version)
    }

    pub(crate) fn new_grant(&self, number: u64) -> Arc<Grant> {
        Arc::new(Grant::decode(&self.new_octets(number)).unwrap())
    }

    pub(crate) fn refreshed_grant(&self, number: u64, version: u32) -> Arc<Grant> {
        Arc::new(Grant::decode(&self.refreshed_octets(number, version)).unwrap())
    }
}

/// The version of a record in its octets.
pub(crate) fn version(octets: &[u8]) -> u32 {
    u32::from_be_bytes(octets[VERSION..CLIENT].try_into().unwrap())
}

/// Four octets of time, twelve that look random, as a server draws them.
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

/// Every number gives another one, in no order.
pub(crate) fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

struct Template {
    octets: Vec<u8>,
    subject: usize,
}

impl Template {
    fn of(grant: &Grant) -> Self {
        let octets = grant.encode();
        let subject = CLIENT + 4 + grant.client().as_str().len() + 4 + 1 + 4;
        assert_eq!(&octets[subject..subject + SUBJECT], grant.subject().unwrap().as_str().as_bytes());
        Self { octets, subject }
    }

    fn octets(&self, number: u64, version: u32) -> Vec<u8> {
        let mut octets = self.octets.clone();
        octets[ID..VERSION].copy_from_slice(&id(number));
        octets[VERSION..CLIENT].copy_from_slice(&version.to_be_bytes());
        octets[self.subject..self.subject + SUBJECT].copy_from_slice(subject(number).as_bytes());
        octets
    }
}
