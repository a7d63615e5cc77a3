//! What the third-party application keeps.

use std::fs;
use std::path::PathBuf;

use reqwest::StatusCode;
use reqwest::header::COOKIE;
use serde_json::Value;

use crate::started::Example;
use crate::{ALICE, cookies, http, location, sign_in, value_after};

/// Anybody can begin to connect; the file is written for those who have.
#[tokio::test]
async fn a_stranger_makes_no_file_be_written() {
    let platform = Example::platform("strangers");
    let file = PathBuf::from(format!("{}-release-notes.json", platform.database().display()));
    let own = |path: &str| format!("{}{path}", platform.about("third_party"));
    for _ in 0..20 {
        let begun = http().get(own("/connect")).send().await.unwrap();
        assert_eq!(begun.status(), StatusCode::SEE_OTHER);
        let visitor = cookies(&begun);
        for path in ["/", "/account", "/callback?state=x&code=x"] {
            http().get(own(path)).header(COOKIE, &visitor).send().await.unwrap();
        }
    }
    assert!(!file.exists(), "{}", fs::read_to_string(&file).unwrap_or_default());

    // What was begun is remembered all the same, and kept once it has led to a connection.
    let begun = http().get(own("/connect")).send().await.unwrap();
    let (visitor, question) = (cookies(&begun), location(&begun));
    let alice = cookies(&sign_in(&platform, ALICE).send().await.unwrap());
    let page = http().get(question).header(COOKIE, &alice).send().await.unwrap().text().await.unwrap();
    let answer =
        [("handle", value_after(&page, "name=\"handle\"")), ("scope", "account-profile:r"), ("decision", "allow")];
    let allowed = http().post(platform.url("/consent")).header(COOKIE, &alice).form(&answer).send().await.unwrap();
    let connected = http().get(location(&allowed)).header(COOKIE, visitor).send().await.unwrap();
    assert_eq!(location(&connected).path(), "/account");
    let page = http().get(own("/account")).header(COOKIE, cookies(&connected)).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    let kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(kept["sessions"].as_object().unwrap().len(), 1);
    assert_eq!(kept["connections"].as_object().unwrap().len(), 1);
}
