//! Clients that take their time, or never come to an end.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::hostile::case::{CLOSED, Case, run_together};
use crate::hostile::families::{ENDPOINTS, all, form};
use crate::hostile::server::{CONSENT, Server};
use support_servers::http::Request;
use support_servers::http::Then;

#[tokio::test]
async fn others_are_served_while_heads_and_bodies_do_not_come() {
    all(Server::both(), async |server| {
        let cases = cases(server);
        let others = async {
            // Others are served while these hold their connections.
            for _ in 0..5 {
                sleep(Duration::from_secs(1)).await;
                server.still_works().await;
            }
        };
        futures::join!(run_together(server, &cases), others).0
    })
    .await;
}

/// A connection that is kept ends by itself, and so does one on which a second head begins. actix-web bounds the
/// first head of a connection alone.
#[tokio::test]
async fn who_sends_nothing_more_is_not_kept() {
    all(Server::both(), async |server| {
        let kept = kept(server);
        ends(server, &kept).await;
        if server.name == "axum" {
            ends(server, &format!("{kept}GET /oauth2/auth HTTP/1.1\r\nHost")).await;
        }
        Ok(())
    })
    .await;
}

async fn ends(server: &Server, bytes: &str) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "{} keeps {bytes:?}", server.name);
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}: {}", server.name, answer.escape_ascii());
}

/// A good request that leaves the connection open.
fn kept(server: &Server) -> String {
    let head = String::from_utf8(Request::get("/oauth2/auth").query(server.query()).head()).unwrap();
    head.replace("Connection: close\r\n", "") + "\r\n"
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

/// The lines about a body, and its beginning.
pub(crate) const BODIES: [&str; 6] = [
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
    for path in ENDPOINTS.into_iter().chain([CONSENT, "/oauth2/auth", "/api/me"]) {
        let refused = match path {
            "/oauth2/auth" => 405,
            "/api/me" => 401,
            CONSENT => 400,
            _ => 413,
        };
        for body in BODIES {
            for then in [Then::Wait, Then::Drip(b'0')] {
                let bytes = [form(server, path, "").head(), body.into()].concat();
                let name = format!("{path} {} and {}", body.escape_debug(), shown(then));
                cases.push(Case::new(name, bytes, &[400, refused]).then(then));
            }
        }
    }
    for protocol in ["websocket", "h2c", "h0st1le", "TLS/1.0", "h2c, websocket"] {
        let upgrade = |request: Request| {
            let request = request.header("Connection", "upgrade, HTTP2-Settings").header("Upgrade", protocol);
            request.header("Sec-WebSocket-Key", "h0st1le").header("HTTP2-Settings", "AAMA")
        };
        let get = upgrade(Request::get("/oauth2/auth").query(server.query()));
        cases.push(Case::new(format!("a page, Upgrade: {protocol}"), get, &[200]));
        let post = upgrade(form(server, "/oauth2/token", "grant_type=refresh_token&refresh_token=h0st1le"));
        cases.push(Case::new(format!("a form, Upgrade: {protocol}"), post, &[400, 413]));
    }
    // Answered at once, and then nothing more comes on a connection that stays open.
    cases.push(Case::new("a connection that is kept", kept(server), &[200]));
    cases
}

pub(crate) fn shown(then: Then) -> &'static str {
    match then {
        Then::Wait => "nothing more",
        Then::End => "the end",
        Then::Drip(_) => "one byte at a time",
        Then::Flood => "no end",
    }
}
