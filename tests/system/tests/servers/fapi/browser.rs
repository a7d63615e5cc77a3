//! The pages of the thin server.

use grantor::ClientId;
use grantor::client::{AuthenticationMethods, ClientKeys, GrantType};
use support_servers::http::{Page, Request};

use crate::fapi::answers::{created, page, served};
use crate::fapi::fixture::{CALLBACK, ONE, all, one};
use crate::fapi::flow::{Flow, GRANTS};

/// FAPI-FIX-04, FAPI-5.3.2.2-13, FAPI-5.3.2.1-14
#[tokio::test]
async fn the_consent_page_is_a_plain_form_with_two_buttons() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let link = flow.link(&created(&flow.push().send().await));
        let Page { html, .. } = flow.consent_page(&link).await;
        for part in ["id=\"approve\"", "id=\"deny\"", "client-one", "suite.test", "alice", "account-profile:r"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<script"), "{html}");
        let answer = flow.visit(&link).await;
        assert!(answer.header("content-type").unwrap().starts_with("text/html"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("form-action 'self' https: http:; "), "the redirect leaves: {policy}");
        page(&flow.visit(&flow.link("urn:ietf:params:oauth:request_uri:made-up")).await);
    })
    .await;
}

/// FAPI-FIX-03
#[tokio::test]
async fn the_resource_gives_the_interaction_back() {
    all(async |fixture| {
        for grant in GRANTS {
            let flow = Flow::new(fixture, ONE);
            let tokens = flow.tokens(grant).await;
            let id = "73c6c6a1-7d84-4a4e-8f1f-6f9a5f1d2f00";
            let answer = flow.resource(&tokens.access).header("x-fapi-interaction-id", id).send().await;
            served(fixture, &answer);
            assert_eq!(answer.header("x-fapi-interaction-id"), Some(id));
            let answer = flow.resource(&tokens.access).send().await;
            assert_eq!(answer.header("x-fapi-interaction-id"), None);
        }
        let bare = Request::get("/api/me").send_to(fixture.address).await;
        assert_eq!(bare.status, 401);
        assert!(bare.header("www-authenticate").unwrap().starts_with("DPoP "), "{bare:?}");
    })
    .await;
}

/// FAPI-FIX-02
#[tokio::test]
async fn both_clients_are_registered_as_the_file_says() {
    all(async |fixture| {
        for party in &fixture.parties {
            let id = ClientId::new(party.id).unwrap();
            let client = fixture.server.client(&id).await.unwrap().expect("it is registered");
            assert_eq!(client.form().authentication_methods, AuthenticationMethods::KEY);
            let Some(ClientKeys::Set(keys)) = &client.form().keys else { panic!("{:?}", client.form().keys) };
            let keys: serde_json::Value = serde_json::from_str(keys.as_str()).unwrap();
            assert_eq!(keys["keys"].as_array().unwrap().len(), 1);
            assert_eq!(keys["keys"][0]["alg"], fixture.variant.algorithm);
            let uris: Vec<_> = client.form().redirect_uris.iter().map(|uri| uri.as_str().to_owned()).collect();
            assert_eq!(uris, [CALLBACK.to_owned(), format!("{CALLBACK}?dummy1=lorem&dummy2=ipsum")]);
            let all = [GrantType::AuthorizationCode, GrantType::RefreshToken, GrantType::ClientCredentials];
            assert!(all.iter().all(|grant_type| client.form().grant_types.contains(*grant_type)));
        }
    })
    .await;
}
