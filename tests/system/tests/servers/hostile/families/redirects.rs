//! Redirect URIs that browsers take elsewhere than a server thinks.

use crate::hostile::case::{Case, run_all};
use crate::hostile::families::{all, on_both};
use crate::hostile::server::Server;
use crate::hostile::values::encode;
use support_servers::http::Request;

#[tokio::test]
async fn no_redirect_leaves_the_registered_origin() {
    on_both(cases).await;
}

#[tokio::test]
async fn no_redirect_leaves_a_registered_loopback_address() {
    let servers = Server::pair("http://127.0.0.1/callback");
    all(&servers, async |server| run_all(server, &refused(server, &LOOPBACK)).await).await;
}

/// Every one is refused, whatever else is wrong with the request.
const FOREIGN: [&str; 96] = [
    "https://h0st1le.example/callback",
    "http://app.example.com/callback",
    "HTTP://app.example.com/callback",
    "//app.example.com/callback",
    "//h0st1le.example/callback",
    "///h0st1le.example",
    "////h0st1le.example",
    "/callback",
    "callback",
    "?code=h0st1le",
    "#h0st1le",
    ".",
    "\\\\h0st1le.example",
    "/\\h0st1le.example",
    "https:h0st1le.example",
    "https:/h0st1le.example",
    "https:///h0st1le.example",
    "https:\\\\h0st1le.example",
    "https://\\h0st1le.example",
    "https:app.example.com/callback",
    "https:/app.example.com/callback",
    "https:///app.example.com/callback",
    "https:\\\\app.example.com\\callback",
    "https://app.example.com\\callback",
    "https://app.example.com\\@h0st1le.example/callback",
    "https://app.example.com\\.h0st1le.example/callback",
    "https://h0st1le.example\\@app.example.com/callback",
    "https://h0st1le.example#@app.example.com/callback",
    "https://h0st1le.example?@app.example.com/callback",
    "https://h0st1le.example;@app.example.com/callback",
    "https://h0st1le.example/@app.example.com/callback",
    "https://h0st1le.example\t@app.example.com/callback",
    "https://h0st1le.example%2f@app.example.com/callback",
    "https://h0st1le.example%23@app.example.com/callback",
    "https://h0st1le.example%5c@app.example.com/callback",
    "https://app.example.com@h0st1le.example/callback",
    "https://app.example.com:443@h0st1le.example/callback",
    "https://app.example.com%40h0st1le.example/callback",
    "https://app.example.com%2fh0st1le.example/callback",
    "https://app.example.com%00.h0st1le.example/callback",
    "https://app.example.com\0.h0st1le.example/callback",
    "https://app.example.com%0d%0a.h0st1le.example/callback",
    "https://app.example.com;h0st1le.example/callback",
    "https://app.example.com,h0st1le.example/callback",
    "https://app.example.com&h0st1le.example/callback",
    "https://app.example.com+h0st1le.example/callback",
    "https://user@app.example.com/callback",
    "https://user:h0st1le@app.example.com/callback",
    "https://:@app.example.com/callback",
    "https://@app.example.com/callback",
    "https://app.example.com.h0st1le.example/callback",
    "https://app.example.comh0st1le.example/callback",
    "https://h0st1leapp.example.com/callback",
    "https://h0st1le.app.example.com/callback",
    "https://example.com/callback",
    "https://app.example.com./callback",
    "https://.app.example.com/callback",
    "https://app..example.com/callback",
    "https://app.example/callback",
    "https://app.example.co/callback",
    "https://*.example.com/callback",
    "https://app.example.com*/callback",
    "https://\u{ff41}pp.example.com/callback",
    "https://app\u{3002}example\u{3002}com/callback",
    "https://app.example.com\u{ff0f}h0st1le.example/callback",
    "https://app.example.com\u{2215}h0st1le.example/callback",
    "https://app.example.com\u{ff20}h0st1le.example/callback",
    "https://app.ex\u{e4}mple.com/callback",
    "https://\u{430}pp.example.com/callback",
    "https://xn--pp-6kc.example.com/callback",
    "https://app.exam\u{ad}ple.com/callback",
    "https://app.exam\tple.com/callback",
    "https://app.exam\nple.com/callback",
    "https://%61pp.example.com/callback",
    "https://app%2eexample%2ecom/callback",
    "https://app.example.com:444/callback",
    "https://app.example.com:80/callback",
    "https://app.example.com:0443h0st1le/callback",
    "https://app.example.com:99999/callback",
    "https://app.example.com:-443/callback",
    "https://app.example.com:443:443/callback",
    "https://[app.example.com]/callback",
    "https://[::1]/callback",
    "https://2130706433/callback",
    "https://0x7f.1/callback",
    "javascript:h0st1le()",
    "JaVaScRiPt:h0st1le()",
    "java\tscript:h0st1le()",
    "\x01javascript:h0st1le()",
    "javascript://app.example.com/callback%0ah0st1le()",
    "data:text/html,<script>h0st1le()</script>",
    "vbscript:h0st1le()",
    "blob:https://app.example.com/callback",
    "view-source:https://app.example.com/callback",
    "filesystem:https://app.example.com/callback",
    "ftp://app.example.com/callback",
];

/// Put behind the registered URI: refused as well.
const TAILS: [&str; 18] = [
    "/..",
    "/../../h0st1le",
    "#",
    "#h0st1le",
    "%23#h0st1le",
    "\r\nX-Hostile: h0st1le",
    "\nh0st1le",
    "\rh0st1le",
    "\th0st1le",
    "\0h0st1le",
    " h0st1le",
    "\\h0st1le",
    "/..\\h0st1le",
    "\"><script>h0st1le()</script>",
    "<h0st1le>",
    "\u{2028}h0st1le",
    "\u{e4}h0st1le",
    "%zzh0st1le",
];

/// Behind the registered URI: the same origin in every reading.
const OWN: [&str; 10] = [
    "",
    "?h0st1le=x",
    "?",
    "/",
    "/h0st1le",
    "//h0st1le.example",
    "/@h0st1le.example",
    "/http://h0st1le.example",
    "/%2f%2fh0st1le.example",
    "?next=//h0st1le.example",
];

/// For an application on a loopback address, where the port is free.
const LOOPBACK: [&str; 26] = [
    "http://127.0.0.1@h0st1le.example/callback",
    "http://127.0.0.1:80@h0st1le.example/callback",
    "http://127.0.0.1:h0st1le@h0st1le.example/callback",
    "http://127.0.0.1:80\\@h0st1le.example/callback",
    "http://127.0.0.1:80#@h0st1le.example/callback",
    "http://127.0.0.1.h0st1le.example/callback",
    "http://127.0.0.1:80.h0st1le.example/callback",
    "http://127.0.0.1%2eh0st1le.example/callback",
    "http://127.0.0.1\u{3002}h0st1le.example/callback",
    "http://h0st1le.example/callback",
    "http://h0st1le.example:80/callback",
    "http://localhost.h0st1le.example/callback",
    "http://localhost/callback",
    "http://127.0.0.2/callback",
    "http://127.1/callback",
    "http://0x7f000001/callback",
    "http://2130706433/callback",
    "http://0177.0.0.1/callback",
    "http://[::ffff:127.0.0.1]/callback",
    "http://0.0.0.0/callback",
    "http://127.0.0.1:99999/callback",
    "http://127.0.0.1:/callback#",
    "http://127.0.0.1:80/other",
    "http://127.0.0.1:80/callback?h0st1le=x",
    "http://user@127.0.0.1/callback",
    "https://127.0.0.1/callback",
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let mut cases = refused(server, &FOREIGN);
    let tails = TAILS.map(|tail| format!("{}{tail}", server.redirect_uri));
    cases.extend(refused(server, &tails.each_ref().map(String::as_str)));
    for tail in OWN {
        let uri = format!("{}{tail}", server.redirect_uri);
        let with =
            |more: &str| Request::get("/oauth2/auth").query(query(server, &uri, more)).header("Cookie", &server.cookie);
        cases.push(Case::new(uri.clone(), with(""), &[200]));
        cases.push(Case::new(format!("{uri} with a fault"), with("&scope=h0st1le&state=h0st1le"), &[302]));
    }
    cases
}

/// Each alone, with a fault that would be reported to the client, and encoded once more.
fn refused(server: &Server, uris: &[&str]) -> Vec<Case> {
    let ways = uris.iter().flat_map(|uri| {
        let twice = encode(&[("", uri)])[1..].to_owned();
        [
            (format!("{uri:?}"), query(server, uri, "")),
            (format!("{uri:?} with a fault"), query(server, uri, "&scope=h0st1le&state=h0st1le")),
            (format!("{uri:?} for no client"), query(server, uri, "").replace(&server.id, "h0st1le")),
            (format!("{uri:?} encoded twice"), query(server, &twice, "")),
        ]
    });
    ways.map(|(name, query)| {
        Case::new(name, Request::get("/oauth2/auth").query(query).header("Cookie", &server.cookie), &[400])
    })
    .collect()
}

fn query(server: &Server, uri: &str, more: &str) -> String {
    format!("{}&{}{more}", server.query(), encode(&[("redirect_uri", uri)]))
}
