//! Requests whose end is stated wrongly, twice or not at all.

use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::{all, form, on_both};
use crate::hostile::server::{CONSENT, Server};
use support_servers::http::Answer;
use support_servers::http::{Then, exchange};

#[tokio::test]
async fn no_framing_hides_a_request_in_another() {
    on_both(cases).await;
}

/// Proves that the tests above would notice a second request.
#[tokio::test]
async fn two_requests_on_one_connection_have_two_answers() {
    all(Server::both(), async |server| {
        let honest = kept(&form(server, "/oauth2/revoke", "token=x").bytes());
        let heard = exchange(server.address, &honest.repeat(2), Then::Wait).await.map_err(|_| "no end")?;
        let statuses: Vec<_> = Answer::read_all(&heard.bytes, false)?.iter().map(|answer| answer.status).collect();
        if statuses == [200, 200] { Ok(()) } else { Err(format!("{}: {statuses:?}", server.name)) }
    })
    .await;
}

/// The thin server on axum speaks HTTP/2: its frames belong to the connection, and none to a request.
#[tokio::test]
async fn a_connection_over_http2_without_a_request_has_no_answer() {
    all(Server::both(), async |server| {
        for preface in PREFACES {
            let heard = exchange(server.address, preface, Then::End).await.map_err(|_| "no end")?;
            if server.name == "axum" {
                streams(&heard.bytes)?.iter().all(|stream| *stream == 0).then_some(()).ok_or("a frame of a request")?;
            } else {
                let answers = Answer::read_all(&heard.bytes, false)?;
                let is_refused = answers.iter().all(|answer| [400, 404, 408].contains(&answer.status));
                is_refused.then_some(()).ok_or("an answer to no request")?;
            }
        }
        Ok(())
    })
    .await;
}

/// The beginning of a connection over HTTP/2, and the same with its settings [RFC 9113 section 3.4].
const PREFACES: [&[u8]; 2] =
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"];

/// The streams of whole frames [RFC 9113 section 4.1].
fn streams(mut bytes: &[u8]) -> Result<Vec<u32>, String> {
    let mut streams = Vec::new();
    while let [a, b, c, _kind, _flags, d, e, f, g, rest @ ..] = bytes {
        let length = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).map_err(|_| "a long frame")?;
        bytes = rest.get(length..).ok_or("a frame that breaks off")?;
        streams.push(u32::from_be_bytes([*d, *e, *f, *g]));
    }
    if bytes.is_empty() && !streams.is_empty() { Ok(streams) } else { Err(bytes.escape_ascii().to_string()) }
}

/// Lines on the length of a body, and what follows the empty line.
const BODIES: [(&str, &[u8]); 42] = [
    ("Content-Length: ", b"token=x"),
    ("Content-Length: h0st1le", b"token=x"),
    ("Content-Length: -7", b"token=x"),
    ("Content-Length: +7", b"token=x"),
    ("Content-Length: 7.0", b"token=x"),
    ("Content-Length: 0x7", b"token=x"),
    ("Content-Length: 7 7", b"token=x"),
    ("Content-Length: 7, 7", b"token=x"),
    ("Content-Length: 7, 8", b"token=x"),
    ("Content-Length: 7\r\nContent-Length: 7", b"token=x"),
    ("Content-Length: 7\r\nContent-Length: 8", b"token=x"),
    ("Content-Length: 99999999999999999999999", b"token=x"),
    ("Content-Length: \u{667}", b"token=x"),
    ("Content-Length : 7", b"token=x"),
    ("Content-Length\t: 7", b"token=x"),
    ("Content-Length: 7\r\n h0st1le", b"token=x"),
    ("Content-Length: 100", b"token=x"),
    ("Content-Length: 3", b"token=xGET /h0st1le HTTP/1.1\r\nHost: h0st1le\r\n\r\n"),
    ("Content-Length: 6\r\nTransfer-Encoding: chunked", b"0\r\n\r\nGET /h0st1le HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 0", b"7\r\ntoken=x\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", b"0\r\n\r\n"),
    ("Transfer-Encoding: identity", b"token=x"),
    ("Transfer-Encoding: gzip", b"token=x"),
    ("Transfer-Encoding: gzip, chunked", b"0\r\n\r\n"),
    ("Transfer-Encoding: chunked, chunked", b"0\r\n\r\n"),
    ("Transfer-Encoding: chunked, gzip", b"0\r\n\r\n"),
    ("Transfer-Encoding: xchunked", b"0\r\n\r\n"),
    ("Transfer-Encoding: \u{b}chunked", b"0\r\n\r\n"),
    ("Transfer-Encoding : chunked", b"0\r\n\r\n"),
    ("Transfer-Encoding:\r\n chunked", b"0\r\n\r\n"),
    ("X: y\r\nTransfer-Encoding: h0st1le", b"0\r\n\r\n"),
    ("Transfer-Encoding: chunked", b"h0st1le\r\ntoken=x\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", b"-1\r\ntoken=x\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", b"0x7\r\ntoken=x\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", b" 7\r\ntoken=x\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", b"7\ntoken=x\n0\n\n"),
    ("Transfer-Encoding: chunked", b"7\r\ntoken=xh0st1le\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", b"ffffffffffffffffff\r\ntoken=x\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", b"\r\n\r\n\r\n"),
    ("Transfer-Encoding: chunked", b"\xff\xfe\0\x01"),
    ("Transfer-Encoding: chunked", b"7"),
    ("Transfer-Encoding: chunked", b"7\r\ntoken=x\r\n0\r\nh0st1le"),
];

/// What is read as chunks, with more than chunks in it.
const LENIENT: [&[u8]; 5] = [
    b"7;h0st1le=h0st1le\r\ntoken=x\r\n0\r\n\r\n",
    b"7;\"h0st1le\r\ntoken=x\r\n0\r\n\r\n",
    b"00000000000000007\r\ntoken=x\r\n0\r\n\r\n",
    b"7\r\ntoken=x\r\n0\r\nX-Hostile: h0st1le\r\n\r\n",
    b"7\r\ntoken=x\r\n0\r\nTransfer-Encoding: h0st1le\r\nAuthorization: Basic YTpi\r\n\r\n",
];

/// Beginnings that are no request of HTTP/1.1.
const HEADS: [&[u8]; 30] = [
    b"",
    b"\0",
    b"\r\n\r\n",
    b"GET",
    b"GET /oauth2/auth",
    b"GET /oauth2/auth\r\n\r\n",
    b"GET /oauth2/auth HTTP\r\n\r\n",
    b"GET /oauth2/auth HTTP/\r\n\r\n",
    b"GET /oauth2/auth HTTP/1\r\n\r\n",
    b"GET /oauth2/auth HTTP/1.2\r\nHost: a\r\n\r\n",
    b"GET /oauth2/auth HTTP/2.0\r\nHost: a\r\n\r\n",
    b"GET /oauth2/auth HTTP/9.9\r\nHost: a\r\n\r\n",
    b"GET /oauth2/auth HTTP/1.1h0st1le\r\nHost: a\r\n\r\n",
    b"GET /oauth2/auth http/1.1\r\nHost: a\r\n\r\n",
    b"GET /oauth2/auth h0st1le/1.1\r\nHost: a\r\n\r\n",
    b"GET /oauth2/auth  HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET\t/oauth2/auth\tHTTP/1.1\r\nHost: a\r\n\r\n",
    b" GET /oauth2/auth HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /oauth2/auth HTTP/1.1\rHost: a\r\r",
    b"GET /oauth2/auth HTTP/1.1\r\nHost: a",
    b"GET /oauth2/auth HTTP/1.1\r\n\0\r\n\r\n",
    b"GET /oauth2/auth HTTP/1.1\r\n: h0st1le\r\n\r\n",
    b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03h0st1le",
    b"SSH-2.0-h0st1le\r\n",
    b"EHLO h0st1le\r\n",
    b"*1\r\n$4\r\nPING\r\n",
    b"\x80\x2e\x01\x00\x02",
    b"{\"h0st1le\":1}",
    b"<script>h0st1le()</script>",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
];

/// The same on a connection that stays open, so that what follows the body may be read as a request.
fn kept(bytes: &[u8]) -> Vec<u8> {
    let close = b"Connection: close\r\n";
    let place = bytes.windows(close.len()).position(|window| window == close).expect("a head that closes");
    [&bytes[..place], &bytes[place + close.len()..]].concat()
}

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let mut cases = Vec::new();
    for path in ["/oauth2/token", "/oauth2/revoke", CONSENT] {
        cases.extend(bodies(path, &form(server, path, "").head()));
    }
    for head in HEADS {
        let name = head.escape_ascii().to_string();
        cases.push(Case::new(name, head, &[400, 404, 408, CLOSED]).then(Then::End));
    }
    let whole = form(server, "/oauth2/token", "grant_type=refresh_token&refresh_token=h0st1le").bytes();
    for end in (0..whole.len()).step_by(7) {
        let name = format!("{end} bytes of a request");
        cases.push(Case::new(name, &whole[..end], &[400, 408, 413, CLOSED]).then(Then::End));
    }
    let old = [b"GET /oauth2/auth?", server.query().as_bytes(), b" HTTP/1.0\r\n\r\n"].concat();
    cases.push(Case::new("HTTP/1.0", old, &[200]));
    cases
}

/// Each body after a head without a length.
pub(crate) fn bodies(path: &str, head: &[u8]) -> Vec<Case> {
    let mut cases = Vec::new();
    let begun = |lines: &str| [head, lines.as_bytes(), b"\r\n\r\n"].concat();
    for (lines, body) in BODIES {
        let name = format!("{path} {} {}", lines.escape_debug(), body.escape_ascii());
        let bytes = [begun(lines), body.to_vec()].concat();
        let statuses = &[200, 400, 413, CLOSED];
        cases.push(Case::new(name.clone(), bytes.clone(), statuses).then(Then::End));
        cases.push(Case::new(format!("{name}, twice"), bytes.repeat(2), statuses).then(Then::End));
        if lines.contains("\r\n") || body.ends_with(b"\r\n\r\n") {
            cases.push(Case::new(format!("{name}, kept"), kept(&bytes), statuses));
        }
    }
    for body in LENIENT {
        let bytes = [begun("Transfer-Encoding: chunked"), body.to_vec()].concat();
        let name = format!("{path} {}", body.escape_ascii());
        cases.push(Case::new(name, bytes, &[200, 400, 413]));
    }
    cases
}
