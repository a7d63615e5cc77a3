//! Header lines that other software believes, obeys or copies.

use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::on_both;
use crate::hostile::server::Server;
use crate::hostile::values::encode;
use support_servers::http::Request;

#[tokio::test]
async fn no_header_line_is_believed_or_copied() {
    on_both(cases).await;
}

const NAMES: [&str; 25] = [
    "Cookie",
    "Origin",
    "Referer",
    "User-Agent",
    "Accept",
    "Accept-Language",
    "Accept-Encoding",
    "Range",
    "If-None-Match",
    "If-Modified-Since",
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Prefix",
    "X-Real-IP",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-HTTP-Method-Override",
    "X-Request-ID",
    "Access-Control-Request-Headers",
    "Access-Control-Request-Method",
    "Via",
    "From",
    "h0st1le",
];

const VALUES: [&[u8]; 12] = [
    b"",
    b"h0st1le",
    b"h0st1le.example",
    b"https://h0st1le.example/",
    b"/h0st1le",
    b"session=h0st1le; session=\"><script>",
    b"<script>h0st1le()</script>",
    b"bytes=0-0,1-1,-h0st1le",
    b"for=h0st1le;host=h0st1le.example;proto=javascript",
    b"\xff\xfe\x80h0st1le",
    "\u{2028}h0st1le\u{e4}".as_bytes(),
    b"${jndi:ldap://h0st1le.example}",
];

/// What no value may hold: the line is refused, or ends there.
const BREAKS: [&[u8]; 6] = [
    b"\x7fh0st1le",
    b"h0st1le\0",
    b"h0st1le\rh0st1le: x",
    b"h0st1le\nh0st1le: x",
    b"h0st1le\r\n folded",
    b"\x01\x02h0st1le",
];

/// Lines that have no proper name.
const LINES: [&[u8]; 9] = [
    b"h0st1le",
    b": h0st1le",
    b" h0st1le: x",
    b"h0st1le : x",
    b"h0st1le\t: x",
    b"h0 st1le: x",
    b"h0st1le\0: x",
    b"\xffh0st1le: x",
    b"<script>h0st1le: x",
];

/// Names that take the place of the server's own.
const HOSTS: [&[u8]; 11] = [
    b"",
    b"h0st1le.example",
    b"h0st1le.example:99999",
    b"h0st1le.example/path",
    b"user@h0st1le.example",
    b"127.0.0.1, h0st1le.example",
    b"<script>h0st1le()</script>",
    b"h0st1le.example\xff",
    b"[::1",
    b"h0st1le..example",
    b"h0st1le.example#127.0.0.1",
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    // One that is answered by a redirect.
    let query = format!("{}&{}", server.query(), encode(&[("scope", "h0st1le"), ("state", "s")]));
    let asked = || Request::get("/oauth2/auth").query(&query);
    let values = NAMES.into_iter().flat_map(|name| {
        let values = VALUES.into_iter().map(move |value| (name, value, &[302][..]));
        values.chain(BREAKS.into_iter().map(move |value| (name, value, &[302, 400, CLOSED][..])))
    });
    let values = values.map(|(name, value, statuses)| {
        Case::new(format!("{name}: {}", value.escape_ascii()), asked().header(name, value), statuses)
    });
    let lines = LINES.into_iter().map(|line| {
        let bytes = [&asked().head(), line, b"\r\n\r\n"].concat();
        Case::new(line.escape_ascii().to_string(), bytes, &[400, CLOSED])
    });
    let hosts = HOSTS.into_iter().flat_map(|host| {
        let path = format!("/oauth2/auth?{query}");
        let alone = [b"GET ", path.as_bytes(), b" HTTP/1.1\r\nConnection: close\r\nHost: ", host, b"\r\n\r\n"].concat();
        let name = |more: &str| format!("{more} Host: {}", host.escape_ascii());
        let second = Case::new(name("second"), asked().header("Host", host), &[302, 400]);
        [Case::new(name("only"), alone, &[421, 400]), second]
    });
    values.chain(lines).chain(hosts).collect()
}
