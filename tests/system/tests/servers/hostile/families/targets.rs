//! Invalid targets, and targets that mean another server or another path.

use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::on_both;
use crate::hostile::server::{CONSENT, Server};
use support_servers::http::Request;

#[tokio::test]
async fn no_target_is_answered_by_a_redirect_or_shown() {
    on_both(cases).await;
}

const TARGETS: [&str; 52] = [
    "*",
    "/",
    "//",
    "///",
    "/?",
    "?",
    "#",
    "",
    ".",
    "..",
    "h0st1le",
    "h0st1le:443",
    "h0st1le.example",
    "//h0st1le.example",
    "//h0st1le.example/",
    "//h0st1le.example/..",
    "//h0st1le.example/%2e%2e",
    "///h0st1le.example//",
    "/\\h0st1le.example",
    "/\\/h0st1le.example/",
    "\\\\h0st1le.example",
    "/%2f%2fh0st1le.example",
    "/%5ch0st1le.example",
    "/%09/h0st1le.example",
    "/%0d%0aLocation:%20//h0st1le.example",
    "/h0st1le%0d%0aX-Hostile:%20x",
    "/http://h0st1le.example",
    "http://h0st1le.example/",
    "https://h0st1le.example/",
    "http://h0st1le@127.0.0.1/",
    "http://",
    "http:///h0st1le",
    "http://[::1",
    "javascript:h0st1le()",
    "file:///etc/passwd",
    "/../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc/passwd",
    "/%c0%ae%c0%ae/etc/passwd",
    "/%",
    "/%zz",
    "/%h0st1le",
    "/%00",
    "/%ff",
    "/%u0000",
    "/h0st1le%00.html",
    "/<script>h0st1le()</script>",
    "/%3Cscript%3Eh0st1le()%3C/script%3E",
    "/{h0st1le}",
    "/h0st1le#h0st1le",
    "/h0st1le;h0st1le=h0st1le",
    "/$%7Bjndi:ldap://h0st1le.example%7D",
];

/// What is put around the path of an endpoint.
const AROUND: [&str; 16] = [
    "*/",
    "*//",
    "*/.",
    "*/..",
    "*/h0st1le",
    "*;h0st1le",
    "*%00",
    "*%20",
    "*%0d%0a",
    "*%2f",
    "*%3fh0st1le",
    "*.html",
    "*h0st1le",
    "/h0st1le*",
    "/.*",
    "/*",
];

/// The one of them that has an answer.
const WITH_SLASH: &str = "/.well-known/oauth-authorization-server/";

const PATHS: [&str; 6] =
    ["/oauth2/auth", "/oauth2/token", "/.well-known/oauth-authorization-server", CONSENT, "/api/me", "/oauth2"];

pub(crate) fn cases(_: &Server) -> Vec<Case> {
    let around = PATHS.into_iter().flat_map(|path| AROUND.into_iter().map(move |around| around.replace('*', path)));
    let targets = TARGETS.into_iter().map(ToOwned::to_owned).chain(around);
    targets
        .flat_map(|target| {
            [("GET", 200), ("POST", 405)].map(|(method, status)| {
                let statuses = if target == WITH_SLASH { vec![status] } else { vec![400, 404, CLOSED] };
                Case::new(format!("{method} {target}"), Request::new(method, &target), &statuses)
            })
        })
        .collect()
}
