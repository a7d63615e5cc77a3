//! The profiles: the effect of each of their settings, the settings that are refused, and the report.

use std::sync::Arc;
use std::time::Duration;

use grantor::application::{Field, Problem};
use grantor::config::{
    AuthorizationErrors, BasicDecoding, ExchangeRedirectUri, PkceRequirement, Profile, ReuseResponse, StateCharacters,
};
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};
use grantor::redirect_uri::{
    LoopbackHttp, PrivateUseSchemes, RedirectUriComparison, RedirectUriPolicy, RegisteredRedirectUri,
};
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::store::{ClientStore, StoreError, Stores};
use grantor::testing::SeededEntropy;
use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, Decision, MemoryStore, RegistrarError};

use support::world::{
    Credentials, ISSUER, PKCE, REDIRECT_URI, SCOPES, VERIFIER, World, code, config_of, count, e400, e401, encode, form,
    logo, ok, page, pair, public_form, red, text,
};

const ALL: [Profile; 3] = [Profile::Platform, Profile::Strict, Profile::Mcp];

async fn world(profile: Profile) -> World {
    World::with(profile, |_| {}).await
}

fn server_of(profile: Profile) -> AuthorizationServer {
    AuthorizationServer::new(config_of(profile), MemoryStore::new()).unwrap()
}

/// D-01
#[tokio::test]
async fn redirect_uris_are_compared_by_domain_in_the_platform_profile_and_else_exactly() {
    for profile in ALL {
        let world = world(profile).await;
        for uri in ["https://app.example.com/other", "https://APP.example.com:443/cb", "https://app.example.com/cb?"] {
            let query = world.query(&[("redirect_uri", uri), PKCE[0], PKCE[1]]);
            if profile == Profile::Platform {
                code(&world.approve(&query).await);
            } else {
                page(&world.refused(&query).await);
            }
        }
        for uri in ["https://sub.app.example.com/cb", "https://app.example.com:8443/cb", "http://app.example.com/cb"] {
            page(&world.refused(&world.query(&[("redirect_uri", uri), PKCE[0], PKCE[1]])).await);
        }
        code(&world.approve(&world.query(&[("redirect_uri", REDIRECT_URI), PKCE[0], PKCE[1]])).await);
    }
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

/// D-01, MCP-0618-06
#[tokio::test]
async fn private_use_schemes_are_for_all_but_the_mcp_profile() {
    for profile in ALL {
        let world = world(profile).await;
        let registrar = world.server.registrar().unwrap();
        let submit = async |uri: &str| {
            let mut form = public_form();
            form.redirect_uris = vec![uri.into()];
            registrar.submit(world.alice.clone(), form, Some(logo())).await.is_ok()
        };
        assert!(submit("https://a.example/cb").await && submit("http://127.0.0.1/cb").await, "{profile:?}");
        assert_eq!(submit("com.example.app:/cb").await, profile != Profile::Mcp, "{profile:?}");
        assert!(!submit("http://a.example/cb").await && !submit("app:/cb").await, "{profile:?}");
    }
}

/// D-02, D-22
#[tokio::test]
async fn faults_in_the_services_own_parameters_show_the_page_in_the_platform_profile_alone() {
    for profile in ALL {
        let world = world(profile).await;
        let id = world.client.id.as_str();
        let own = [
            (vec![("client_id", id)], "invalid_request"),
            (vec![("client_id", id), ("response_type", "token")], "unsupported_response_type"),
            (vec![("client_id", id), ("response_type", "code"), ("response_type", "code")], "invalid_request"),
            (vec![("client_id", id), ("response_type", "code"), ("state", "a"), ("state", "a")], "invalid_request"),
        ];
        for (parameters, error) in own {
            let response = world.refused(&encode(&[parameters.as_slice(), &PKCE].concat())).await;
            if profile == Profile::Platform {
                page(&response);
            } else {
                assert_eq!(count(&red(&response, error), "state"), 0, "{parameters:?}");
            }
        }
        for (extension, error) in [
            ([("scope", "nothing"), PKCE[0], PKCE[1]], "invalid_scope"),
            ([("scope", ""), PKCE[0], ("code_challenge_method", "plain")], "invalid_request"),
        ] {
            let response = world.refused(&world.query(&[&extension[..], &[("state", "s")]].concat())).await;
            assert_eq!(text(&red(&response, error), "state"), "s", "{profile:?}");
        }
        for fatal in [encode(&[("response_type", "code")]), world.query(&[("redirect_uri", "https://evil.test")])] {
            page(&world.refused(&fatal).await);
        }
    }
}

/// D-18, 21-4.1.1-01
#[tokio::test]
async fn pkce_is_for_public_clients_in_the_platform_profile_and_else_for_all() {
    for profile in ALL {
        let world = world(profile).await;
        let public = world.register(public_form()).await;
        red(&world.refused(&world.query_of(&public, &[])).await, "invalid_request");
        if profile == Profile::Platform {
            code(&world.approve(&world.query(&[])).await);
        } else {
            red(&world.refused(&world.query(&[])).await, "invalid_request");
        }
        for client in [&public, &world.client] {
            code(&world.approve(&world.query_of(client, &PKCE)).await);
        }
    }
    let all = World::with(Profile::Platform, |config| config.authorization.pkce = PkceRequirement::AllClients).await;
    red(&all.refused(&all.query(&[])).await, "invalid_request");
}

/// D-20, 9700-4.12-01
#[tokio::test]
async fn redirects_are_303_in_the_strict_profile_and_else_302() {
    for (profile, status) in [(Profile::Platform, 302), (Profile::Strict, 303), (Profile::Mcp, 302)] {
        let world = world(profile).await;
        assert_eq!(world.approve(&world.query(&PKCE)).await.status(), status, "{profile:?}");
        assert_eq!(world.decide(&world.query(&PKCE), Decision::Deny).await.status(), status, "{profile:?}");
    }
}

/// D-11, D-12
/// The grace of the access token and of both kinds of refresh token, to the second.
#[tokio::test]
async fn each_profile_has_its_grace() {
    for (profile, access, grace) in
        [(Profile::Platform, 300, 300), (Profile::Strict, 300, 120), (Profile::Mcp, 300, 120)]
    {
        for form in [form(), public_form()] {
            let world = world(profile).await;
            let client = world.register(form).await;
            let first = world.pair_of(&client).await;
            let second = pair(&world.refresh_as(&client, &first.refresh).await);
            let case = format!("{profile:?}, {grace} s");
            world.advance(grace - 1);
            ok(&world.refresh_as(&client, &first.refresh).await);
            world.advance(1);
            e400(&world.refresh_as(&client, &first.refresh).await, "invalid_grant");
            assert!(!world.opens(&second.access).await, "{case}: the family is revoked");
        }
        let world = World::with(profile, |_| {}).await;
        let first = world.pair().await;
        ok(&world.refresh(&first.refresh).await);
        world.advance(access - 1);
        assert!(world.opens(&first.access).await, "{profile:?}");
        world.advance(1);
        assert!(!world.opens(&first.access).await, "{profile:?}");
    }
}

/// D-11
#[tokio::test]
async fn the_next_refresh_ends_grace_in_the_strict_profile_alone() {
    for profile in ALL {
        let world = world(profile).await;
        let first = world.pair().await;
        let second = pair(&world.refresh(&first.refresh).await);
        ok(&world.refresh(&first.refresh).await);
        let third = pair(&world.refresh(&second.refresh).await);
        let response = world.refresh(&first.refresh).await;
        if profile == Profile::Strict {
            e400(&response, "invalid_grant");
        } else {
            ok(&response);
        }
        assert_eq!(world.opens(&third.access).await, profile != Profile::Strict, "{profile:?}");
    }
}

/// D-08, 6749-A-04
#[tokio::test]
async fn state_is_any_bytes_in_the_platform_profile_and_else_visible_ones() {
    for profile in ALL {
        let world = world(profile).await;
        for (raw, bytes) in [("%ff%00", &b"\xff\0"[..]), ("%c3%a9", b"\xc3\xa9"), ("a%0ab", b"a\nb"), ("%7f", b"\x7f")]
        {
            let query = format!("{}&state={raw}", world.query(&PKCE));
            if profile == Profile::Platform {
                let redirect = code(&world.approve(&query).await);
                assert!(redirect.contains(&("state".to_owned(), bytes.to_vec())), "{raw}");
            } else {
                let redirect = red(&world.refused(&query).await, "invalid_request");
                assert_eq!(count(&redirect, "state"), 0, "{raw}");
            }
        }
        let visible: String = (0x20..=0x7e).map(char::from).collect();
        let query = world.query(&[("state", &visible), PKCE[0], PKCE[1]]);
        assert_eq!(text(&code(&world.approve(&query).await), "state"), visible, "{profile:?}");
    }
}

/// D-06, SVC-4.2-03
#[tokio::test]
async fn the_exchange_repeats_the_redirect_uri_only_where_nothing_else_binds_the_code() {
    let required =
        |config: &mut Config| config.authorization.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
    let exchange = async |world: &World, code: &str, more: &[(&str, &str)]| {
        let form = [&[("grant_type", "authorization_code"), ("code", code)], more].concat();
        world.token(&form).client(&world.client).send().await
    };
    let named = [("redirect_uri", REDIRECT_URI)];
    for (world, demands) in [(World::platform().await, false), (World::with(Profile::Platform, required).await, true)] {
        let code = world.code_for(&world.query(&named)).await;
        let other = [("redirect_uri", "https://app.example.com/cb/")];
        e400(&exchange(&world, &code, &other).await, "invalid_grant");
        if demands {
            e400(&exchange(&world, &code, &[]).await, "invalid_grant");
            ok(&exchange(&world, &code, &named).await);
        } else {
            ok(&exchange(&world, &code, &[]).await);
        }
        let unnamed = world.code_for(&world.query(&[])).await;
        ok(&exchange(&world, &unnamed, &[]).await);
    }
    for profile in ALL {
        let world = world(profile).await;
        assert_eq!(
            world.server.config().authorization.exchange_redirect_uri == ExchangeRedirectUri::Optional,
            profile == Profile::Platform
        );
        let code = world.code_for(&world.query(&[named[0], PKCE[0], PKCE[1]])).await;
        ok(&exchange(&world, &code, &[("code_verifier", VERIFIER)]).await);
    }
}

/// A directory of one client.
#[derive(Debug)]
pub(crate) struct OneClient(pub(crate) Arc<Client>);

#[async_trait::async_trait]
impl ClientStore for OneClient {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok((self.0.id() == id).then(|| self.0.clone()))
    }
}

/// D-05, 6749-2.3.1-02
#[tokio::test]
async fn basic_credentials_that_were_not_form_encoded_are_refused_in_the_strict_profile_alone() {
    let secret = "a+secret%with:characters-that-differ";
    let uri = RegisteredRedirectUri::parse(REDIRECT_URI, &RedirectUriPolicy::default()).unwrap();
    let scopes = ScopeCatalog::platform().parse(SCOPES.as_bytes()).unwrap();
    let client = Client::builder(ClientId::new("a+b").unwrap())
        .redirect_uri(uri)
        .scopes(scopes)
        .resource_scope(ResourceScope::All);
    let client = Arc::new(client.secret(&ClientSecret::new(secret)).unwrap().build());
    for profile in ALL {
        let mut world = world(profile).await;
        let stores = Stores::new(world.store.clone()).with_clients(OneClient(client.clone()));
        let builder = AuthorizationServer::builder(config_of(profile), stores);
        world.server = builder.clock(world.clock.clone()).entropy(SeededEntropy::new(8)).build().unwrap();
        world.client = Credentials { id: "a+b".into(), secret: secret.into() };
        let code = world.code().await;
        let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
        let raw = world.token(&form).basic("a+b", secret).send().await;
        if profile == Profile::Strict {
            e401(&raw, "invalid_client");
            ok(&world.token(&form).basic("a%2Bb", &encode(&[("", secret)])[1..]).send().await);
        } else {
            let first = pair(&raw);
            let form = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str())];
            ok(&world.token(&form).basic("a%2Bb", &encode(&[("", secret)])[1..]).send().await);
        }
    }
}

/// D-17, D-18, 8414-2-03
#[tokio::test]
async fn clients_prove_themselves_by_basic_or_form_and_public_ones_are_at_home_in_the_mcp_profile() {
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

        let world = world(profile).await;
        let public = world.register(public_form()).await;
        let code = world.code_for(&world.query_of(&public, &PKCE)).await;
        let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
        e401(&world.token(&form).basic(&public.id, "a secret").send().await, "invalid_client");
        ok(&world.token(&form).client(&public).send().await);

        let code = world.code().await;
        let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
        let first = pair(&world.token(&form).client(&world.client).send().await);
        let form = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str())];
        e401(&world.token(&form).field("client_id", &world.client.id).send().await, "invalid_client");
        ok(&world.token(&form).form_secret(&world.client).send().await);
    }
}

/// A setting that is refused, and the error as it prints.
type Refusal = (fn(&mut Config), &'static str);

fn refused(profile: Profile, change: fn(&mut Config)) -> Option<String> {
    let mut config = config_of(profile);
    change(&mut config);
    AuthorizationServer::new(config, MemoryStore::new()).err().map(|error| error.to_string())
}

/// 8414-2-01, D-19
#[test]
fn no_server_is_built_on_settings_that_contradict_each_other() {
    let cases: [Refusal; 7] = [
        (
            |config| config.issuer = "auth.example".into(),
            "issuer is \"auth.example\"; an https URL of visible ASCII characters, with a valid host and port \
             and without user, query, fragment and dot segments, is accepted (RFC 8414 section 2)",
        ),
        (
            |config| config.authorization.code_lifetime = Duration::from_secs(601),
            "authorization.code_lifetime is 601 s; at most 600 s is accepted (RFC 6749 section 4.1.2)",
        ),
        (
            |config| config.tokens.grant_lifetime = Some(Duration::ZERO),
            "tokens.grant_lifetime is 0 s; at least 1 s is accepted",
        ),
        (
            |config| config.refresh.grace = Duration::from_secs(180 * 24 * 60 * 60),
            "refresh.grace is 15552000 s; less than tokens.refresh_lifetime (15552000 s) is accepted",
        ),
        (
            |config| config.refresh.grace = Duration::from_secs(301),
            "refresh.grace is 301 s; at most refresh.access_token_grace (300 s) is accepted",
        ),
        (
            |config| config.tokens.prefix = "17-characters-too".into(),
            "tokens.prefix is \"17-characters-too\"; at most 16 letters, digits, `-`, `_`, `.` or `~` are accepted",
        ),
        (|config| config.limits.body_bytes = 4095, "limits.body_bytes is 4095; at least 4096 is accepted"),
    ];
    for profile in ALL {
        assert_eq!(refused(profile, |_| {}), None);
        for (change, error) in cases {
            assert_eq!(refused(profile, change).as_deref(), Some(error), "{profile:?}");
        }
        let edges = |config: &mut Config| {
            config.authorization.hold_lifetime = Duration::from_secs(1);
            config.authorization.code_lifetime = Duration::from_secs(600);
            config.refresh.access_token_grace = Duration::from_secs(28_800);
            config.refresh.grace = Duration::from_secs(28_800);
            config.tokens.prefix = "exactly-16-chars".into();
            config.limits.body_bytes = 4096;
        };
        assert_eq!(refused(profile, edges), None, "{profile:?}");
    }
}

/// D-01, D-18
#[test]
fn a_stricter_profile_cannot_be_loosened_where_it_makes_its_promise() {
    let exact: [Refusal; 3] = [
        (
            |config| config.redirect_uris.comparison = RedirectUriComparison::Domain,
            "redirect_uris.comparison is Domain; only Exact is accepted",
        ),
        (
            |config| config.redirect_uris.comparison = RedirectUriComparison::DomainAnyPort,
            "redirect_uris.comparison is DomainAnyPort; only Exact is accepted",
        ),
        (
            |config| config.authorization.pkce = PkceRequirement::PublicClients,
            "authorization.pkce is PublicClients; only AllClients is accepted",
        ),
    ];
    for (change, error) in exact {
        for (profile, name) in [(Profile::Strict, "strict"), (Profile::Mcp, "MCP"), (Profile::Fapi, "FAPI")] {
            let refusal = refused(profile, change).unwrap();
            assert!(refusal.starts_with(&format!("{error} in the {name} profile (RFC 9700 section 2.")), "{refusal}");
        }
        assert_eq!(refused(Profile::Platform, change), None);
    }
    let schemes = |config: &mut Config| config.redirect_uris.private_use_schemes = PrivateUseSchemes::default();
    for profile in [Profile::Mcp, Profile::Fapi] {
        let error = refused(profile, schemes).unwrap();
        assert!(error.starts_with("redirect_uris.private_use_schemes is ReverseDomain([]); "), "{error}");
    }
    assert_eq!(refused(Profile::Strict, schemes), None);
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

/// Allows every request; the report only needs a throttle to be set.
#[derive(Debug)]
struct NoLimit;

#[async_trait::async_trait]
impl Throttle for NoLimit {
    async fn check(&self, _attempt: &Attempt<'_>) -> ThrottleDecision {
        ThrottleDecision::Allow
    }

    async fn failed(&self, _attempt: &Attempt<'_>) {}
}

fn throttled(config: Config) -> AuthorizationServer {
    AuthorizationServer::builder(config, MemoryStore::new()).throttle(NoLimit).build().unwrap()
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
        "tokens.grant_lifetime",
    ];
    assert_eq!(settings(&throttled(config_of(Profile::Platform))), platform);
    assert_eq!(
        settings(&throttled(config_of(Profile::Strict))),
        ["redirect_uris.loopback_http", "refresh.grace", "tokens.grant_lifetime"]
    );
    let mcp = [
        "redirect_uris.loopback_http",
        "authorization.redirect_status",
        "client_authentication.basic",
        "refresh.grace",
        "tokens.grant_lifetime",
    ];
    assert_eq!(settings(&throttled(config_of(Profile::Mcp))), mcp);
    assert_eq!(settings(&throttled(config_of(Profile::Fapi))), Vec::<&str>::new());

    let report = server_of(Profile::Platform).security_report();
    for finding in &report.findings {
        assert!(finding.rule.contains("RFC") && !finding.consequence.is_empty(), "{finding:?}");
        assert!(report.to_string().contains(finding.consequence));
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
        config.tokens.grant_lifetime = Some(Duration::from_secs(365 * 24 * 60 * 60));
        config
    };
    assert_eq!(settings(&throttled(tight())), Vec::<&str>::new());
    let bare = AuthorizationServer::new(tight(), MemoryStore::new()).unwrap();
    assert_eq!(settings(&bare), ["throttle"]);
    assert!(bare.security_report().to_string().contains("MemoryThrottle"));
    let cases: [Loosening; 11] = [
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
        (|config| config.refresh.reuse = ReuseResponse::Refuse, "refresh.reuse"),
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
        [("http://127.0.0.1:8080", vec!["development"]), ("HTTP://localhost", vec!["development", "issuer"])]
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
