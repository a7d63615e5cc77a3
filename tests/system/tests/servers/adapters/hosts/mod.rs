//! Hosts of the Model Context Protocol, as `tests/data/hosts.json` has them recorded. The vectors are sent unchanged
//! but for origin, port, time and signature, through both adapters.

/// The report of the example for MCP.
#[path = "../../../../../../examples/mcp/src/hosts.rs"]
mod mcp_hosts;
mod service;

use grantor::config::DynamicRegistration;
use grantor::fetch::FetchResponse;
use grantor::redirect_uri::PrivateUseSchemes;
use grantor::scope::ScopeSet;
use serde_json::{Value, json};
use support::world::{CHALLENGE, SCOPES, VERIFIER, encode};
use support_servers::http::{Page, Request};
use url::Url;

use self::service::{Service, host};

const PORT: &str = "58135";

/// HOST-CHATGPT-01, HOST-VEC-01
#[tokio::test]
async fn host_chatgpt_01_is_a_public_client_where_keys_are_not_offered() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("ChatGPT");
        let code = service.authorized(&document, &document["redirect_uris"][0], &[]).await;
        service.tokens(&code, &document, &document["redirect_uris"][0]).await;
    }
}

/// HOST-CHATGPT-02, HOST-AUD-01
#[tokio::test]
async fn host_chatgpt_02_signs_for_the_token_url_where_keys_are_offered() {
    for service in Service::both(service::with_keys).await {
        let document = service.publish("ChatGPT");
        let uri = &document["redirect_uris"][0];
        let code = service.authorized(&document, uri, &[]).await;
        let form = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
        let form = [&form[..], &[("redirect_uri", uri.as_str().unwrap())]].concat();
        let tokens = service.signed("token", &form).await;
        assert_eq!(tokens.status, 200, "{}: {tokens:?}", service.name);
        let refresh = tokens.json()["refresh_token"].as_str().unwrap().to_owned();
        let tokens = service.signed("token", &[("grant_type", "refresh_token"), ("refresh_token", &refresh)]).await;
        assert_eq!(tokens.status, 200, "{}: {tokens:?}", service.name);
        let refresh = tokens.json()["refresh_token"].as_str().unwrap().to_owned();
        assert_eq!(service.signed("revoke", &[("token", &refresh)]).await.status, 200, "{}", service.name);
        assert_eq!(service.signed("introspect", &[("token", &refresh)]).await.status, 401, "{}", service.name);
    }
}

/// HOST-CHATGPT-03
#[tokio::test]
async fn host_chatgpt_03_has_one_document_per_connection_and_a_stable_one() {
    for service in Service::both(|_| {}).await {
        let stable = service.publish("ChatGPT");
        let mut own = stable.clone();
        own["client_id"] = "https://chatgpt.com/oauth/abc/client.json".into();
        own["redirect_uris"] = json!(["https://chatgpt.com/connector/oauth/abc"]);
        service.publish_document(&own);
        let metadata = service.get("/.well-known/oauth-authorization-server").await.json();
        assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
        for document in [&stable, &own] {
            let callback = service.callback(document, &document["redirect_uris"][0], &[]).await;
            assert!(
                callback
                    .query_pairs()
                    .any(|(name, value)| name == "iss" && value == metadata["issuer"].as_str().unwrap())
            );
            let other = json!("https://chatgpt.com/connector/oauth/other");
            assert_eq!(service.ask(document, &other, &[]).await.status, 400, "{}", service.name);
        }
    }
}

/// HOST-CHATGPT-04
#[tokio::test]
async fn host_chatgpt_04_registers_where_documents_are_off() {
    for service in Service::both(|config| config.registration.metadata_documents = false).await {
        let client = service.registered("ChatGPT").await;
        assert!(client.get("client_secret").is_none(), "{client}");
        let uri = &client["redirect_uris"][0];
        let code = service.authorized(&client, uri, &[("scope", SCOPES)]).await;
        service.tokens(&code, &client, uri).await;
    }
}

/// HOST-CODEX-01
#[tokio::test]
async fn host_codex_01_any_port_is_accepted_and_the_issuer_is_one_text() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Codex");
        for registered in ["http://127.0.0.1/callback", "http://localhost/callback"] {
            let uri = json!(registered.replace("/callback", &format!(":{PORT}/callback")));
            let callback = service.callback(&document, &uri, &[]).await;
            assert_eq!(callback.port(), PORT.parse().ok());
            let iss = callback.query_pairs().find(|(name, _)| name == "iss").unwrap().1.into_owned();
            let metadata = service.get("/.well-known/oauth-authorization-server").await.json();
            assert_eq!(metadata["issuer"], *iss);
            assert!(!iss.ends_with('/'), "{iss}");
        }
    }
}

/// HOST-CLAUDE-01, HOST-CLAUDE-02
#[tokio::test]
async fn host_claude_01_registers_with_a_secret_in_the_form() {
    for service in Service::both(|_| {}).await {
        let client = service.registered("Claude").await;
        let (id, secret) = (client["client_id"].as_str().unwrap(), client["client_secret"].as_str().unwrap());
        let uri = &client["redirect_uris"][0];
        // Without a challenge, it asks for every scope of the metadata.
        let metadata = service.get("/.well-known/oauth-authorization-server").await.json();
        let all: Vec<_> = metadata["scopes_supported"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let all = all.join(" ") + " openid offline_access";
        let code = service.authorized(&client, uri, &[("scope", &all)]).await;
        let own = [("client_id", id), ("client_secret", secret)];
        let tokens = service.exchange(&code, uri, &own, None).await;
        assert_eq!((tokens.status, tokens.json()["scope"].as_str()), (200, Some(SCOPES)), "{}", service.name);
    }
}

/// HOST-CLAUDE-03
#[tokio::test]
async fn host_claude_03_a_blocked_document_is_one_page_and_a_finding() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Claude");
        let id = document["client_id"].as_str().unwrap();
        let mut blocked = FetchResponse::new(403, "<html>Just a moment</html>");
        blocked.content_type = Some("text/html".into());
        service.web.answer(id, blocked);
        service.world.events.take();
        assert_eq!(service.ask(&document, &document["redirect_uris"][0], &[]).await.status, 400);
        let events = service.world.events.take();
        assert!(events.iter().any(|event| event.contains("Status(403)")), "{events:?}");
        let findings = mcp_hosts::report_documents(&service.world.server).await;
        let finding = findings.iter().find(|finding| finding.host == "Claude").unwrap();
        assert!(finding.message.starts_with(&format!("{id} answered 403 to this machine")), "{finding}");
    }
}

/// HOST-CLAUDE-04
#[tokio::test]
async fn host_claude_04_two_refreshes_at_once_get_one_pair() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Claude");
        let uri = &document["redirect_uris"][0];
        let tokens = service.tokens(&service.authorized(&document, uri, &[]).await, &document, uri).await;
        let refresh = || service.refresh(&document, &tokens["refresh_token"]);
        let (one, other) = futures::join!(refresh(), refresh());
        assert_eq!((one.status, one.json()["refresh_token"].clone()), (200, other.json()["refresh_token"].clone()));
        service.world.advance(119);
        assert_eq!(refresh().await.json()["refresh_token"], one.json()["refresh_token"], "{}", service.name);
    }
}

/// HOST-CLAUDE-05
#[tokio::test]
async fn host_claude_05_registers_anew_at_each_failed_start() {
    for service in Service::both(|_| {}).await {
        for _ in 0..16 {
            service.registered("Claude Code").await;
        }
        let unknown = json!({"client_id": "AAAAAAAAAAAAAAAAAAAAAA"});
        let refused = service.exchange("x", &json!("http://localhost/callback"), &service::by_id(&unknown), None).await;
        assert_eq!((refused.status, refused.json()["error"].clone()), (401, json!("invalid_client")));
    }
}

/// HOST-CURSOR-01
#[tokio::test]
async fn host_cursor_01_returns_to_its_scheme_where_that_is_named() {
    let scheme = &host("Cursor")["registration"]["redirect_uris"][0];
    let named = |config: &mut grantor::Config| {
        config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()]);
    };
    for service in Service::both(named).await {
        let client = service.registered("Cursor").await;
        for uri in client["redirect_uris"].as_array().unwrap() {
            service.tokens(&service.authorized(&client, uri, &[]).await, &client, uri).await;
        }
        assert_eq!(client["redirect_uris"][0], *scheme);
    }
    for service in Service::both(|_| {}).await {
        let client = service.registered("Cursor").await;
        assert_eq!(service.ask(&client, scheme, &[]).await.status, 400, "the page");
        service.authorized(&client, &client["redirect_uris"][0], &[]).await;
    }
}

/// HOST-VSCODE-01
#[tokio::test]
async fn host_vscode_01_sends_its_resource_and_a_state_with_escapes() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("VS Code");
        let query = host("VS Code")["authorize"].as_str().unwrap().to_owned();
        let query = query.replace("{C}", CHALLENGE).replace("{S}", "repo-code:r").replace("{O}", service.issuer());
        let page = Page::open(&service.url(&format!("/oauth2/auth?{query}")), "").await;
        let callback = page.decide(&[("decision", "allow")]).await;
        assert!(callback.query().unwrap().contains("state=gXVXo0%2FiMD8WMolDHKxSTg%3D%3D"), "{callback}");
        let code = service::code(&callback);
        let tokens = service.tokens(&code, &document, &document["redirect_uris"][0]).await;
        assert_eq!(tokens["scope"], "repo-code:r");
        let any_port = json!(format!("http://127.0.0.1:{PORT}/"));
        service.authorized(&document, &any_port, &[]).await;
        let registered = service.register(&host("VS Code")["document"]).await;
        assert_eq!(registered["grant_types"], json!(["authorization_code", "refresh_token"]), "no device code");
    }
}

/// HOST-COPILOT-01
#[tokio::test]
async fn host_copilot_01_asks_with_another_port() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Copilot CLI");
        let uri = json!(format!("http://127.0.0.1:{PORT}/"));
        service.tokens(&service.authorized(&document, &uri, &[]).await, &document, &uri).await;
    }
}

/// HOST-GEMINI-01, HOST-GEMINI-02
#[tokio::test]
async fn host_gemini_01_registers_with_members_that_are_not_known() {
    for service in Service::both(|_| {}).await {
        let client = service.registered("Gemini CLI").await;
        let uri = &client["redirect_uris"][0];
        let resource = format!("{}/mcp", service.issuer());
        let document = service.get("/.well-known/oauth-protected-resource/mcp").await.json();
        assert_eq!(document["resource"], *resource);
        // Gemini Spark sends no resource.
        for more in [&[("resource", &*resource)][..], &[]] {
            service.tokens(&service.authorized(&client, uri, more).await, &client, uri).await;
        }
    }
}

/// HOST-GOOSE-01, HOST-SCOPE-02
#[tokio::test]
async fn host_goose_01_names_only_scopes_of_other_servers() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Goose");
        let uri = json!(format!("http://localhost:{PORT}/oauth_callback"));
        let tokens = service.tokens(&service.authorized(&document, &uri, &[]).await, &document, &uri).await;
        assert_eq!((&tokens["scope"], tokens.get("refresh_token")), (&json!(SCOPES), None), "{}", service.name);
    }
}

/// HOST-CSHARP-01
#[tokio::test]
async fn host_csharp_01_basic_without_a_secret_counts_as_none() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Codex");
        let uri = json!(format!("http://localhost:{PORT}/callback"));
        let code = service.authorized(&document, &uri, &[]).await;
        let id = document["client_id"].as_str().unwrap();
        let answer = service.exchange(&code, &uri, &[], Some(id)).await;
        assert_eq!(answer.status, 200, "{}: {answer:?}", service.name);
    }
}

/// HOST-V0-01
#[tokio::test]
async fn host_v0_01_a_first_token_for_ever_is_refused_after_the_grace() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Claude");
        let uri = &document["redirect_uris"][0];
        let tokens = service.tokens(&service.authorized(&document, uri, &[]).await, &document, uri).await;
        let refresh = || service.refresh(&document, &tokens["refresh_token"]);
        assert_eq!(refresh().await.status, 200);
        service.world.advance(3600);
        let refused = refresh().await;
        assert_eq!((refused.status, refused.json()["error"].clone()), (400, json!("invalid_grant")));
        assert!(service.world.server.grants_of(&service.world.alice).await.unwrap().is_empty());
        service.authorized(&document, uri, &[]).await;
    }
}

/// HOST-EMBED-01
#[tokio::test]
async fn host_embed_01_pages_work_in_a_web_view() {
    for service in Service::both(|_| {}).await {
        let document = service.publish("Claude");
        let page = service.ask(&document, &document["redirect_uris"][0], &[]).await;
        assert!(page.header("set-cookie").unwrap().contains("SameSite=Lax"), "{page:?}");
        let policy = page.header("content-security-policy").unwrap_or_default();
        let form_action = policy.split(';').find(|directive| directive.trim().starts_with("form-action"));
        assert!(form_action.is_none_or(|sources| sources.contains("https:")), "{policy}");
    }
}

/// HOST-DISC-01
#[tokio::test]
async fn host_disc_01_the_root_form_finds_nothing_of_an_issuer_with_a_path() {
    let with_path = |config: &mut grantor::Config| config.issuer = "https://auth.example/tenant".into();
    for service in Service::both(with_path).await {
        assert_eq!(service.get("/.well-known/oauth-authorization-server").await.status, 404, "{}", service.name);
        let found = service.get("/.well-known/oauth-authorization-server/tenant").await;
        assert_eq!(found.json()["issuer"], "https://auth.example/tenant");
        let findings = mcp_hosts::report(service.world.server.config(), &ScopeSet::empty());
        assert!(findings.iter().any(|finding| (finding.host, finding.setting) == ("Claude Code", "issuer")));
    }
}

/// HOST-CLAUDE-03
///
/// It registers where documents are off.
#[tokio::test]
async fn host_claude_03_registers_where_documents_are_off() {
    let registers = |config: &mut grantor::Config| {
        config.registration.metadata_documents = false;
        config.registration.dynamic = DynamicRegistration::Open;
    };
    for service in Service::both(registers).await {
        let metadata = service.get("/.well-known/oauth-authorization-server").await.json();
        assert_eq!(metadata.get("client_id_metadata_document_supported"), None);
        service.registered("Claude").await;
    }
}
