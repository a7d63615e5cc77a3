//! The settings for documents, and the server's metadata about them.

use grantor::config::Profile;
use grantor::hooks::{ApproveWithin, RegistrationPolicy};
use grantor::wire::message::Metadata;
use grantor::wire::{Endpoint, Request};
use grantor::{AuthorizationServer, Config, ConfigError, MemoryStore};

use super::web::Web;
use super::{bounds, on};
use support::world::config_of;

async fn metadata(config: Config) -> Metadata {
    let server = built(config, Some(ApproveWithin::new(bounds())), Some(Web::default())).unwrap();
    let response = server.serve(Endpoint::Metadata, &Request::new("GET")).await;
    serde_json::from_slice(response.body()).unwrap()
}

fn built(
    config: Config,
    policy: Option<impl RegistrationPolicy>,
    web: Option<Web>,
) -> Result<AuthorizationServer, ConfigError> {
    let mut builder = AuthorizationServer::builder(config, MemoryStore::new());
    if let Some(policy) = policy {
        builder = builder.registration_policy(policy);
    }
    if let Some(web) = web {
        builder = builder.fetcher(web);
    }
    builder.build()
}

/// CIMD-5-01, MCP-1125-03, 8414-2-07
#[tokio::test]
async fn the_metadata_says_whether_documents_are_read() {
    let found = metadata(on()).await;
    assert!(found.client_id_metadata_document_supported);
    let none = "none".to_owned();
    for methods in [found.token_endpoint_auth_methods_supported, found.revocation_endpoint_auth_methods_supported] {
        assert!(methods.contains(&none));
    }
    let server = built(on(), Some(ApproveWithin::new(bounds())), Some(Web::default())).unwrap();
    let response = server.serve(Endpoint::Metadata, &Request::new("GET")).await;
    let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(json["client_id_metadata_document_supported"], true);

    let mut off = config_of(Profile::Mcp);
    off.public_clients = false;
    let found = metadata(off.clone()).await;
    assert!(!found.client_id_metadata_document_supported);
    assert!(!found.token_endpoint_auth_methods_supported.contains(&none));
    assert!(!found.revocation_endpoint_auth_methods_supported.contains(&none));
    let server = built(off, Some(ApproveWithin::new(bounds())), Some(Web::default())).unwrap();
    let response = server.serve(Endpoint::Metadata, &Request::new("GET")).await;
    assert!(!String::from_utf8_lossy(response.body()).contains("client_id_metadata_document"));
}

/// 7591-5-02, 8414-2-07
#[tokio::test]
async fn documents_are_off_and_need_a_policy_and_a_fetcher() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp, Profile::Fapi] {
        assert!(!config_of(profile).registration.metadata_documents);
    }
    let error = |policy: bool, fetcher: bool, public: bool| {
        let mut config = on();
        config.public_clients = public;
        let policy = policy.then(|| ApproveWithin::new(bounds()));
        let error = built(config, policy, fetcher.then(Web::default)).unwrap_err();
        assert_eq!((error.field(), error.value()), ("registration.metadata_documents", "true"));
        error.remedy().to_owned()
    };
    assert!(error(false, true, true).contains("registration_policy"));
    assert!(error(true, false, true).contains("Builder::fetcher"));
    assert!(error(true, true, false).contains("public_clients"));
}

/// CIMD-8.6-03
#[tokio::test]
async fn the_loopback_is_fetched_from_in_development_alone() {
    let policy = || Some(ApproveWithin::new(bounds()));
    let error = built(on(), policy(), Some(Web::on_loopback())).unwrap_err();
    assert_eq!((error.field(), error.value()), ("issuer", "\"https://auth.example\""));
    assert!(error.remedy().contains("loopback"), "{error}");
    let mut config = on();
    config.issuer = "http://127.0.0.1:8080".into();
    config.development = true;
    let reported = |server: &AuthorizationServer, setting: &str| {
        server.security_report().findings.iter().any(|finding| finding.setting == setting)
    };
    let server = built(config.clone(), policy(), Some(Web::on_loopback())).unwrap();
    assert!(reported(&server, "fetcher"));
    let server = built(config, policy(), Some(Web::default())).unwrap();
    assert!(!reported(&server, "fetcher") && reported(&server, "registration.metadata_documents"));
}

/// CIMD-8.2-02
#[test]
fn the_report_says_that_keys_are_not_asked_for() {
    let setting = "registration.none_beside_private_key_jwt";
    for is_on in [false, true] {
        let mut config = on();
        config.registration.none_beside_private_key_jwt = is_on;
        let server = built(config, Some(ApproveWithin::new(bounds())), Some(Web::default())).unwrap();
        let findings = server.security_report().findings;
        assert_eq!(findings.iter().any(|finding| finding.setting == setting), is_on);
    }
}
