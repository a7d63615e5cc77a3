//! The MCP server in a process of its own.

use std::net::TcpListener;

use serde_json::json;
use support_servers::http::Request;
use support_servers::started::Started;

use crate::{Server, challenged, said, text};

/// A port that is free now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// RSC-16, 9728-5.1-01, 8707-2.2-07
#[tokio::test]
async fn the_mcp_server_asks_the_authorization_server_about_each_token() {
    let listen = format!("127.0.0.1:{}", free_port());
    let url = format!("http://{listen}/mcp");
    let server = Server::start(&["--resource", &url]);
    let options = ["--listen", &listen, "--resource-apart", "--issuer", server.about("issuer")];
    let program = env!("CARGO_BIN_EXE_mcp");
    let apart = Started::start(program, &[&options[..], &["--database", server.database()]].concat());
    assert_eq!((apart.about("resource_url"), server.about("resource_url")), (&*url, &*url));

    // A client that only knows the address finds the authorization server.
    let refused = Request::to("POST", &*url).send().await;
    assert_eq!((refused.status, challenged(&refused, "scope").as_deref()), (401, Some("notes:r")));
    let document = challenged(&refused, "resource_metadata").unwrap();
    assert_eq!(document, format!("http://{listen}/.well-known/oauth-protected-resource/mcp"));
    let document = Request::to("GET", &*document).send().await;
    assert_eq!(document.status, 200);
    assert_eq!(document.json()["authorization_servers"], json!([server.about("issuer")]));

    let client = server.register().await;
    let tokens = server.tokens(&client, &[("scope", "notes:r"), ("resource", &url)]).await;
    let token = text(&tokens, "access_token");
    assert!(said(&server.call(token, "list_notes", json!({})).await).contains("alice"));
    let refused = server.call(token, "publish_note", json!({ "note": "milk" })).await;
    assert_eq!((refused.status, challenged(&refused, "error").as_deref()), (403, Some("insufficient_scope")));

    let form = [("token", token), ("client_id", &*client.id)];
    assert_eq!(Request::to("POST", server.url("/oauth2/revoke")).fields(&form).send().await.status, 200);
    assert_eq!(server.call(token, "list_notes", json!({})).await.status, 401);
}

#[test]
fn the_store_of_proofs_has_to_be_named() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_mcp")).arg("--resource-apart").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("--database"), "{error}");
}
