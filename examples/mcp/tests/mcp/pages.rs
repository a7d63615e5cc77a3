//! The consent page of an unreviewed client.

use serde_json::json;
use support_servers::http::{Page, Request};

use crate::{Client, Server, metadata};

/// 7591-5-04, CIMD-8.5-01, MCP-1125-04
#[tokio::test]
async fn the_page_says_that_nobody_reviewed_the_client() {
    let server = Server::start(&[]);
    let mut sent = metadata();
    sent["client_name"] = "<b>Known & Trusted</b>".into();
    sent["logo_uri"] = "http://127.0.0.1:9/logo.png".into();
    sent["client_uri"] = "https://client.example/".into();
    let named = server.post_registration(&sent).await;
    let id = named.json()["client_id"].as_str().unwrap().to_owned();
    let client = Client { id, redirect_uri: "http://127.0.0.1:4711/callback".into() };
    let page = Page::open(&server.question(&client, &[]), "").await.html;
    for words in [
        "Nobody at <strong><bdi>Notes</bdi></strong> has reviewed this application.",
        "Your answer goes to <strong><bdi>127.0.0.1</bdi></strong>.",
        "<bdi>&#60;b&#62;Known &#38; Trusted&#60;/b&#62;</bdi></strong>. That is its own claim.",
        "It was first seen here on <strong><bdi>20",
        "any program can claim to be this application",
        "Signed in as <strong><bdi>alice</bdi></strong>",
        "Read your notes",
        "<li>Notes <code ",
    ] {
        assert!(page.contains(words), "no {words:?} in {page}");
    }
    let host = page.find("<bdi>127.0.0.1</bdi>").unwrap();
    assert!(host < page.find("Known").unwrap(), "first where the answer goes, then its own claims");
    for loaded in ["<b>", "<img", "<script", "<link", "logo.png", "client.example"] {
        assert!(!page.contains(loaded), "{loaded} in {page}");
    }
}

/// 7591-5-04, NEG-OC-05
#[tokio::test]
async fn the_page_is_shown_each_time() {
    let server = Server::start(&[]);
    let client = server.register().await;
    let first = Page::open(&server.question(&client, &[]), "").await;
    first.decide(&[("decision", "allow")]).await;
    let again = Request::to("GET", server.question(&client, &[])).cookies(&first.cookies).send().await;
    assert_eq!(again.status, 200, "no silent code");
    let page = again.text();
    assert!(page.contains("name=\"handle\"") && page.contains("has reviewed this application"), "{page}");
}

#[tokio::test]
async fn the_page_of_a_client_that_is_known_has_no_such_words() {
    let server = Server::start(&[]);
    let page = Page::open(&server.question(&server.demo_client(), &[]), "").await.html;
    assert!(page.contains("<h1><strong><bdi>Demo Client</bdi></strong> wants to access"), "{page}");
    assert!(!page.contains("has reviewed"), "{page}");
}

/// RC-IDE-01
#[tokio::test]
async fn the_scheme_of_an_editor_is_accepted_since_it_is_named() {
    let server = Server::start(&[]);
    let desktop = "cursor://anysphere.cursor-mcp/oauth/callback";
    for (uris, application_type, kept) in [
        (vec![desktop], None, 1),
        (
            vec![desktop, "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"],
            Some("web"),
            3,
        ),
        (vec![desktop, "other://x/callback"], None, 1),
    ] {
        let mut sent = json!({ "client_name": "Editor", "redirect_uris": uris, "token_endpoint_auth_method": "none" });
        if let Some(application_type) = application_type {
            sent["application_type"] = application_type.into();
        }
        let answer = server.post_registration(&sent).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let answer = answer.json();
        assert_eq!(answer["redirect_uris"].as_array().unwrap().len(), kept);
        let client = Client { id: answer["client_id"].as_str().unwrap().to_owned(), redirect_uri: desktop.into() };
        let page = Page::open(&server.question(&client, &[]), "").await;
        assert!(page.html.contains("<bdi>cursor</bdi>"), "{}", page.html);
        let callback = page.decide(&[("decision", "allow")]).await;
        assert!(callback.as_str().starts_with(desktop), "{callback}");
        assert_eq!(server.exchange(&client, &crate::code(&callback)).await.status, 200);
    }
    // Another editor registers two https addresses and two on the loopback, and then uses another port.
    let uris = [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
    ];
    let sent = json!({ "client_name": "Editor", "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    let answer = server.post_registration(&sent).await.json();
    assert_eq!(answer["redirect_uris"].as_array().unwrap().len(), uris.len());
    let id = answer["client_id"].as_str().unwrap().to_owned();
    let client = Client { id, redirect_uri: "http://127.0.0.1:51234/".into() };
    let callback = Page::open(&server.question(&client, &[]), "").await.decide(&[("decision", "allow")]).await;
    assert_eq!(server.exchange(&client, &crate::code(&callback)).await.status, 200);
}
