//! The decision of the user.

use crate::trio::{COOKIE, Trio};
use support::http::Request;

const SCOPE: (&str, &str) = ("scope", "account-profile:r");

/// HTTP-02
#[tokio::test]
async fn a_decision_is_taken_once_and_by_who_was_asked() {
    let trio = Trio::start().await;
    let query = trio.query(&[("state", "a b&c=%\u{e4}"), ("scope", "account-profile:r repo-code:r")]);
    for (decision, scopes) in [
        ("allow", &["account-profile:r"][..]),
        ("allow", &["account-profile:r", "repo-code:r"]),
        ("allow", &[]),
        ("deny", &["account-profile:r"]),
    ] {
        let handle = trio.handle(&query).await;
        let mut form = vec![("handle", handle.as_str()), ("decision", decision)];
        form.extend(scopes.iter().map(|scope| ("scope", *scope)));
        let answer = || Request::post("/consent", &form);
        trio.answer_all(&[
            (400, answer()),
            (400, answer().header("Cookie", "session=a07e45b405e4a07e45b405e4a07e45b4")),
            (400, answer().header("Cookie", "session=")),
            (400, answer().header("Cookie", b"session=\xff")),
            (302, answer().header("Cookie", COOKIE)),
            (400, answer().header("Cookie", COOKIE)),
        ])
        .await;
    }
}

/// HTTP-02
#[tokio::test]
async fn a_form_that_no_page_made_decides_nothing() {
    let trio = Trio::start().await;
    let handle = trio.handle(&trio.query(&[])).await;
    let form = [("handle", handle.as_str()), ("decision", "allow"), SCOPE];
    let consent = |form: &[(&str, &str)]| Request::post("/consent", form).header("Cookie", COOKIE);
    let oversized = format!("handle={handle}&decision=deny&x={}", "a".repeat(trio.body_limit()));
    let mut head = consent(&[]);
    head.method = "HEAD".into();
    trio.answer_all(&[
        (400, consent(&[])),
        (400, consent(&[("handle", &handle)])),
        (400, consent(&[("decision", "allow")])),
        (400, consent(&[("handle", ""), ("decision", "allow")])),
        (400, consent(&[("handle", "unknown"), ("decision", "allow")])),
        (400, consent(&[("handle", &handle.replace(|own: char| own.is_ascii_digit(), "A")), ("decision", "deny")])),
        (400, consent(&[("handle", &handle), ("decision", "allow"), ("scope", "repo-delete:rw")])),
        (400, consent(&[("handle", &handle), ("decision", "allow"), SCOPE, ("resource", "")])),
        (400, consent(&[]).body(&oversized)),
        (400, consent(&[]).body(&oversized).chunked(1_000)),
        (400, consent(&[]).body(b"handle=%ff&decision=%ff")),
        (400, consent(&[]).body(b"handle=\xff&decision=allow")),
        (400, head),
        (400, Request::get("/consent").header("Cookie", COOKIE)),
        (400, Request::get("/consent").query(support::world::encode(&form)).header("Cookie", COOKIE)),
        (302, consent(&form).chunked(7)),
        (400, consent(&form).chunked(7)),
        (400, Request::new("BREW", "/consent").header("Cookie", COOKIE)),
    ])
    .await;
}
