//! What the scripts answer to a write that is sent twice, or comes too late.

use crate::redis::raw::Raw;
use support_servers::servers::redis::Server;

const PUT: &str = include_str!("../../../../../src/store/redis/put.lua");
const CONFIRM: &str = include_str!("../../../../../src/store/redis/confirm.lua");
const REMOVE: &str = include_str!("../../../../../src/store/redis/remove.lua");
/// A second that lies far ahead.
const LATE: &[u8] = b"4000000000";
const KEY: &[u8] = b"row";
/// A row of that version, number and due time, as the store writes it.
fn row(version: u8, number: &[u8; 8], due: u32, record: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, version], &number[..], &due.to_be_bytes(), &counted(record)].concat()
}

fn counted(record: &[u8]) -> Vec<u8> {
    [&u32::try_from(record.len()).unwrap().to_be_bytes(), record].concat()
}

fn put(raw: &mut Raw, last: &[u8], row: &[u8], seen: &[u8]) -> i64 {
    raw.ask(&[b"EVAL", PUT.as_bytes(), b"1", KEY, last, seen, LATE, row])
}

#[test]
#[ignore = "starts Redis servers"]
fn a_write_that_is_sent_twice_is_answered_twice_the_same() {
    let server = Server::start();
    let mut raw = Raw::to(&server);
    let first = row(1, b"first---", 9, b"record 1");
    let second = row(2, b"second--", 9, b"record 2");
    let rival = row(2, b"rival---", 9, b"record 2");
    assert_eq!([put(&mut raw, LATE, &first, b""), put(&mut raw, LATE, &first, b"")], [1, 1]);
    assert_eq!(put(&mut raw, LATE, &rival, b""), 0, "there is a row");
    assert_eq!([put(&mut raw, LATE, &second, b"\0\0\0\x01"), put(&mut raw, LATE, &second, b"\0\0\0\x01")], [1, 1]);
    assert_eq!(put(&mut raw, LATE, &rival, b"\0\0\0\x01"), 0, "the version has another winner");
    assert_eq!(put(&mut raw, LATE, &first, b""), 0, "the first write is no longer what is there");
    assert_eq!(raw.ask::<Vec<u8>>(&[b"GET", KEY]), second);
    // A write that another caller confirmed in between is still its caller's own.
    let same: i64 = raw.ask(&[b"EVAL", CONFIRM.as_bytes(), b"1", KEY, &second[..4], &counted(b"record 2")]);
    assert_eq!([same, put(&mut raw, LATE, &second, b"\0\0\0\x01")], [1, 1]);
}

#[test]
#[ignore = "starts Redis servers"]
fn a_confirm_compares_version_and_record() {
    let server = Server::start();
    let mut raw = Raw::to(&server);
    let there = row(1, b"number--", u32::MAX, b"client");
    assert_eq!(put(&mut raw, LATE, &there, b""), 1);
    let mut confirm = |version: &[u8], record: &[u8]| -> i64 {
        raw.ask(&[b"EVAL", CONFIRM.as_bytes(), b"1", KEY, version, &counted(record)])
    };
    assert_eq!(confirm(&there[..4], b"client"), 1);
    assert_eq!(confirm(&there[..4], b"client"), 1);
    assert_eq!(confirm(b"\0\0\0\x02", b"client"), 0);
    assert_eq!(confirm(&there[..4], b"clienT"), 0);
    assert_eq!(confirm(&there[..4], b"clien"), 0);
}

#[test]
#[ignore = "starts Redis servers"]
fn a_row_is_removed_only_when_it_is_due() {
    let server = Server::start();
    let mut raw = Raw::to(&server);
    let remove = |raw: &mut Raw, now: &[u8]| -> i64 { raw.ask(&[b"EVAL", REMOVE.as_bytes(), b"1", KEY, now]) };
    assert_eq!(remove(&mut raw, LATE), -1);
    assert_eq!(put(&mut raw, LATE, &row(1, b"number--", 3_000_000_000, b"record"), b""), 1);
    assert_eq!(remove(&mut raw, b"2999999999"), 3_000_000_000);
    assert_eq!([remove(&mut raw, b"3000000000"), remove(&mut raw, b"3000000000")], [0, -1]);
    let _: String = raw.ask(&[b"SET", KEY, b"fifteen bytes.."]);
    assert_eq!(remove(&mut raw, LATE), -2);
}

#[test]
#[ignore = "starts Redis servers"]
fn a_write_that_comes_too_late_is_not_applied() {
    let server = Server::start();
    let mut raw = Raw::to(&server);
    assert_eq!(put(&mut raw, b"1000000000", &row(1, b"first---", 9, b"record 1"), b""), -1);
    assert_eq!(raw.ask::<i64>(&[b"EXISTS", KEY]), 0);
}
