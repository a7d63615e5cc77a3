//! The same bytes, not encoded at all, where the framing lets them stand.

use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::{ENDPOINTS, form, on_both};
use crate::hostile::server::Server;
use support_servers::http::Request;

#[tokio::test]
async fn bytes_that_are_not_encoded_come_back_nowhere() {
    on_both(cases).await;
}

const BYTES: [&[u8]; 22] = [
    b"h0st1le\0",
    b"\0",
    b"h0st1le\r\nX-Hostile: h0st1le",
    b"h0st1le\nX-Hostile: h0st1le",
    b"h0st1le\rX-Hostile: h0st1le",
    b"\xffh0st1le",
    b"\xc0\xafh0st1le",
    b"\xed\xa0\x80h0st1le",
    b"\xe2\x80\xa8h0st1le",
    "\u{e4}h0st1le".as_bytes(),
    "\u{2028}h0st1le".as_bytes(),
    b"h0st1le ",
    b"\th0st1le",
    b"<script>h0st1le()</script>",
    b"\"><img src=x onerror=h0st1le()>",
    b"'h0st1le'",
    b"\\h0st1le\\",
    b"{h0st1le}|^`",
    b"h0st1le#h0st1le",
    b"h0st1le?h0st1le",
    b"\x1b[31mh0st1le\x7f",
    b"h0st1le HTTP/1.1",
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let queries = ["state", "redirect_uri", "scope", "client_id", "unknown"].into_iter().flat_map(|name| {
        BYTES.into_iter().map(move |bytes| {
            let query = [server.query().as_bytes(), b"&", name.as_bytes(), b"=", bytes].concat();
            let name = format!("{name} {}", bytes.escape_ascii());
            Case::new(name, Request::get("/oauth2/auth").query(query), &[200, 302, 400])
        })
    });
    let forms = ENDPOINTS.into_iter().flat_map(|path| {
        BYTES.into_iter().map(move |bytes| {
            let body = [b"grant_type=refresh_token&refresh_token=x&token=", bytes].concat();
            Case::new(format!("{path} {}", bytes.escape_ascii()), form(server, path, body), &[200, 400])
        })
    });
    let paths = BYTES.into_iter().map(|bytes| {
        let request = Request::new("GET", [b"/oauth2/auth/", bytes].concat());
        // A proper request whose version is followed by a second one is none.
        Case::new(format!("path {}", bytes.escape_ascii()), request, &[400, 404, CLOSED])
    });
    queries.chain(forms).chain(paths).collect()
}
