//! The flow of a client, from the address of the MCP server to a tool call.

use serde_json::json;
use support_servers::http::Request;

use crate::{Server, challenged, said, text};

/// 9728-3.3-01, MCP-0618-10
#[tokio::test]
async fn a_stranger_finds_the_way_from_the_address_to_a_tool() {
    let server = Server::start(&[]);
    let address = server.about("resource_url").to_owned();
    let refused = server.message(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize" })).send().await;
    assert_eq!(refused.status, 401);
    let document = challenged(&refused, "resource_metadata").unwrap();
    let document = Request::to("GET", document).send().await.json();
    assert_eq!(text(&document, "resource"), address);
    assert_eq!(document["authorization_servers"], json!([server.about("issuer")]));
    assert_eq!(document["scopes_supported"], json!(["notes:r"]));

    let metadata = Request::to("GET", server.url("/.well-known/oauth-authorization-server")).send().await.json();
    assert_eq!(text(&metadata, "registration_endpoint"), server.url("/oauth2/register"));
    let client = server.register().await;
    let tokens = server.tokens(&client, &[("scope", "notes:r"), ("resource", &address)]).await;
    assert_eq!(text(&tokens, "scope"), "notes:r");
    let token = text(&tokens, "access_token");

    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let begun = server.message(&begin).bearer(token).send().await;
    assert_eq!(begun.json()["result"]["serverInfo"]["name"], "notes", "{begun:?}");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let listed = server.message(&list).bearer(token).send().await.json();
    let names: Vec<_> = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| text(tool, "name")).collect();
    assert_eq!(names, ["list_notes", "publish_note"]);
    assert!(said(&server.call(token, "list_notes", json!({})).await).starts_with("Notes of alice"));
}

/// 9728-5.1-04, MCP-1125-02, MCP-0728-02
#[tokio::test]
async fn a_tool_that_needs_more_names_all_scopes_at_once() {
    let server = Server::start(&[]);
    let client = server.register().await;
    let first = server.tokens(&client, &[("scope", "notes:r")]).await;
    let first = text(&first, "access_token");
    let refused = server.call(first, "publish_note", json!({ "note": "milk" })).await;
    assert_eq!(refused.status, 403);
    assert_eq!(challenged(&refused, "error").as_deref(), Some("insufficient_scope"));
    let needed = challenged(&refused, "scope").unwrap();
    assert_eq!(needed, "notes:rw publish");

    // The scopes of the token are named too, so a client that asks for exactly these loses none.
    let other = server.tokens(&client, &[("scope", "publish")]).await;
    let refused = server.call(text(&other, "access_token"), "list_notes", json!({})).await;
    assert_eq!(challenged(&refused, "scope").as_deref(), Some("notes:r publish"));

    // Clients ask for the scopes they had and those that are needed.
    let more = server.tokens(&client, &[("scope", &format!("notes:r {needed}"))]).await;
    assert_eq!(text(&more, "scope"), "notes:rw publish");
    let more = text(&more, "access_token");
    assert_eq!(said(&server.call(more, "publish_note", json!({ "note": "milk" })).await), "Published by alice: milk");
    assert!(said(&server.call(more, "list_notes", json!({})).await).contains("milk"));
    assert!(said(&server.call(first, "list_notes", json!({})).await).contains("milk"), "the first token stays valid");
}

#[tokio::test]
async fn the_client_that_is_there_already_needs_no_registration() {
    let server = Server::start(&[]);
    let tokens = server.tokens(&server.demo_client(), &[]).await;
    let answer = server.call(text(&tokens, "access_token"), "publish_note", json!({ "note": "bread" })).await;
    assert_eq!(said(&answer), "Published by alice: bread");
}

/// An hour of the server's clock takes less than four seconds here.
#[tokio::test]
async fn a_client_refreshes_an_expired_token_and_revokes_the_grant() {
    let server = Server::start(&["--access-token-lifetime", "900", "--clock-speed", "1000"]);
    let client = server.register().await;
    let first = server.tokens(&client, &[]).await;
    let call =
        async |tokens: &serde_json::Value| server.call(text(tokens, "access_token"), "list_notes", json!({})).await;
    assert!(said(&call(&first).await).contains("alice"));
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    let refused = call(&first).await;
    assert_eq!((refused.status, challenged(&refused, "error").as_deref()), (401, Some("invalid_token")));

    let second = server.refresh(&client, text(&first, "refresh_token")).await;
    assert_eq!(second.status, 200, "{second:?}");
    let second = second.json();
    assert_ne!(text(&second, "refresh_token"), text(&first, "refresh_token"));
    assert!(said(&call(&second).await).contains("alice"));

    let form = [("token", text(&second, "refresh_token")), ("client_id", &client.id)];
    let revoked = Request::to("POST", server.url("/oauth2/revoke")).fields(&form).send().await;
    assert_eq!(revoked.status, 200);
    assert_eq!(call(&second).await.status, 401);
    let refused = server.refresh(&client, text(&second, "refresh_token")).await;
    assert_eq!((refused.status, text(&refused.json(), "error").to_owned()), (400, "invalid_grant".to_owned()));
}
