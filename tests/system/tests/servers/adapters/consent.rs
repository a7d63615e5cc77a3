//! The decision of the user.

use grantor::interaction::Flow;
use support_servers::http::{Request, value_after};

use crate::adapters::trio::{CONSENT, COOKIE, Trio};

const SCOPE: (&str, &str) = ("scope", "account-profile:r");

/// HTTP-02
#[tokio::test]
async fn a_decision_is_taken_once_and_by_who_was_asked() {
    let trio = Trio::start().await;
    let query = trio.query(&[("state", "a b&c=%\u{e4}"), ("scope", "account-profile:r repo-code:r")]);
    for (decision, scopes) in [
        ("allow", &["account-profile:r"][..]),
        ("allow", &["account-profile:r", "repo-code:r"]),
        ("deny", &["account-profile:r"]),
    ] {
        let handle = trio.handle(&query).await;
        let mut form = vec![("handle", handle.as_str()), ("decision", decision)];
        form.extend(scopes.iter().map(|scope| ("scope", *scope)));
        let answer = || Request::post(CONSENT, &form);
        let other = if decision == "allow" { "deny" } else { "allow" };
        let other = [("handle", handle.as_str()), ("decision", other), SCOPE];
        trio.answer_all(&[
            (400, answer()),
            (400, answer().header("Cookie", COOKIE.replace("c0ffee", "decaf0"))),
            (400, answer().header("Cookie", COOKIE.replace("5e55", ""))),
            (400, answer().header("Cookie", [COOKIE.as_bytes(), b"\xff"].concat())),
            (302, answer().header("Cookie", COOKIE)),
            (302, answer().header("Cookie", COOKIE)),
            (400, answer().header("Cookie", COOKIE.replace("c0ffee", "decaf0"))),
            (400, Request::post(CONSENT, &other).header("Cookie", COOKIE)),
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
    let consent = |form: &[(&str, &str)]| Request::post(CONSENT, form).header("Cookie", COOKIE);
    let oversized = format!("handle={handle}&decision=deny&x={}", "a".repeat(Flow::FORM_BYTES));
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
        (405, head),
        (405, Request::get(CONSENT).header("Cookie", COOKIE)),
        (405, Request::get(CONSENT).query(support::world::encode(&form)).header("Cookie", COOKIE)),
        (302, consent(&form).chunked(7)),
        (302, consent(&form).chunked(7)),
        (400, consent(&[("handle", &handle), ("decision", "deny"), SCOPE]).chunked(7)),
        (405, Request::new("BREW", CONSENT).header("Cookie", COOKIE)),
    ])
    .await;
}

/// HTTP-02
#[tokio::test]
async fn an_answer_that_allows_nothing_is_asked_again() {
    let trio = Trio::start().await;
    let query = trio.query(&[("state", "x"), ("scope", "account-profile:r repo-code:r")]);
    let handle = trio.handle(&query).await;
    let return_to = format!("/oauth2/auth?{query}");
    let form = [("handle", handle.as_str()), ("decision", "allow"), ("return_to", &return_to)];
    let again = trio.answers(422, &Request::post(CONSENT, &form).header("Cookie", COOKIE)).await.text();
    let handle = value_after(&again, "name=\"handle\"");
    let form = [("handle", handle), ("decision", "allow"), ("return_to", &return_to), SCOPE];
    trio.answers(302, &Request::post(CONSENT, &form).header("Cookie", COOKIE)).await;
    let elsewhere = [("handle", handle), ("decision", "allow"), ("return_to", "/elsewhere?x")];
    trio.answers(400, &Request::post(CONSENT, &elsewhere).header("Cookie", COOKIE)).await;
}
