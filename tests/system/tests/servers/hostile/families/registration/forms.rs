//! Bodies that are not one JSON object.

use super::{LIMIT, post, sound};
use crate::hostile::case::{CLOSED, Case};

/// Bodies that are not JSON, or that parsers read differently.
pub(super) fn cases() -> Vec<Case> {
    let sound = sound().to_string();
    let mut cases = Vec::new();
    let mut refused = |body: Vec<u8>| {
        let name = format!("{:.200}", body.escape_ascii().to_string());
        cases.push(Case::new(name, post(body), &[400]));
    };
    for body in [
        "",
        " ",
        "null",
        "true",
        "0",
        "\"h0st1le\"",
        "[]",
        "{",
        "}",
        "{}",
        "[{}]",
        "{}{}",
        "{},",
        "{,}",
        "nullh0st1le",
        "NaN",
        "Infinity",
        "'h0st1le'",
        "{h0st1le:1}",
        "{'h0st1le':1}",
        "{\"h0st1le\"}",
        "{\"h0st1le\":}",
        "{\"h0st1le\":01}",
        "{\"h0st1le\":+1}",
        "{\"h0st1le\":0x1}",
        "{\"h0st1le\":.1}",
        "{\"h0st1le\":1.}",
        "{\"h0st1le\":1e999}",
        "{\"h0st1le\":\"\\x\"}",
        "{\"h0st1le\":\"\\u12\"}",
        "{\"h0st1le\":\"\\ud800\"}",
        "{\"h0st1le\":\"\\udc00\\ud800\"}",
        "{\"h0st1le\":\"a\nb\"}",
        "// h0st1le\n{}",
        "/* h0st1le */{}",
        "client_name=h0st1le&redirect_uris=https://h0st1le.example/",
        "<client><name>h0st1le</name></client>",
        "--h0st1le\r\nContent-Disposition: form-data; name=\"client_name\"\r\n\r\nh0st1le",
    ] {
        refused(body.into());
    }
    // Before, inside and after an accepted body.
    for (before, behind) in [
        ("[", "]"),
        ("\u{feff}", ""),
        ("", "h0st1le"),
        ("", "{}"),
        ("", "\0"),
        ("\0", ""),
        ("\u{a0}", ""),
        ("", ","),
        ("\"", "\""),
    ] {
        refused([before.as_bytes(), sound.as_bytes(), behind.as_bytes()].concat());
    }
    let inner = &sound[1..sound.len() - 1];
    for more in [
        "\"client_name\":\"Bpp\"",
        "\"client\\u005fname\":\"Bpp\"",
        "\"redirect_uris\":[\"https://h0st1le.example/\"]",
        "\"h0st1le\":1,\"h0st1le\":1",
        "\"h0st1le\":{\"a\":1,\"a\":2}",
        "",
    ] {
        refused(format!("{{{inner},{more}}}").into_bytes());
        refused(format!("{{{more},{inner}}}").into_bytes());
    }
    for bytes in [b"\xff".as_slice(), b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"] {
        refused([b"{\"h0st1le\":\"", bytes, b"\",", inner.as_bytes(), b"}"].concat());
        refused([b"{\"", bytes, b"\":1,", inner.as_bytes(), b"}"].concat());
    }
    for wide in [false, true] {
        let units = sound.encode_utf16().flat_map(|unit| if wide { unit.to_be_bytes() } else { unit.to_le_bytes() });
        refused(units.collect());
    }
    for end in (0..sound.len()).step_by(5) {
        refused(sound.as_bytes()[..end].to_vec());
    }
    for (depth, status) in
        [(1, 201), (14, 201), (15, 201), (16, 400), (17, 400), (100, 400), (1_000, 400), (8_000, 400)]
    {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inside = if open == "[" { "" } else { "1" };
            let deep = format!("{{{inner},\"deep\":{}{inside}{}}}", open.repeat(depth), close.repeat(depth));
            let status = if deep.len() > LIMIT { 413 } else { status };
            cases.push(Case::new(format!("{depth} {open:?}"), post(deep), &[status, CLOSED]));
            cases.push(Case::new(format!("only {depth} {open:?}"), post(open.repeat(depth.min(3_000))), &[400]));
        }
    }
    cases
}
