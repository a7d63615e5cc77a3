//! A pushed request, from the application's push through the platform's sign-in to the code.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use url::Url;

use crate::{ALICE, location, start};
use support_servers::http::{Page, Request};
use support_servers::started::Started;

/// Pushes a request of the demo application, and returns the address that its user's browser is sent to.
async fn push(platform: &Started) -> Url {
    let (id, secret) = (platform.about("client_id"), platform.about("client_secret"));
    let form = [("response_type", "code"), ("client_id", id), ("redirect_uri", platform.about("redirect_uri"))];
    let answer = Request::to("POST", platform.url("/oauth2/par")).basic(id, secret).fields(&form).send().await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let uri = answer.json()["request_uri"].as_str().unwrap().to_owned();
    let mut question = Url::parse(&platform.url("/oauth2/auth")).unwrap();
    question.query_pairs_mut().append_pair("client_id", id).append_pair("request_uri", &uri);
    question
}

/// Sets the end of the pushed request to a time long ago.
fn end_it(platform: &Started) {
    let database = Connection::open(platform.database()).unwrap();
    let row = "SELECT key, client, record FROM grantor_pushed_requests";
    let (key, client, mut record): (Vec<u8>, String, Vec<u8>) =
        database.query_row(row, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    // Kind, layout, id, version, client, epoch and digest come first, then when it was pushed and when it ends.
    let created = 2 + 16 + 4 + 4 + client.len() + 4 + 32;
    record[created + 4..created + 8].copy_from_slice(&1_u32.to_be_bytes());
    let update = "UPDATE grantor_pushed_requests SET record = ?2 WHERE key = ?1";
    assert_eq!(database.execute(update, params![key, record]).unwrap(), 1);
}

/// 9126-4-04: a session begins at the sign-in, and the browser is still known.
#[tokio::test]
async fn a_pushed_request_outlasts_the_sign_in() {
    for is_late in [false, true] {
        let platform = start(if is_late { "pushed-late" } else { "pushed" });
        let question = push(&platform).await;
        let asked = Request::to("GET", question.clone()).send().await;
        assert_eq!(asked.status, 303);
        let sign_in = location(&platform, &asked);
        assert_eq!(sign_in.path(), "/sign-in");
        let before = asked.cookies();
        assert!(!before.is_empty(), "the browser is remembered");
        if is_late {
            end_it(&platform);
        }
        let shown = Request::to("GET", sign_in.clone()).cookies(&before).send().await;
        assert_eq!(shown.status, 200);
        let next = sign_in.query_pairs().find(|(name, _)| name == "return_to").unwrap().1.into_owned();
        let fields = [("username", ALICE.0), ("password", ALICE.1), ("return_to", &*next)];
        let answer = Request::to("POST", platform.url("/sign-in")).cookies(&before).fields(&fields).send().await;
        assert_eq!(answer.status, 303);
        let after = answer.cookies_after(&before);
        let page = Page::open(&location(&platform, &answer), &after).await;
        let callback = page.decide(&[("decision", "allow")]).await;
        assert!(callback.query_pairs().any(|(name, _)| name == "code"), "{callback}");

        let again = Request::to("GET", question).cookies(&after).send().await;
        assert_eq!(again.status, 400, "it was used");
        let out = Request::to("POST", platform.url("/sign-out")).cookies(&after).fields(&[]).send().await;
        let removes = |line: &str| line.starts_with("grantor-") && line.contains("=;") && line.contains("Max-Age=0");
        assert!(out.headers_of("set-cookie").any(removes), "another user may sit at the browser next");
    }
}

/// NEG-PAR-01: an expired reference asks for no sign-in, and begins no session.
#[tokio::test]
async fn a_dead_reference_asks_nobody_to_sign_in() {
    let platform = start("pushed-dead");
    let question = push(&platform).await;
    end_it(&platform);
    let answer = Request::to("GET", question).send().await;
    assert_eq!(answer.status, 400);
    assert!(!answer.cookies().contains("platform_session"), "{answer:?}");
}

/// A visit writes no row: anyone who has a reference could fill the file with them.
#[tokio::test]
async fn visits_without_a_sign_in_begin_no_session() {
    let platform = start("pushed-visits");
    let question = push(&platform).await;
    let mut names = HashSet::new();
    for _ in 0..20 {
        let answer = Request::to("GET", question.clone()).send().await;
        assert_eq!(answer.status, 303);
        assert!(names.insert(answer.cookies()), "each browser has a name of its own");
    }
    let database = Connection::open(platform.database()).unwrap();
    let sessions: u32 = database.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(sessions, 0);
}
