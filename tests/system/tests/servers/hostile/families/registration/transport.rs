//! Sizes, framing, media types, methods and delays.

use super::{LIMIT, PATH, post, sound};
use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::{delays, framing, media_types, methods};
use support_servers::http::{Request, Then};

/// Bodies at the limit, beyond it, and endless ones.
pub(super) fn sizes() -> Vec<Case> {
    let sound = sound().to_string();
    let padded = |length: usize| format!("{sound}{}", " ".repeat(length - sound.len()));
    let too_large: &[u16] = &[413, CLOSED];
    let mut cases = Vec::new();
    for (length, statuses) in [
        (LIMIT - 1, &[201][..]),
        (LIMIT, &[201]),
        (LIMIT + 1, too_large),
        (65_536, too_large),
        (65_537, too_large),
        (1 << 20, too_large),
    ] {
        cases.push(Case::new(format!("{length} bytes"), post(padded(length)), statuses));
        for chunk in [1_000, length] {
            cases.push(Case::new(
                format!("{length} bytes in chunks of {chunk}"),
                post(padded(length)).chunked(chunk),
                statuses,
            ));
        }
        let unread =
            format!("{{{},\"h0st1le\":\"{}\"}}", &sound[1..sound.len() - 1], "x".repeat(length - sound.len() - 13));
        assert_eq!(unread.len(), length);
        cases.push(Case::new(format!("a text of {length} bytes"), post(unread), statuses));
    }
    let head = post("").head();
    for length in ["1000000000000", "9223372036854775807", "18446744073709551615"] {
        let bytes = [head.clone(), format!("Content-Length: {length}\r\n\r\n").into_bytes()].concat();
        cases.push(Case::new(format!("{length} bytes"), bytes, &[400, 413, 431, CLOSED]).then(Then::Flood));
    }
    for size in ["fffffff0", "7fffffffffffffff"] {
        let bytes = [head.clone(), format!("Transfer-Encoding: chunked\r\n\r\n{size}\r\n").into_bytes()].concat();
        cases.push(Case::new(format!("a chunk of {size}"), bytes, too_large).then(Then::Flood));
    }
    let tiny = [head, b"Transfer-Encoding: chunked\r\n\r\n".to_vec(), b"1\r\n \r\n".repeat(70_000)].concat();
    cases.push(Case::new("70000 chunks", tiny, too_large));
    for (piece, count) in [("\"h0st1le{}\":1,", 1_000), ("\"h0st1le{}\":[[],[]],", 500)] {
        let many: String = (0..count).map(|number| piece.replace("{}", &number.to_string())).collect();
        cases.push(Case::new(format!("{count} members"), post(format!("{{{many}{}", &sound[1..])), &[201, 413]));
    }
    cases
}

/// Framing, media types and methods, as at the other endpoints.
pub(super) fn cases() -> Vec<Case> {
    let sound = sound().to_string();
    let mut cases = framing::bodies(PATH, &post("").head());
    for value in media_types::TYPES {
        let is_json = value.starts_with(b"application/json");
        let name = format!("{PATH} {}", value.escape_ascii());
        let request = Request::new("POST", PATH).header("Content-Type", value).body(&sound);
        cases.push(Case::new(name, request, if is_json { &[201] } else { &[400] }));
    }
    let bare = Request::new("POST", PATH).body(&sound);
    cases.push(Case::new("no type", bare, &[400]));
    cases.push(Case::new("two types", post(&sound).header("Content-Type", "application/json"), &[400]));
    cases.push(Case::new("an encoded body", post(&sound).header("Content-Encoding", "gzip"), &[201, 400]));
    for method in methods::METHODS.into_iter().chain(["GET"]).filter(|method| *method != "OPTIONS") {
        let request = Request::new(method, format!("{PATH}?h0st1le")).header("Content-Type", "application/json");
        cases.push(Case::new(format!("{method} {PATH}"), request, &[405]));
    }
    for line in ["Host", "Origin", "X-Forwarded-Host", "X-Forwarded-For", "Forwarded", "Authorization", "Cookie"] {
        for value in
            ["h0st1le.example", "<script>h0st1le()</script>", "Bearer h0st1le", "for=h0st1le;host=h0st1le.example"]
        {
            let name = format!("{line}: {value}");
            cases.push(Case::new(name, post(&sound).header(line, value), &[201, 400, 401]));
        }
    }
    cases
}

/// Bodies that arrive too slowly, or never.
pub(super) fn slow() -> Vec<Case> {
    let mut cases = Vec::new();
    for body in delays::BODIES {
        for then in [Then::Wait, Then::Drip(b'0')] {
            let bytes = [post("").head(), body.into()].concat();
            let name = format!("{PATH} {} and {}", body.escape_debug(), delays::shown(then));
            cases.push(Case::new(name, bytes, &[400, 413]).then(then));
        }
    }
    cases
}
