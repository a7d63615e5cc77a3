//! What the server says about hosts of the Model Context Protocol before their users meet it.

use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{AssertionAudience, DynamicRegistration, ExcessScopes, Profile};
use grantor::fetch::{FetchErrorKind, FetchResponse};
use grantor::hooks::{ApproveWithin, DocumentHosts};
use grantor::protected_resource::ProtectedResource;
use grantor::redirect_uri::PrivateUseSchemes;
use grantor::scope::{ResourceScope, ScopeSet};
use grantor::server::Builder;
use grantor::{AuthorizationServer, Config, MemoryStore};
use serde_json::{Value, json};

use crate::cimd::web::{Web, altered};
use crate::rfc7591::scopes;
use mcp_hosts::{Finding, report_documents};
use support::world::{SCOPES, config_of};

/// The report is a part of the example for MCP.
#[path = "../../examples/mcp/src/hosts.rs"]
mod mcp_hosts;

const CHATGPT: &str = "https://chatgpt.com/oauth/client.json";
const CLAUDE: &str = "https://claude.ai/oauth/mcp-oauth-client-metadata";
const GOOSE: &str = "https://goose-docs.ai/oauth/client-metadata.json";
const VS_CODE: &str = "https://vscode.dev/oauth/client-metadata.json";

/// Settings with which every known host connects.
fn open() -> Config {
    let mut config = config_of(Profile::Mcp);
    config.registration.dynamic = DynamicRegistration::Open;
    config.registration.metadata_documents = true;
    config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()]);
    config
}

fn with_keys(config: &mut Config) {
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
}

fn bounds() -> RegistrationBounds {
    RegistrationBounds::new(scopes(SCOPES), ResourceScope::All)
}

fn server(config: Config, hooks: impl FnOnce(Builder) -> Builder) -> AuthorizationServer {
    let builder = AuthorizationServer::builder(config, MemoryStore::new()).fetcher(Web::default());
    hooks(builder.registration_policy(ApproveWithin::new(bounds()))).build().unwrap()
}

fn report(change: impl FnOnce(&mut Config)) -> Vec<Finding> {
    let mut config = open();
    change(&mut config);
    mcp_hosts::report(&config, &scopes(SCOPES))
}

/// HOST-DOC-01
#[test]
fn host_doc_01_a_server_that_serves_all_hosts_has_no_finding() {
    assert_eq!(report(|_| {}), []);
    assert_eq!(report(with_keys), []);
}

/// A change, and what the report says about it.
type Row = (&'static str, fn(&mut Config), &'static str, &'static str);

/// HOST-DOC-01
///
/// Each row of the table.
#[test]
fn host_doc_01_each_cause_is_one_finding() {
    let rows: [Row; 16] = [
        (
            "ChatGPT",
            |config| config.registration.none_beside_private_key_jwt = false,
            "registration.none_beside_private_key_jwt",
            "it cannot connect: its document asks for private_key_jwt, which is off.",
        ),
        (
            "ChatGPT",
            |config| {
                with_keys(config);
                config.registration.token_url_audience = false;
            },
            "registration.token_url_audience",
            "its users will agree and then see an error: it signs for https://auth.example/oauth2/token, and \
             assertion_audience takes https://auth.example alone.",
        ),
        (
            "ChatGPT",
            |config| {
                with_keys(config);
                config.client_authentication.rs256 = false;
            },
            "client_authentication.rs256",
            "its users will agree and then see an error: it signs with RS256, which is off.",
        ),
        (
            "ChatGPT",
            |config| {
                with_keys(config);
                config.public_clients = false;
            },
            "public_clients",
            "it cannot connect: its document lists none, so it is a public client.",
        ),
        (
            "Claude",
            |config| {
                with_keys(config);
                config.public_clients = false;
                config.registration.dynamic = DynamicRegistration::Off;
            },
            "public_clients",
            "token_endpoint_auth_methods_supported has no none: it ignores documents and registers, which is off.",
        ),
        (
            "Claude",
            |config| config.registration.excess_scopes = ExcessScopes::Refuse,
            "registration.excess_scopes",
            "clients that ask for every scope of the metadata ask for 38 scopes that open clients may not have \
             (repo-pr:r).",
        ),
        (
            "Claude Code",
            |config| config.registration.excess_scopes = ExcessScopes::Refuse,
            "registration.excess_scopes",
            "clients that ask for every scope of the metadata",
        ),
        (
            "Goose",
            |config| config.registration.excess_scopes = ExcessScopes::Refuse,
            "registration.excess_scopes",
            "its document names only scopes of other servers and is refused.",
        ),
        (
            "Cursor",
            |config| config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(Vec::new()),
            "redirect_uris.private_use_schemes",
            "its desktop app returns to cursor://…, which is not named: its users see an error page.",
        ),
        (
            "Cursor",
            |config| config.registration.dynamic = DynamicRegistration::WithToken,
            "registration.dynamic",
            "it registers itself, which is off or needs a token.",
        ),
        (
            "ChatGPT",
            |config| (config.issuer, config.development) = ("http://127.0.0.1:8080".into(), true),
            "issuer",
            "it runs elsewhere, and the issuer is on the loopback.",
        ),
        (
            "Codex",
            |config| config.issuer = "https://auth.example/".into(),
            "issuer",
            "the issuer https://auth.example/ ends in a slash",
        ),
        ("Claude Code", |config| config.issuer = "https://auth.example/a".into(), "issuer", "the issuer has a path"),
        (
            "Gemini Spark",
            |config| config.resources = ["a", "b"].map(resource).into(),
            "resources",
            "several resources and no default: clients that send no resource are refused.",
        ),
        (
            "Gemini Spark",
            |config| (config.resources, config.require_resource) = (vec![resource("a")], true),
            "require_resource",
            "requests must name a resource",
        ),
        (
            "ChatGPT",
            |config| {
                with_keys(config);
                config.registration.token_url_audience = false;
                config.registration.none_beside_private_key_jwt = false;
            },
            "registration.token_url_audience",
            "its users will agree",
        ),
    ];
    for (host, change, setting, message) in rows {
        let findings = report(change);
        let of_host: Vec<_> = findings.iter().filter(|found| (found.host, found.setting) == (host, setting)).collect();
        let [finding] = of_host[..] else { panic!("{host}, {setting}: {findings:#?}") };
        assert!(finding.message.starts_with(message), "{finding}");
        let printed = finding.to_string();
        assert!(printed.starts_with(&format!("{host} (recorded 2026-03 to 2026-10), {setting}: ")), "{printed}");
    }
}

fn resource(name: &str) -> ProtectedResource {
    ProtectedResource::new(format!("https://auth.example/{name}"), name)
}

/// HOST-DOC-01
///
/// Nothing is reported that does not happen.
#[test]
fn host_doc_01_what_does_not_happen_is_not_reported() {
    let changes: [fn(&mut Config); 4] = [
        // Documents are off, so that hosts register.
        |config| {
            config.registration.metadata_documents = false;
            config.registration.none_beside_private_key_jwt = false;
        },
        |config| {
            with_keys(config);
            config.registration.token_url_audience = false;
            config.client_authentication.assertion_audience = AssertionAudience::Legacy;
        },
        |config| {
            let mut default = resource("a");
            default.is_default = true;
            config.resources = vec![default, resource("b")];
        },
        |config| config.resources = vec![resource("a")],
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!(report(change), [], "{number}");
    }
}

/// HOST-DOC-01
///
/// The challenges of resources with basic scopes name others.
#[test]
fn host_doc_01_excess_scopes_follow_from_bounds_and_resources() {
    let refusing = || {
        let mut config = open();
        config.registration.excess_scopes = ExcessScopes::Refuse;
        config
    };
    let about_claude = |config: &Config, allowed: &ScopeSet| {
        mcp_hosts::report(config, allowed).iter().any(|found| found.host == "Claude")
    };
    assert!(about_claude(&refusing(), &scopes(SCOPES)));
    assert!(!about_claude(&refusing(), &refusing().scopes.all()));
    let mut config = refusing();
    let mut basic = resource("a");
    basic.basic_scopes = vec!["repo-code:r".into()];
    config.resources = vec![basic];
    assert!(!about_claude(&config, &scopes(SCOPES)));
}

/// HOST-DOC-01
#[test]
fn host_doc_01_no_host_can_connect_where_no_client_can_come_by_itself() {
    let closed = |config: &mut Config| {
        config.registration.dynamic = DynamicRegistration::WithToken;
        config.registration.metadata_documents = false;
    };
    let findings = report(closed);
    assert_eq!(findings.len(), 8);
    assert!(findings.iter().all(|found| found.message.starts_with("no client can come by itself.")), "{findings:?}");
}

/// HOST-DOC-01, HOST-VEC-01
///
/// The report and the recorded requests are of the same hosts.
#[test]
fn host_doc_01_the_report_fetches_the_documents_that_were_recorded() {
    let recorded: Value = serde_json::from_str(include_str!("../data/hosts.json")).unwrap();
    for (host, url) in [("ChatGPT", CHATGPT), ("Claude", CLAUDE), ("Goose", GOOSE)] {
        assert_eq!(recorded[host]["document"]["client_id"], url);
    }
    assert_eq!(recorded["Goose"]["document"]["scope"], "openid profile email");
}

fn document(url: &str, more: &Value) -> Value {
    let mut document = json!({"client_id": url, "client_name": "Host", "redirect_uris": ["https://host.example/cb"]});
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    document
}

/// HOST-DOC-01, HOST-CLAUDE-03
#[tokio::test]
async fn host_doc_01_the_documents_of_known_hosts_are_fetched_and_judged() {
    let web = Web::default();
    for url in [CHATGPT, CLAUDE, VS_CODE] {
        web.publish(url, document(url, &json!({})));
    }
    web.publish(GOOSE, document(GOOSE, &json!({"redirect_uris": []})));
    let blocked = altered(FetchResponse::new(403, "<html>"), |own| own.content_type = Some("text/html".into()));
    web.answer(CLAUDE, blocked);
    web.fail(VS_CODE, FetchErrorKind::Connection);
    let found = |web: &Web| {
        let web = web.clone();
        async move { report_documents(&server(open(), |builder| builder.fetcher(web))).await }
    };
    let findings = found(&web).await;
    let seen: Vec<_> = findings.iter().map(|own| (own.host, own.message.split(". ").next().unwrap())).collect();
    assert_eq!(seen[0], ("Claude", &*format!("{CLAUDE} answered 403 to this machine")));
    assert_eq!(seen[1].0, "Goose");
    assert!(seen[1].1.starts_with(&format!("{GOOSE} is of no use to this machine (the metadata")), "{seen:?}");
    assert!(seen[2].1.starts_with(&format!("{VS_CODE} is of no use to this machine (the document could")), "{seen:?}");
    assert_eq!(seen.len(), 3);
    for url in [CLAUDE, VS_CODE, GOOSE] {
        web.publish(url, document(url, &json!({})));
    }
    assert_eq!(found(&web).await, []);
    // A host that the policy does not admit is not asked.
    web.take();
    let policy = DocumentHosts::new(ApproveWithin::new(bounds())).host("vscode.dev");
    let own = server(open(), |builder| builder.fetcher(web.clone()).registration_policy(policy));
    let findings = report_documents(&own).await;
    assert_eq!(findings.iter().map(|found| found.host).collect::<Vec<_>>(), ["ChatGPT", "Claude", "Goose"]);
    assert!(findings.iter().all(|found| found.message.starts_with("the registration policy does not admit https://")));
    assert_eq!(web.count(), 1);
    // Without documents, nothing is fetched.
    let mut off = open();
    off.registration.metadata_documents = false;
    web.take();
    let server = server(off, |builder| builder.fetcher(web.clone()));
    assert_eq!((report_documents(&server).await, web.count()), (vec![], 0));
}
