//! What the scripts answer to a write that is sent twice, or comes too late.

use crate::raw::Raw;
use crate::servers::Server;

const PUT: &str = include_str!("../../src/store/redis/put.lua");
const REGISTER: &str = include_str!("../../src/store/redis/register.lua");
/// A second that lies far ahead.
const LATE: &[u8] = b"4000000000";
const KEY: &[u8] = b"row";

fn put(raw: &mut Raw, last: &[u8], row: &[u8], seen: &[u8]) -> i64 {
    raw.ask(&[b"EVAL", PUT.as_bytes(), b"1", KEY, last, LATE, row, seen])
}

#[test]
#[ignore = "starts Redis servers"]
fn a_write_that_is_sent_twice_is_answered_twice_the_same() {
    let server = Server::start();
    let mut raw = Raw::to(&server);
    let first: &[u8] = b"\0\0\0\x01first---record 1";
    let second: &[u8] = b"\0\0\0\x02second--record 2";
    let rival: &[u8] = b"\0\0\0\x02rival---record 2";
    assert_eq!([put(&mut raw, LATE, first, b""), put(&mut raw, LATE, first, b"")], [1, 1]);
    assert_eq!(put(&mut raw, LATE, rival, b""), 0, "there is a row");
    assert_eq!([put(&mut raw, LATE, second, b"\0\0\0\x01"), put(&mut raw, LATE, second, b"\0\0\0\x01")], [1, 1]);
    assert_eq!(put(&mut raw, LATE, rival, b"\0\0\0\x01"), 0, "the version has another winner");
    assert_eq!(put(&mut raw, LATE, first, b""), 0, "the first write is no longer what is there");
    assert_eq!(raw.ask::<Vec<u8>>(&[b"GET", KEY]), second);
}

#[test]
#[ignore = "starts Redis servers"]
fn a_registration_that_is_sent_twice_is_answered_twice_the_same() {
    let server = Server::start();
    let mut raw = Raw::to(&server);
    let mut register = |last: &[u8], header: &[u8], seen: &[u8], logo: [&[u8]; 2]| -> i64 {
        let keep: &[u8] = b"keep";
        let arguments = [last, header, seen, b"client", b"application", logo[0], logo[1], keep, b""];
        raw.ask(&[&[b"EVAL", REGISTER.as_bytes(), b"1", KEY][..], &arguments].concat())
    };
    let (first, second): (&[u8], &[u8]) = (b"\0\0\0\x01first---", b"\0\0\0\x02second--");
    assert_eq!(register(b"1000000000", first, b"", [b"keep", b""]), -1);
    assert_eq!(register(LATE, first, b"", [b"put", b"logo"]), 1);
    assert_eq!(register(LATE, first, b"", [b"put", b"logo"]), 1);
    assert_eq!(register(LATE, second, b"", [b"keep", b""]), 0);
    assert_eq!(register(LATE, second, b"\0\0\0\x01", [b"clear", b""]), 1);
    assert_eq!(register(LATE, second, b"\0\0\0\x01", [b"clear", b""]), 1);
    assert_eq!(register(LATE, first, b"\0\0\0\x01", [b"keep", b""]), 0);
    let fields: Vec<String> = raw.ask(&[b"HKEYS", KEY]);
    assert_eq!(fields, ["write", "client", "application"]);
}

#[test]
#[ignore = "starts Redis servers"]
fn a_write_that_comes_too_late_is_not_applied() {
    let server = Server::start();
    let mut raw = Raw::to(&server);
    assert_eq!(put(&mut raw, b"1000000000", b"\0\0\0\x01first---record 1", b""), -1);
    assert_eq!(raw.ask::<i64>(&[b"EXISTS", KEY]), 0);
}
