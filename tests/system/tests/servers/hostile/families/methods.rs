//! Methods that no endpoint takes.

use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::on_both;
use crate::hostile::server::{CONSENT, Server};
use support_servers::http::Request;

#[tokio::test]
async fn no_method_but_the_right_one_does_anything() {
    on_both(cases).await;
}

pub(crate) const METHODS: [&str; 19] = [
    "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "TRACK", "DEBUG", "PROPFIND", "MKCOL", "LOCK", "PURGE", "SEARCH",
    "QUERY", "M-SEARCH", "BREW", "h0st1le", "get", "Post", "CONNECT",
];

/// What no method may hold.
const NONE: [&[u8]; 8] = [b"", b"G\0T", b"<script>h0st1le()</script>", b"G\rT", b"\xff", b"GET\t", b"G\"T", b"G/T"];

/// Paths and what they answer to a method that they do not take.
const PATHS: [(&str, u16); 8] = [
    ("/oauth2/auth", 405),
    ("/oauth2/token", 405),
    ("/oauth2/revoke", 405),
    ("/oauth2/introspect", 405),
    ("/.well-known/oauth-authorization-server", 405),
    (CONSENT, 405),
    ("/api/me", 401),
    ("/h0st1le", 404),
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let mut cases = Vec::new();
    for (path, status) in PATHS {
        for method in METHODS {
            let bare = Request::new(method, format!("{path}?{}", server.query()));
            cases.push(Case::new(format!("{method} {path}"), bare, &[status]));
        }
        for method in NONE {
            let name = format!("{} {path}", method.escape_ascii());
            cases.push(Case::new(name, Request::new(method, path), &[400, CLOSED]));
        }
    }
    cases
}
