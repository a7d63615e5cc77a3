//! How long sessions last, and the cookies that carry them.

use rusqlite::Connection;
use url::Url;

use crate::{DEVON, location, sign_in, start, start_with};
use support_servers::http::Request;

const DAYS: i64 = 86_400;

/// However busy it is.
#[tokio::test]
async fn a_session_ends_seven_days_after_the_sign_in() {
    let platform = start("session-end");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let page = async || Request::to("GET", platform.url("/applications")).cookies(&devon).send().await;
    assert_eq!(page().await.status, 200);

    let database = Connection::open(platform.database()).unwrap();
    let query = "SELECT json_extract(data, '$.ends') - unixepoch() FROM sessions";
    let left: i64 = database.query_row(query, [], |row| row.get(0)).unwrap();
    assert!((7 * DAYS - 600..=7 * DAYS).contains(&left), "{left}");
    let change = |left: i64| {
        let update = "UPDATE sessions SET data = json_set(data, '$.ends', unixepoch() + ?1)";
        assert_eq!(database.execute(update, [left]).unwrap(), 1);
    };
    change(600);
    assert_eq!(page().await.status, 200);
    change(0);
    let answer = page().await;
    assert_eq!(answer.status, 303);
    assert_eq!(location(&platform, &answer).path(), "/sign-in");
    let left: i64 = database.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "it is gone, and not only refused");
}

/// The prefix: no other host, and no page that came over plain HTTP, can set such a cookie.
#[tokio::test]
async fn cookies_over_tls_are_those_of_the_host_alone() {
    let platform = start_with("host-cookies", &["--issuer", "https://localhost:8443"]);
    assert_eq!(platform.about("issuer"), "https://localhost:8443");
    let url = |path: &str| Url::parse(&format!("http://{}{path}", platform.about("listen"))).unwrap();
    let form = [("username", DEVON.0), ("password", DEVON.1)];
    let answer = Request::to("POST", url("/sign-in")).host("localhost:8443").fields(&form).send().await;
    let lines: Vec<_> = answer.headers_of("set-cookie").collect();
    assert_eq!(lines.len(), 2, "the session, and the browser that is known now: {lines:?}");
    for line in lines {
        let attributes: Vec<_> = line.split("; ").collect();
        assert!(line.starts_with("__Host-platform_"), "{line}");
        assert!(["Secure", "HttpOnly", "Path=/", "SameSite=Lax"].iter().all(|own| attributes.contains(own)), "{line}");
        assert!(!line.contains("Domain"), "{line}");
    }
    let page = Request::to("GET", url("/applications")).host("localhost:8443").cookies(&answer.cookies());
    assert_eq!(page.send().await.status, 200);
}
