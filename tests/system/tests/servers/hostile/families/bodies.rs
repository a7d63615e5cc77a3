//! Bodies that are too large, that do not end, and that were not asked for.

use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::{ENDPOINTS, form, on_both};
use crate::hostile::server::{CONSENT, Server};
use support_servers::http::Request;
use support_servers::http::Then;

#[tokio::test]
async fn no_body_is_read_beyond_its_limit() {
    on_both(cases).await;
}

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let fields = "grant_type=refresh_token&refresh_token=h0st1le&token=h0st1le&x=";
    let mut cases = Vec::new();
    for path in ENDPOINTS.into_iter().chain([CONSENT]) {
        let refused: &[u16] = if path == CONSENT { &[400, CLOSED] } else { &[413, CLOSED] };
        let begun = || form(server, path, "").head();
        for bytes in [65_537, 1 << 20] {
            let body = [fields.as_bytes(), &vec![b'a'; bytes]].concat();
            cases.push(Case::new(format!("{bytes} bytes to {path}"), form(server, path, &body), refused));
            let chunk = [b"Transfer-Encoding: chunked\r\n\r\n", format!("{bytes:x}\r\n").as_bytes(), &body].concat();
            cases.push(Case::new(format!("a chunk of {bytes} to {path}"), [begun(), chunk].concat(), refused));
        }
        for length in ["1000000000000", "9223372036854775807", "18446744073709551615"] {
            let bytes = [begun(), format!("Content-Length: {length}\r\n\r\n").into_bytes()].concat();
            // The last one is no length for every library.
            let refused = [refused, &[400, 431]].concat();
            cases.push(Case::new(format!("{length} bytes to {path}"), bytes, &refused).then(Then::Flood));
        }
        for size in ["fffffff0", "7fffffffffffffff"] {
            let bytes = [begun(), format!("Transfer-Encoding: chunked\r\n\r\n{size}\r\n").into_bytes()].concat();
            cases.push(Case::new(format!("a chunk of {size} to {path}"), bytes, refused).then(Then::Flood));
        }
        let tiny = [begun(), b"Transfer-Encoding: chunked\r\n\r\n".to_vec(), b"1\r\na\r\n".repeat(70_000)].concat();
        cases.push(Case::new(format!("70000 chunks to {path}"), tiny, refused));
    }
    for (path, status) in [("/oauth2/auth", 200), ("/.well-known/oauth-authorization-server", 200), ("/api/me", 401)] {
        for body in
            ["h0st1le", "<script>h0st1le()</script>", "response_type=token&client_id=h0st1le&state=h0st1le", "\0"]
        {
            let request = Request::get(path).query(server.query()).header("Cookie", &server.cookie).body(body);
            cases.push(Case::new(format!("{body} to {path}"), request, &[status]));
        }
        let bytes =
            [Request::get(path).query(server.query()).head(), b"Content-Length: 1000000000\r\n\r\n".to_vec()].concat();
        cases.push(Case::new(format!("an endless body to {path}"), bytes, &[status, CLOSED]).then(Then::Flood));
    }
    cases
}
