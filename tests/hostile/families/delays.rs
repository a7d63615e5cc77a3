//! Clients that take their time, or never come to an end.

use crate::case::{CLOSED, Case, run_together};
use crate::exchange::Then;
use crate::families::{ENDPOINTS, all, form};
use crate::request::Request;
use crate::server::Server;

#[tokio::test]
async fn nobody_is_waited_for_and_nobody_waits() {
    all(&*Server::both(), async |server| {
        let cases = cases(server);
        let others = async {
            // Others are served while these hold their connections.
            for _ in 0..5 {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                server.still_works().await;
            }
        };
        futures::join!(run_together(server, &cases), others).0
    })
    .await;
}

/// Beginnings of a head.
const HEADS: [&str; 6] = [
    "",
    "\r\n",
    "POST",
    "POST /oauth2/token HTTP/1.1\r\n",
    "POST /oauth2/token HTTP/1.1\r\nHost: a\r\nX-h0st1le: ",
    "POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n",
];

/// What is told of a body, and its beginning.
const BODIES: [&str; 6] = [
    "Content-Length: 1000\r\n\r\n",
    "Content-Length: 1000\r\n\r\ntoken=",
    "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n7\r\ntok",
    "Transfer-Encoding: chunked\r\n\r\n7\r\ntoken=x\r\n0\r\n",
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let mut cases = Vec::new();
    for head in HEADS {
        for then in [Then::Wait, Then::Drip(b'a')] {
            let name = format!("{} and {}", head.escape_debug(), shown(then));
            cases.push(Case::new(name, head, &[400, 408, CLOSED]).then(then));
        }
    }
    for path in ENDPOINTS.into_iter().chain(["/consent", "/oauth2/auth", "/api/me"]) {
        let refused = match path {
            "/oauth2/auth" => 405,
            "/api/me" => 401,
            "/consent" => 400,
            _ => 413,
        };
        for body in BODIES {
            for then in [Then::Wait, Then::Drip(b'0')] {
                let octets = [form(server, path, "").head(), body.into()].concat();
                let name = format!("{path} {} and {}", body.escape_debug(), shown(then));
                cases.push(Case::new(name, octets, &[400, refused]).then(then));
            }
        }
    }
    for protocol in ["websocket", "h2c", "h0st1le", "TLS/1.0", "h2c, websocket"] {
        let upgrade = |request: Request| {
            let request = request.line("Connection", "upgrade, HTTP2-Settings").line("Upgrade", protocol);
            request.line("Sec-WebSocket-Key", "h0st1le").line("HTTP2-Settings", "AAMA")
        };
        let get = upgrade(Request::get("/oauth2/auth", server.query()));
        cases.push(Case::new(format!("a page, Upgrade: {protocol}"), get, &[200]));
        let post = upgrade(form(server, "/oauth2/token", "grant_type=refresh_token&refresh_token=h0st1le"));
        cases.push(Case::new(format!("a form, Upgrade: {protocol}"), post, &[400, 413]));
    }
    // Answered at once, and then nothing more comes on a connection that stays open.
    let kept = Request::get("/oauth2/auth", server.query()).head();
    let kept = String::from_utf8(kept).unwrap().replace("Connection: close\r\n", "") + "\r\n";
    cases.push(Case::new("a connection that is kept", kept, &[200]));
    cases
}

fn shown(then: Then) -> &'static str {
    match then {
        Then::Wait => "nothing more",
        Then::End => "the end",
        Then::Drip(_) => "one octet at a time",
        Then::Flood => "no end",
    }
}
