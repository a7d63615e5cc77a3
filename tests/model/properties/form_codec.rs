//! What the server reads out of forms and queries, and what it writes, is what other readers see.

use std::cell::Cell;

use grantor::wire::Response;
use grantor::{Config, Decision};
use proptest::prelude::*;
use url::form_urlencoded;

use crate::properties::cases::{block_on, check, count, holds};
use support::attempts::Attempts;
use support::world::{ISSUER, World, parameters};

const CASES: u32 = 500;

/// The answer to a user who refuses, which repeats `state`.
fn denied(world: &World, query: &str) -> Response {
    block_on(world.decide(query, Decision::Deny))
}

/// One byte, written in one of the ways there are.
fn written(byte: u8, way: u8) -> String {
    let may_stand = byte.is_ascii_alphanumeric() || b"-._~!$'()*,;:@/?=".contains(&byte);
    match (way, byte) {
        (0, b' ') => "+".to_owned(),
        (0 | 1, _) if may_stand => char::from(byte).to_string(),
        (2, _) => format!("%{byte:02x}"),
        _ => format!("%{byte:02X}"),
    }
}

#[test]
fn state_comes_back_byte_for_byte_however_it_was_written() {
    let world = block_on(World::platform());
    let bytes = prop::collection::vec((any::<u8>(), 0..4_u8), 1..60);
    check(CASES, &bytes, |bytes| {
        let text: String = bytes.iter().map(|(byte, way)| written(*byte, *way)).collect();
        let state: Vec<u8> = bytes.iter().map(|(byte, _)| *byte).collect();
        let answer = denied(&world, &world.query(&[]).replace("response_type", &format!("state={text}&response_type")));
        let location = answer.header("Location").ok_or("no redirect")?;
        // Read as a form and, with a plus left as it is, as a URI.
        let found = parameters(location).into_iter().find(|(name, _)| name == "state").ok_or("no state")?.1;
        holds(found == state, || format!("{text} came back as {}", found.escape_ascii()))?;
        holds(!location.contains('+'), || format!("a plus in {location}"))?;
        let (_, query) = location.split_once('?').ok_or("no query")?;
        let shown = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "state").ok_or("no state")?.1;
        holds(shown == String::from_utf8_lossy(&state), || format!("{location} is read as {shown}"))
    });
}

/// Bodies of known and unknown names, whole and broken escapes, repeats and blanks.
fn body() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["client_id", "client%5fid", "client%5Fid", "Client_id", "foo", "", "code"]);
    let piece = prop::sample::select(vec![
        "a",
        "B",
        "0",
        "-",
        "_",
        "~",
        "+",
        "%20",
        "%2B",
        "%26",
        "%3d",
        "%25",
        "%C3%A9",
        "%e2%82%ac",
        "\u{e9}",
        "=",
        ";",
        "/",
        "?",
        "!",
        "%",
        "%4",
        "%zz",
        "%ff",
        "%F0%9F",
    ]);
    let value = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    let one = (name, prop::option::weighted(0.9, value)).prop_map(|(name, value)| match value {
        None => name.to_owned(),
        Some(value) => format!("{name}={value}"),
    });
    prop::collection::vec(one, 0..5).prop_map(|parameters| parameters.join("&"))
}

/// Whether each percent sign is followed by two digits.
fn is_sound(body: &str) -> bool {
    let bytes = body.as_bytes();
    let digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_hexdigit);
    (0..bytes.len()).all(|place| bytes[place] != b'%' || digit(place + 1) && digit(place + 2))
}

#[test]
fn a_form_is_read_as_others_read_it_or_refused() {
    let attempts = Attempts::default();
    let asked = attempts.clone();
    let world = block_on(World::built(Config::platform(ISSUER), |builder| builder.throttle(asked)));
    let (read, refused) = (Cell::new(0), Cell::new(0));
    check(CASES * 4, &body(), |body| {
        attempts.take();
        let response = block_on(world.token(&[]).raw_body(body.as_bytes()).send());
        let found = attempts.claimed();
        let others: Vec<_> = form_urlencoded::parse(body.as_bytes()).collect();
        let known = |wanted: &'static str| others.iter().filter(move |(name, _)| name == wanted);
        // A value that is not UTF-8 is shown to others as a replacement character, which no piece is.
        let is_text = !known("client_id").chain(known("code")).any(|(_, value)| value.contains('\u{fffd}'));
        let is_single = known("client_id").count() < 2 && known("code").count() < 2;
        let is_good = is_sound(&body) && is_text && is_single;
        holds(found.is_some() == is_good, || format!("{body:?} was read: {found:?}"))?;
        match found {
            None => {
                refused.set(refused.get() + 1);
                holds(response.status() == 400, || format!("{body:?}: {}", response.status()))
            }
            Some(client) => {
                read.set(read.get() + 1);
                let expected = known("client_id").map(|(_, value)| value.to_string()).find(|value| !value.is_empty());
                holds(client == expected, || format!("{body:?}: {client:?} is not {expected:?}"))
            }
        }
    });
    let few = count(CASES * 4) / 8;
    assert!(read.get() > few && refused.get() > few, "{read:?} read, {refused:?} refused");
}
