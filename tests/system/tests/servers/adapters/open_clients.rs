//! Clients that register themselves at the thin servers with `--open-clients`.

use serde_json::json;
use support::world::{PKCE, encode};
use support_servers::http::{Page, Request};
use system::Thin;
use url::Url;

const URI: &str = "http://127.0.0.1/callback";

fn registration(issuer: &str) -> Request {
    let metadata =
        json!({ "client_name": "App & Co", "redirect_uris": [URI], "token_endpoint_auth_method": "none" }).to_string();
    Request::to("POST", format!("{issuer}/oauth2/register")).header("Content-Type", "application/json").body(metadata)
}

/// 7591-3-01, 7591-5-04
#[tokio::test]
async fn a_stranger_registers_where_it_is_switched_on_and_the_page_says_so() {
    for thin in Thin::BOTH {
        let closed = thin.start(&["--profile", "mcp"]);
        assert_eq!(registration(&closed.issuer).send().await.status, 404, "{}", thin.name());
        let open = thin.start(&["--profile", "mcp", "--open-clients"]);
        let answer = registration(&open.issuer).send().await;
        assert_eq!(answer.status, 201, "{}: {answer:?}", thin.name());
        let id = answer.json()["client_id"].as_str().unwrap().to_owned();
        let own = [("response_type", "code"), ("client_id", &*id), ("redirect_uri", URI)];
        let question = format!("{}/oauth2/auth?{}", open.issuer, encode(&[&own[..], &PKCE].concat()));
        let page = Page::open(&Url::parse(&question).unwrap(), "").await;
        for words in [
            "has reviewed this application",
            "App &#38; Co</bdi></strong>. That is its own claim.",
            "on your own device",
        ] {
            assert!(page.html.contains(words), "{}: no {words:?} in {}", thin.name(), page.html);
        }
        let callback = page.decide(&[("decision", "allow")]).await;
        assert!(callback.query_pairs().any(|(name, _)| name == "code"), "{callback}");
    }
}
