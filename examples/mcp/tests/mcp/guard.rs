//! What the guard in front of the MCP server refuses.

use serde_json::json;
use support_servers::http::Request;

use crate::{Server, challenged, text};

/// 9728-5.1-01, 9728-5.1-02, 9728-5.1-03
#[tokio::test]
async fn every_method_without_a_token_gets_the_same_challenge() {
    let server = Server::start(&[]);
    let expected = format!(
        "Bearer realm=\"{}\", scope=\"notes:r\", resource_metadata=\"{}\"",
        server.about("issuer"),
        server.url("/.well-known/oauth-protected-resource/mcp")
    );
    for method in ["GET", "HEAD", "POST", "DELETE", "PUT"] {
        let answer = Request::to(method, server.about("resource_url")).send().await;
        assert_eq!((answer.status, answer.headers_of("www-authenticate").next()), (401, Some(&*expected)), "{method}");
    }
    let answer = Request::to("POST", server.about("resource_url")).bearer("at_unknown").send().await;
    assert_eq!((answer.status, challenged(&answer, "error").as_deref()), (401, Some("invalid_token")));
}

/// 9728-3.1-03
#[tokio::test]
async fn the_metadata_is_at_the_path_of_the_server_and_at_the_root() {
    let server = Server::start(&[]);
    let get = async |path: &str| Request::to("GET", server.url(path)).send().await;
    let document = get("/.well-known/oauth-protected-resource/mcp").await;
    assert_eq!(document.status, 200);
    assert_eq!(get("/.well-known/oauth-protected-resource").await.body, document.body);
    for path in ["/.well-known/oauth-protected-resource/other", "/.well-known/openid-configuration", "/mcp/.well-known"]
    {
        assert_eq!(get(path).await.status, 404, "{path}");
    }
}

/// CORS-06
#[tokio::test]
async fn a_page_of_another_origin_passes_its_preflight_and_reads_the_challenge() {
    let server = Server::start(&["--origin", "https://page.example"]);
    let origin = |request: Request| request.header("Origin", "https://page.example");
    let preflight = origin(Request::to("OPTIONS", server.about("resource_url")))
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version");
    let answer = preflight.send().await;
    assert!(answer.status < 300 && answer.header("www-authenticate").is_none(), "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://page.example"));
    let allowed = answer.header("access-control-allow-headers").unwrap();
    assert!(allowed.contains("authorization") && allowed.contains("mcp-protocol-version"), "{allowed}");

    let refused = origin(Request::to("POST", server.about("resource_url"))).send().await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some("https://page.example")));
    let exposed: Vec<_> = refused.headers_of("access-control-expose-headers").collect();
    assert!(exposed.join(",").to_lowercase().contains("www-authenticate"), "{exposed:?}");
    assert_eq!(refused.header("access-control-allow-credentials"), None);
}

/// A page whose name was pointed at this machine has its own name in `Host` and in `Origin`.
#[tokio::test]
async fn a_page_of_an_origin_that_is_not_allowed_is_refused() {
    let server = Server::start(&["--origin", "https://page.example"]);
    let port = server.about("issuer").rsplit(':').next().unwrap().to_owned();
    for (origin, status) in [
        ("http://evil.example", 403),
        (&format!("http://evil.example:{port}"), 403),
        ("https://page.example.evil.example", 403),
        ("https://PAGE.example", 403),
        ("http://page.example", 403),
        ("null", 403),
        ("", 403),
        ("https://page.example", 401),
        (server.about("issuer"), 401),
        (&format!("http://localhost:{port}"), 401),
        ("http://localhost:6274", 401),
        ("http://[::1]", 401),
    ] {
        let request = Request::to("POST", server.about("resource_url")).header("Origin", origin);
        let answer = request.bearer("at_unknown").send().await;
        assert_eq!(answer.status, status, "{origin}");
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!(allowed, (status == 401).then_some(origin), "{origin}");
    }
}

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let server = Server::start(&[]);
    let paths = [
        "/mcp",
        "/oauth2/auth",
        "/register",
        "/oauth2/auth/consent",
        "/.well-known/oauth-authorization-server",
        "/none",
    ];
    for path in paths {
        for method in ["GET", "POST", "OPTIONS"] {
            for (host, is_foreign) in [("evil.example", true), ("127.0.0.1.evil.example", true), ("localhost:1", false)]
            {
                let answer = Request::to(method, server.url(path)).host(host).send().await;
                assert_eq!(answer.status == 421, is_foreign, "{method} {host}{path}: {}", answer.status);
            }
        }
    }
}

/// Behind a proxy, `Host` is the name that clients use.
#[tokio::test]
async fn the_mcp_server_answers_at_its_public_host() {
    let server = Server::start(&["--resource", "https://notes.example/mcp"]);
    let tokens = server.tokens(&server.register().await, &[("scope", "notes:r")]).await;
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let request = Request::to("POST", server.url("/mcp")).host("notes.example").body(message.to_string());
    let request = request.header("Content-Type", "application/json").bearer(text(&tokens, "access_token"));
    let request = request.header("Accept", "application/json, text/event-stream");
    let listed = request.header("MCP-Protocol-Version", "2025-11-25").send().await;
    assert_eq!(listed.status, 200, "{listed:?}");
    assert_eq!(listed.json()["result"]["tools"].as_array().unwrap().len(), 2, "{listed:?}");
}

#[tokio::test]
async fn a_message_is_bounded_and_what_cannot_be_read_calls_no_tool() {
    let server = Server::start(&[]);
    let tokens = server.tokens(&server.register().await, &[("scope", "notes:r")]).await;
    let token = text(&tokens, "access_token");
    let post = async |body: &str| {
        let request = Request::to("POST", server.about("resource_url")).header("Content-Type", "application/json");
        let request = request.header("Accept", "application/json, text/event-stream").bearer(token);
        request.header("MCP-Protocol-Version", "2025-11-25").body(body).send().await
    };
    assert_eq!(post(&"x".repeat(64 * 1024 + 1)).await.status, 413);
    let call = r#""jsonrpc":"2.0","id":1,"method":"tools/call""#;
    let publish = r#"{"name":"publish_note","arguments":{"note":"x"}}"#;
    for body in [
        String::new(),
        "{".to_owned(),
        format!("[{{{call},\"params\":{publish}}}]"),
        // Two parsers may read this message differently.
        format!(r#"{{{call},"params":{publish},"params":{{"name":"list_notes"}}}}"#),
        format!(r#"{{{call},"params":{{"name":"publish_note","name":"list_notes","arguments":{{"note":"x"}}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list","params":{publish}}}"#),
    ] {
        let answer = post(&body).await;
        assert!(!answer.text().contains("Published"), "{body}: {answer:?}");
    }
}

/// 8707-3-01
#[tokio::test]
async fn a_token_is_for_this_server_alone() {
    let server = Server::start(&[]);
    let client = server.register().await;
    let elsewhere = server.question(&client, &[("resource", "https://other.example/mcp")]);
    let answer = Request::to("GET", elsewhere).send().await;
    let location = answer.location(server.about("issuer"));
    assert!(location.query_pairs().any(|pair| pair == ("error".into(), "invalid_target".into())), "{location}");
    let tokens = server.tokens(&client, &[]).await;
    let unknown = server.call(text(&tokens, "access_token"), "no_such_tool", json!({})).await;
    assert_eq!(unknown.status, 200);
    assert!(unknown.json()["error"].is_object(), "{unknown:?}");
}
