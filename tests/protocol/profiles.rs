//! The profiles: the effect of each of their settings, the settings that are refused, and the report.

use std::time::Duration;

use grantor::application::{Field, Problem};
use grantor::config::{AuthorizationErrors, BasicDecoding, ExchangeRedirectUri, Profile, StateCharacters};
use grantor::redirect_uri::{LoopbackHttp, PrivateUseSchemes, RedirectUriComparison};
use grantor::secret::DerivationKey;
use grantor::{AuthorizationServer, Config, MemoryStore, RegistrarError};

use support::attempts::Attempts;
use support::world::{ISSUER, World, code, config_of, form, logo, page, public_form};

const ALL: [Profile; 3] = [Profile::Platform, Profile::Strict, Profile::Mcp];

fn server_of(profile: Profile) -> AuthorizationServer {
    AuthorizationServer::new(config_of(profile), MemoryStore::new()).unwrap()
}

/// D-01
#[tokio::test]
async fn the_looser_domain_rule_frees_the_port_by_its_name() {
    let world =
        World::with(Profile::Platform, |config| config.redirect_uris.comparison = RedirectUriComparison::DomainAnyPort)
            .await;
    code(&world.approve(&world.query(&[("redirect_uri", "https://app.example.com:8443/cb")])).await);
    page(&world.refused(&world.query(&[("redirect_uri", "https://evil.test:8443/cb")])).await);
    let exact = World::with(Profile::Platform, |config| {
        config.redirect_uris.comparison = RedirectUriComparison::Exact;
    });
    page(&exact.await.refused(&world.query(&[("redirect_uri", "https://app.example.com/other")])).await);
}

/// D-17, D-18, 8414-2-03
#[tokio::test]
async fn public_clients_are_at_home_in_the_mcp_profile() {
    for profile in ALL {
        let server = server_of(profile);
        let registrar = server.registrar().unwrap();
        let applicant = || grantor::Subject::new("developer").unwrap();
        let outcome = registrar.submit(applicant(), public_form(), Some(logo())).await;
        if profile == Profile::Mcp {
            outcome.unwrap();
        } else {
            let Err(RegistrarError::Invalid(errors)) = outcome else { panic!("{profile:?} registered it") };
            assert_eq!((errors[0].field(), errors[0].problem()), (Field::ClientType, &Problem::PublicClientsOff));
        }
        registrar.submit(applicant(), form(), Some(logo())).await.unwrap();
    }
}

/// SVC-2.4-01
/// Nothing can be granted under the other profiles until your service sets its catalog.
#[test]
fn only_the_platform_profile_brings_scopes() {
    assert_eq!(Config::platform(ISSUER).scopes.definitions().len(), 26);
    for config in [Config::strict(ISSUER), Config::mcp(ISSUER), Config::fapi(ISSUER)] {
        assert!(config.scopes.definitions().is_empty());
        assert!(config.scopes.parse(b"repo-code:r").is_err());
        let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
        assert_eq!(server.config().scopes.supported(), Vec::<String>::new());
    }
}

fn settings(server: &AuthorizationServer) -> Vec<&'static str> {
    server.security_report().findings.iter().map(|finding| finding.setting).collect()
}

fn throttled(config: Config) -> AuthorizationServer {
    AuthorizationServer::builder(config, MemoryStore::new()).throttle(Attempts::default()).build().unwrap()
}

/// D-01, D-06
#[test]
fn the_report_names_what_each_profile_leaves_looser() {
    let platform = [
        "redirect_uris.comparison",
        "redirect_uris.loopback_http",
        "authorization.pkce",
        "authorization.pkce",
        "authorization.redirect_status",
        "authorization.state",
        "authorization.exchange_redirect_uri",
        "authorization.errors",
        "client_authentication.basic",
        "refresh.grace",
        "refresh.derivation_keys",
        "tokens.grant_lifetime",
    ];
    assert_eq!(settings(&throttled(config_of(Profile::Platform))), platform);
    assert_eq!(
        settings(&throttled(config_of(Profile::Strict))),
        ["redirect_uris.loopback_http", "refresh.grace", "refresh.derivation_keys", "tokens.grant_lifetime"]
    );
    let mcp = [
        "redirect_uris.loopback_http",
        "authorization.redirect_status",
        "client_authentication.basic",
        "refresh.grace",
        "refresh.derivation_keys",
        "tokens.grant_lifetime",
    ];
    assert_eq!(settings(&throttled(config_of(Profile::Mcp))), mcp);
    assert_eq!(settings(&throttled(config_of(Profile::Fapi))), Vec::<&str>::new());

    let report = server_of(Profile::Platform).security_report();
    for finding in &report.findings {
        assert!(finding.rule.contains("RFC") && !finding.consequence.is_empty(), "{finding:?}");
        assert!(report.to_string().contains(&*finding.consequence));
    }
}

/// A change, and the setting that the report then names.
type Loosening = (fn(&mut Config), &'static str);

/// D-01, D-06
#[test]
fn the_report_follows_every_setting() {
    let tight = || {
        let mut config = config_of(Profile::Strict);
        config.redirect_uris.loopback_http = LoopbackHttp::Addresses;
        config.refresh.grace = Duration::ZERO;
        config.refresh.derivation_keys = vec![DerivationKey::new([1; 32])];
        config.tokens.grant_lifetime = Some(Duration::from_secs(365 * 24 * 60 * 60));
        config
    };
    assert_eq!(settings(&throttled(tight())), Vec::<&str>::new());
    let bare = AuthorizationServer::new(tight(), MemoryStore::new()).unwrap();
    assert_eq!(settings(&bare), ["throttle"]);
    assert!(bare.security_report().to_string().contains("MemoryThrottle"));
    let cases: [Loosening; 11] = [
        (|config| config.refresh.derivation_keys = Vec::new(), "refresh.derivation_keys"),
        (|config| config.redirect_uris.loopback_http = LoopbackHttp::default(), "redirect_uris.loopback_http"),
        (
            |config| config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()]),
            "redirect_uris.private_use_schemes",
        ),
        (
            |config| config.authorization.redirect_status = grantor::wire::RedirectStatus::Found,
            "authorization.redirect_status",
        ),
        (|config| config.authorization.state = StateCharacters::Any, "authorization.state"),
        (
            |config| config.authorization.exchange_redirect_uri = ExchangeRedirectUri::Optional,
            "authorization.exchange_redirect_uri",
        ),
        (|config| config.authorization.errors = AuthorizationErrors::PageForServiceParameters, "authorization.errors"),
        (|config| config.client_authentication.basic = BasicDecoding::Either, "client_authentication.basic"),
        (|config| config.refresh.grace = Duration::from_secs(1), "refresh.grace"),
        (|config| config.bearer_in_body = true, "bearer_in_body"),
        (|config| config.tokens.grant_lifetime = None, "tokens.grant_lifetime"),
    ];
    for (change, setting) in cases {
        let mut config = tight();
        change(&mut config);
        assert_eq!(settings(&throttled(config)), [setting]);
    }
    for (access, reported) in [(180, vec!["refresh.grace"]), (179, vec!["refresh.grace", "refresh.access_token_grace"])]
    {
        let mut config = tight();
        config.refresh.grace = Duration::from_secs(120);
        config.refresh.access_token_grace = Duration::from_secs(access);
        assert_eq!(settings(&throttled(config)), reported, "{access} s");
    }
    for (plain, reported) in
        [("http://127.0.0.1:8080", vec!["development"]), ("http://localhost/", vec!["development", "issuer"])]
    {
        let mut config = tight();
        config.development = true;
        config.issuer = plain.into();
        assert_eq!(settings(&throttled(config)), reported, "{plain}");
    }
    let mut config = config_of(Profile::Platform);
    config.redirect_uris.comparison = RedirectUriComparison::DomainAnyPort;
    let loose = settings(&throttled(config));
    assert_eq!(loose.iter().filter(|setting| **setting == "redirect_uris.comparison").count(), 2);
}
