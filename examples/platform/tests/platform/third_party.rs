//! What the third-party application keeps.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::{ALICE, location, sign_in, start};
use support_servers::http::{Page, Request};

/// Anyone can begin to connect. The file is written only for those who have connected.
#[tokio::test]
async fn a_stranger_makes_no_file_be_written() {
    let platform = start("strangers");
    let file = PathBuf::from(format!("{}-release-notes.json", platform.database().display()));
    let own = |path: &str| format!("{}{path}", platform.about("third_party"));
    for _ in 0..20 {
        let begun = Request::to("GET", own("/connect")).send().await;
        assert_eq!(begun.status, 303);
        let visitor = begun.cookies();
        for path in ["/", "/account", "/callback?state=x&code=x"] {
            Request::to("GET", own(path)).cookies(&visitor).send().await;
        }
    }
    assert!(!file.exists(), "{}", fs::read_to_string(&file).unwrap_or_default());

    // An attempt is remembered all the same, and kept once it has led to a connection.
    let begun = Request::to("GET", own("/connect")).send().await;
    let (visitor, question) = (begun.cookies(), location(&platform, &begun));
    let alice = sign_in(&platform, ALICE).send().await.cookies();
    let page = Page::open(&question, &alice).await;
    let callback = page.decide(&[("scope", "account-profile:r"), ("decision", "allow")]).await;
    let connected = Request::to("GET", callback).cookies(&visitor).send().await;
    assert_eq!(location(&platform, &connected).path(), "/account");
    let page = Request::to("GET", own("/account")).cookies(&connected.cookies()).send().await;
    assert_eq!(page.status, 200);
    let kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(kept["sessions"].as_object().unwrap().len(), 1);
    assert_eq!(kept["connections"].as_object().unwrap().len(), 1);
}
