//! Paths and methods.

use crate::exchange::{get, post, request};
use crate::trio::{COOKIE, Trio};

/// The methods of RFC 9110 but CONNECT, one of RFC 5789, one of RFC 2324, and one in small letters.
const METHODS: [&str; 10] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "post"];

/// HTTP-02
#[tokio::test]
async fn every_method_reaches_the_core() {
    let trio = Trio::start().await;
    let paths = [
        ("/oauth2/auth", [400, 400, 405, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/token", [405, 405, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/revoke", [405, 405, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/oauth2/introspect", [405, 405, 400, 405, 405, 405, 405, 405, 405, 405]),
        ("/.well-known/oauth-authorization-server", [200, 200, 405, 405, 405, 405, 405, 405, 405, 405]),
        ("/consent", [400; 10]),
        ("/api/me", [401; 10]),
    ];
    for (path, statuses) in paths {
        for (method, status) in METHODS.into_iter().zip(statuses) {
            trio.answers(status, &request(method, path).header("Cookie", COOKIE)).await;
        }
    }
}

/// ADM-15
#[tokio::test]
async fn no_administration_is_served() {
    let trio = Trio::start().await;
    for path in ["/oauth2/clients", "/oauth2/clients/demo", "/oauth2/register", "/oauth2/applications", "/oauth2/admin"]
    {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            trio.answers(404, &request(method, path).header("Cookie", COOKIE)).await;
        }
    }
}

/// HTTP-02
#[tokio::test]
async fn a_method_that_is_not_taken_is_refused_whatever_the_body() {
    let trio = Trio::start().await;
    let client = trio.client();
    let form = [("grant_type", "refresh_token"), ("refresh_token", "x"), ("token", "x")];
    for path in ["/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"] {
        for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            let mut request = post(path, &form).basic(&client.id, &client.secret);
            request.method = method;
            trio.answers(405, &request).await;
            trio.answers(405, &request.body(vec![b'a'; trio.body_limit() + 1])).await;
        }
    }
}

/// HTTP-02
#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let trio = Trio::start().await;
    let unknown = [
        "/",
        "/oauth2",
        "/oauth2/",
        "/oauth2/token/",
        "/oauth2//token",
        "//oauth2/token",
        "/OAuth2/token",
        "/oauth2/token/x",
        "/oauth2/tokens",
        "/oauth2/token;x",
        "/x/oauth2/token",
        "/oauth2%2Ftoken",
        "/oauth2/token%00",
        "/oauth2/token%20",
        "/.well-known/oauth-authorization-server/x",
        "/.well-known/openid-configuration",
        "/api/me/",
        "/consent/",
    ];
    for path in unknown {
        for method in ["GET", "POST", "OPTIONS", "BREW"] {
            trio.answers(404, &request(method, path)).await;
        }
    }
}

/// HTTP-02
#[tokio::test]
async fn the_metadata_are_the_same_whatever_is_asked_with_them() {
    let trio = Trio::start().await;
    let metadata = || get("/.well-known/oauth-authorization-server");
    let many = (0..80).fold(metadata(), |request, _| request.header("X-Many", "x"));
    trio.answer_all(&[
        (200, metadata()),
        (200, metadata().query("")),
        (200, metadata().query("x=%ff&x=%zz&&=")),
        (200, metadata().header("Authorization", "Basic !!!").header("Authorization", "x")),
        (200, metadata().header("Accept", "text/html").header("If-None-Match", "*").header("Range", "bytes=0-1")),
        (200, metadata().header("Origin", "https://other.example").header("Accept-Encoding", "gzip, br")),
        (200, metadata().body("a body")),
        (200, metadata().body(vec![b'a'; trio.body_limit() + 1])),
        (200, many),
    ])
    .await;
}
