//! How long sessions last, and the cookies that carry them.

use reqwest::header::{COOKIE, HOST, SET_COOKIE};
use reqwest::{StatusCode, Url};
use rusqlite::Connection;

use crate::started::Example;
use crate::{DEVON, cookies, http, location, sign_in};

const DAYS: i64 = 86_400;

/// However busy it is.
#[tokio::test]
async fn a_session_ends_seven_days_after_the_sign_in() {
    let platform = Example::platform("session-end");
    let devon = cookies(&sign_in(&platform, DEVON).send().await.unwrap());
    let page = async || http().get(platform.url("/applications")).header(COOKIE, &devon).send().await.unwrap();
    assert_eq!(page().await.status(), StatusCode::OK);

    let database = Connection::open(platform.database()).unwrap();
    let query = "SELECT json_extract(data, '$.ends') - unixepoch() FROM sessions";
    let left: i64 = database.query_row(query, [], |row| row.get(0)).unwrap();
    assert!((7 * DAYS - 600..=7 * DAYS).contains(&left), "{left}");
    let change = |left: i64| {
        let update = "UPDATE sessions SET data = json_set(data, '$.ends', unixepoch() + ?1)";
        assert_eq!(database.execute(update, [left]).unwrap(), 1);
    };
    change(600);
    assert_eq!(page().await.status(), StatusCode::OK);
    change(0);
    let answer = page().await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    assert_eq!(location(&answer).path(), "/sign-in");
    let left: i64 = database.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "it is gone, and not only refused");
}

/// The prefix: no other host, and no page that came over plain HTTP, can set such a cookie.
#[tokio::test]
async fn cookies_over_tls_are_those_of_the_host_alone() {
    let platform = Example::platform_with("host-cookies", &["--issuer", "https://localhost:8443"]);
    assert_eq!(platform.about("issuer"), "https://localhost:8443");
    let url = |path: &str| Url::parse(&format!("http://{}{path}", platform.about("listen"))).unwrap();
    let form = [("username", DEVON.0), ("password", DEVON.1)];
    let answer = http().post(url("/sign-in")).header(HOST, "localhost:8443").form(&form).send().await.unwrap();
    let lines: Vec<_> = answer.headers().get_all(SET_COOKIE).iter().map(|line| line.to_str().unwrap()).collect();
    assert_eq!(lines.len(), 2, "the session, and the browser that is known now: {lines:?}");
    for line in lines {
        let attributes: Vec<_> = line.split("; ").collect();
        assert!(line.starts_with("__Host-platform_"), "{line}");
        assert!(["Secure", "HttpOnly", "Path=/", "SameSite=Lax"].iter().all(|own| attributes.contains(own)), "{line}");
        assert!(!line.contains("Domain"), "{line}");
    }
    let page = http().get(url("/applications")).header(HOST, "localhost:8443").header(COOKIE, cookies(&answer));
    assert_eq!(page.send().await.unwrap().status(), StatusCode::OK);
}
