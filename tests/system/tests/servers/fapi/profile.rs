//! Rules of the profile that no module of the suite has.

use grantor::wire::Cors;
use grantor::{AuthorizationServer, MemoryStore};
use support::world::encode;
use support_servers::http::Request;
use system::Thin;

use crate::fapi::answers::{created, e400, ok, redirected};
use crate::fapi::fixture::{CALLBACK, ONE, one};
use crate::fapi::flow::{Flow, Grant};

/// FAPI-5.2.3-01
#[tokio::test]
async fn no_page_of_another_origin_reads_the_authorization_endpoint() {
    one(async |fixture| {
        let mut config = fixture.server.config().clone();
        config.cors = Cors::AnyOrigin;
        let server = AuthorizationServer::builder(config, MemoryStore::new()).build().unwrap();
        for thin in Thin::BOTH {
            let address = thin.start_with(&server);
            for (path, is_for_pages) in [("/oauth2/auth", false), ("/oauth2/token", true)] {
                for method in ["GET", "OPTIONS"] {
                    let request = Request::new(method, path).header("Origin", "https://page.test");
                    let answer = request.header("Access-Control-Request-Method", "POST").send_to(address).await;
                    let is_cors = |(name, _): &(String, String)| name.starts_with("access-control-");
                    assert_eq!(answer.headers.iter().any(is_cors), is_for_pages, "{method} {path} {answer:?}");
                }
            }
        }
    })
    .await;
}

/// FAPI-5.3.2.1-07
#[tokio::test]
async fn no_error_leads_to_an_address_that_is_not_registered() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        for uri in ["https://evil.test/callback", "https://suite.test/", "javascript:alert(1)"] {
            let plain = [("client_id", flow.party.id), ("response_type", "code"), ("redirect_uri", uri)];
            let answer = Request::get("/oauth2/auth").query(encode(&plain)).send_to(fixture.address).await;
            crate::fapi::answers::page(&answer);
        }
    })
    .await;
}

/// FAPI-5.3.2.2-10, FAPI-5.3.2.2-11, FAPI-5.3.2.2-07
#[tokio::test]
async fn every_redirect_is_303_with_the_issuer() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        for button in ["allow", "deny"] {
            let uri = created(&flow.push().send().await);
            redirected(&flow.decide(&flow.link(&uri), button).await, CALLBACK);
        }
        let plain =
            flow.link_of(&[("client_id", flow.party.id), ("response_type", "code"), ("redirect_uri", CALLBACK)]);
        redirected(&flow.visit(&plain).await, CALLBACK);
    })
    .await;
}

/// FAPI-5.3.2.2-09
#[tokio::test]
async fn fifty_exchanges_of_a_code_give_one_grant_at_most() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let code = flow.code().await;
        let calls: Vec<_> = (0..50).map(|_| flow.exchange(&code)).collect();
        let answers = futures::future::join_all(calls.iter().map(|call| call.send())).await;
        let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((good.len(), bad.len()), (1, 49));
        bad.into_iter().for_each(|answer| e400(answer, "invalid_grant"));
        let ended = flow.resource(&ok(good[0]).access).send().await;
        assert_eq!(ended.status, 401);
    })
    .await;
}

/// FAPI-5.4.1-01
#[tokio::test]
async fn every_secret_has_256_bits() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let uri = created(&flow.push().send().await);
        let code = flow.code_of(&flow.decide(&flow.link(&uri), "allow").await);
        let tokens = ok(&flow.exchange(&code).send().await);
        let reference = uri.rsplit_once(':').unwrap().1;
        let machine = flow.tokens(Grant::ClientCredentials).await;
        // An id of 22 characters, and 43 characters of base64url for 32 bytes.
        for secret in [&code, &tokens.access, &machine.access] {
            assert_eq!(secret.split_once('_').unwrap().1.len(), 22 + 43, "{secret}");
        }
        assert!(reference.len() >= 22 + 43, "{reference}");
        assert!(tokens.refresh.split_once('_').unwrap().1.len() >= 22 + 88, "{}", tokens.refresh);
    })
    .await;
}
