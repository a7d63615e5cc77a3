//! Rows of authorizations and grants: found by id, written if the version is the one that was seen.

use futures_util::future::try_join;
use redis::Cmd;
use time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::codec::DecodeError;
use crate::entropy::{Entropy, SystemEntropy};
use crate::id::{AuthorizationId, GrantId};
use crate::store::StoreError;
use crate::store::record::{Authorization, Grant, Record, WRITE_BOUND};
use crate::store::redis::check::MOST_APART;
use crate::store::redis::error::RedisError;
use crate::store::redis::keys::{DueEntry, Entry, Written, key};
use crate::store::redis::link::Link;
use crate::store::redis::listed;
use crate::store::redis::options::LONGEST_TIMEOUT;
use crate::store::redis::script::PUT;

/// Sets of due times for each kind of record, so that they lie in several slots of a cluster.
pub(super) const DUE_SETS: usize = 16;
/// How long after it was sent a write of a row may be applied, by the server's clock.
const WRITE_LIFE: Duration = Duration::minutes(20);
const _: () = assert!(
    // Before that at most four entries are written, each by one command or two, which may answer and wait so long.
    16 * LONGEST_TIMEOUT.as_secs() + WRITE_LIFE.unsigned_abs().as_secs() + MOST_APART.unsigned_abs().as_secs()
        < WRITE_BOUND.unsigned_abs().as_secs(),
    "an entry would be dropped before its row is written"
);
/// Octets of the version in front of a row, and of the number of the write behind that.
const VERSION_OCTETS: usize = 4;
const WRITE_OCTETS: usize = 8;

/// A record that is a row of its own.
pub(super) trait Keyed: Record {
    /// The kind of the row's key, of the set of a subject's ids, and of the sets of due times.
    const ROW: &'static str;
    const OF_SUBJECT: &'static str;
    const DUE: &'static str;

    fn name(id: [u8; 16]) -> String;
}

impl Keyed for Authorization {
    const ROW: &'static str = "authorization";
    const OF_SUBJECT: &'static str = "authorizations-of";
    const DUE: &'static str = "authorizations-due";

    fn name(id: [u8; 16]) -> String {
        AuthorizationId::from_octets(id).to_string()
    }
}

impl Keyed for Grant {
    const ROW: &'static str = "grant";
    const OF_SUBJECT: &'static str = "grants-of";
    const DUE: &'static str = "grants-due";

    fn name(id: [u8; 16]) -> String {
        GrantId::from_octets(id).to_string()
    }
}

/// What is under a key.
pub(super) enum Row<R> {
    Missing,
    Found(R),
    /// A record of a later release, or something that is no record.
    Unreadable(DecodeError),
}

/// Returns the row of that id.
pub(super) async fn find<R: Keyed>(link: &Link, prefix: &str, id: [u8; 16]) -> Result<Option<R>, StoreError> {
    match look::<R>(link, prefix, id).await? {
        Row::Missing => Ok(None),
        Row::Found(record) => Ok(Some(record)),
        Row::Unreadable(error) => Err(StoreError::unreadable(&id, error)),
    }
}

/// Looks for the row of that id, and tells one that cannot be read from a failure of the server.
pub(super) async fn look<R: Keyed>(link: &Link, prefix: &str, id: [u8; 16]) -> Result<Row<R>, RedisError> {
    let row = row_key::<R>(prefix, id);
    let mut get = Cmd::new();
    get.arg("GET").arg(&row);
    let octets = match link.read::<Option<Vec<u8>>>(&row, get).await {
        Ok(Some(octets)) => octets,
        Ok(None) => return Ok(Row::Missing),
        Err(error) if error.is_wrong_type() => return Ok(Row::Unreadable(DecodeError::Malformed)),
        Err(error) => return Err(error),
    };
    let record = octets.get(VERSION_OCTETS + WRITE_OCTETS..).ok_or(DecodeError::Malformed);
    Ok(record.and_then(R::decode).map_or_else(Row::Unreadable, Row::Found))
}

/// Adds a row; what lists it and what purges it know of it before it is there.
pub(super) async fn insert<R: Keyed>(link: &Link, prefix: &str, record: &R) -> Result<bool, RedisError> {
    let written = Written::now();
    let entry = Entry { id: record.key().to_vec(), written };
    let subject_key = subject_key(prefix, record);
    try_join(add_due(link, prefix, record, written), listed::add(link, &subject_key, &entry)).await?;
    put(link, prefix, None, record).await
}

/// Puts a row in the place of the one that has its id and `version`.
///
/// In a cluster a primary that is lost may take an entry with it and leave the row. So the entry is looked
/// for at the versions 2, 4, 8 and so on: soon after it was written, and rarely over the years.
pub(super) async fn replace<R: Keyed>(link: &Link, prefix: &str, version: u32, record: &R) -> Result<bool, RedisError> {
    if link.spreads_keys() && record.version().is_power_of_two() {
        let written = Written::now();
        if relist(link, prefix, record, written).await? {
            add_due(link, prefix, record, written).await?;
        }
    }
    put(link, prefix, Some(version), record).await
}

/// Lists a row again under its subject, if it is not; tells whether it was not.
pub(super) async fn relist<R: Keyed>(
    link: &Link,
    prefix: &str,
    record: &R,
    written: Written,
) -> Result<bool, RedisError> {
    let entry = Entry { id: record.key().to_vec(), written };
    listed::add_if_missing(link, &subject_key(prefix, record), &entry).await
}

async fn add_due<R: Keyed>(link: &Link, prefix: &str, record: &R, written: Written) -> Result<(), RedisError> {
    let due = DueEntry { id: *record.key(), written, subject: record.subject().as_str().to_owned() };
    let set = due_key::<R>(prefix, due_set(due.id));
    let mut add = Cmd::new();
    add.arg("ZADD").arg(&set).arg("LT").arg(record.purge_after().seconds()).arg(due.member());
    link.write::<i64>(&set, add).await.map(drop)
}

fn subject_key<R: Keyed>(prefix: &str, record: &R) -> Vec<u8> {
    key(prefix, R::OF_SUBJECT, record.subject().as_str())
}

async fn put<R: Keyed>(link: &Link, prefix: &str, seen: Option<u32>, record: &R) -> Result<bool, RedisError> {
    let row = [&write_header(record.version())[..], &record.encode()].concat();
    let expires = record.purge_after().seconds().to_string();
    let (last, seen) = (last_second(), seen.map(u32::to_be_bytes));
    let seen = seen.as_ref().map_or(&[][..], <[u8; 4]>::as_slice);
    let arguments = [last.as_bytes(), expires.as_bytes(), &row, seen];
    PUT.run(link, &row_key::<R>(prefix, *record.key()), &arguments).await
}

/// The version, and a number that no other write has.
pub(super) fn write_header(version: u32) -> [u8; VERSION_OCTETS + WRITE_OCTETS] {
    let mut header = [0; VERSION_OCTETS + WRITE_OCTETS];
    let (front, own) = header.split_at_mut(VERSION_OCTETS);
    front.copy_from_slice(&version.to_be_bytes());
    SystemEntropy.fill(own);
    header
}

/// The last second of the server's clock at which a write that begins now may be applied.
pub(super) fn last_second() -> String {
    SystemClock.now().plus(WRITE_LIFE).seconds().to_string()
}

pub(super) fn row_key<R: Keyed>(prefix: &str, id: [u8; 16]) -> Vec<u8> {
    key(prefix, R::ROW, &R::name(id))
}

pub(super) fn due_key<R: Keyed>(prefix: &str, set: usize) -> Vec<u8> {
    key(prefix, R::DUE, &set.to_string())
}

fn due_set(id: [u8; 16]) -> usize {
    let [.., last] = id;
    usize::from(last) % DUE_SETS
}
