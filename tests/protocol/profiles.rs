//! The profiles: each of their settings, by what it does; what no configuration may say; the report.

use std::sync::Arc;

use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::store::{ClientStore, StoreError, Stores};
use grantor::testing::SeededEntropy;
use grantor::{
    Attempt, AuthorizationErrors, AuthorizationServer, BasicReading, Builder, Client, ClientId, ClientSecret, Config,
    ConfigError, Decision, ExchangeRedirectUri, Field, MemoryStore, PkceRequirement, Problem, Profile,
    RedirectUriComparison, RedirectUriPolicy, RegisteredRedirectUri, RegistrarError, ReuseResponse, StateCharacters,
    Throttle, ThrottleDecision,
};
use time::Duration;

use crate::world::{
    Credentials, ISSUER, PKCE, REDIRECT_URI, SCOPES, VERIFIER, World, code, count, e400, e401, encode, form, logo, ok,
    page, pair, public_form, red, text,
};

const ALL: [Profile; 3] = [Profile::Platform, Profile::Strict, Profile::Mcp];

async fn world(profile: Profile) -> World {
    World::with(profile, |_| {}).await
}

fn builder(profile: Profile) -> Builder {
    AuthorizationServer::builder(MemoryStore::new()).profile(profile).issuer(ISSUER)
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
    let world = World::with(Profile::Platform, |config| config.redirect_uris.any_port = true).await;
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
    let all = World::with(Profile::Platform, |config| config.pkce = PkceRequirement::AllClients).await;
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
/// The grace of the access token, of both kinds of refresh token, and the margin, to the second.
#[tokio::test]
async fn each_profile_has_its_grace() {
    for (profile, access, confidential, public, margin) in
        [(Profile::Platform, 300, 300, 300, 60), (Profile::Strict, 300, 60, 0, 0), (Profile::Mcp, 60, 60, 60, 60)]
    {
        for (form, grace) in [(form(), confidential), (public_form(), public)] {
            let world = world(profile).await;
            let client = world.register(form).await;
            let first = world.pair_of(&client).await;
            let second = pair(&world.refresh_as(&client, &first.refresh).await);
            let case = format!("{profile:?}, {grace} s");
            if grace > 0 {
                world.advance(grace - 1);
                ok(&world.refresh_as(&client, &first.refresh).await);
                world.advance(1);
            }
            if margin > 0 {
                e400(&world.refresh_as(&client, &first.refresh).await, "invalid_grant");
                world.advance(margin - 1);
                e400(&world.refresh_as(&client, &first.refresh).await, "invalid_grant");
                assert!(world.opens(&second.access).await, "{case}: within the margin nobody is accused");
                world.advance(1);
            }
            e400(&world.refresh_as(&client, &first.refresh).await, "invalid_grant");
            assert!(!world.opens(&second.access).await, "{case}: the family is dead");
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
async fn state_is_any_octets_in_the_platform_profile_and_else_visible_ones() {
    for profile in ALL {
        let world = world(profile).await;
        for (raw, octets) in [("%ff%00", &b"\xff\0"[..]), ("%c3%a9", b"\xc3\xa9"), ("a%0ab", b"a\nb"), ("%7f", b"\x7f")]
        {
            let query = format!("{}&state={raw}", world.query(&PKCE));
            if profile == Profile::Platform {
                let redirect = code(&world.approve(&query).await);
                assert!(redirect.contains(&("state".to_owned(), octets.to_vec())), "{raw}");
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
    let required = |config: &mut Config| config.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
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
            world.server.config().exchange_redirect_uri == ExchangeRedirectUri::Optional,
            profile == Profile::Platform
        );
        let code = world.code_for(&world.query(&[named[0], PKCE[0], PKCE[1]])).await;
        ok(&exchange(&world, &code, &[("code_verifier", VERIFIER)]).await);
    }
}

/// One client, kept elsewhere.
#[derive(Debug)]
struct OneClient(Arc<Client>);

#[async_trait::async_trait]
impl ClientStore for OneClient {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok((self.0.id() == id).then(|| self.0.clone()))
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.find(id).await
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
        let stores = Stores::new(OneClient(client.clone()), world.store.clone(), world.store.clone());
        let builder = AuthorizationServer::builder(stores).profile(profile).issuer(ISSUER);
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
        let server = builder(profile).build().unwrap();
        let registrar = server.registrar().unwrap();
        let applicant = || grantor::Subject::new("developer").unwrap();
        let outcome = registrar.submit(applicant(), public_form(), Some(logo())).await;
        if profile == Profile::Mcp {
            outcome.unwrap();
        } else {
            let Err(RegistrarError::Invalid(errors)) = outcome else { panic!("{profile:?} registered it") };
            assert_eq!((errors[0].field(), errors[0].problem()), (Field::ClientType, Problem::NotOffered));
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

/// A setting, and what it is refused with.
type Refusal = (fn(&mut Config), ConfigError);

/// 8414-2-01, D-19
#[test]
fn no_server_is_built_on_settings_that_contradict_each_other() {
    let cases: [Refusal; 22] = [
        (|config| config.hold_lifetime = Duration::ZERO, ConfigError::NoLifetime("hold_lifetime")),
        (|config| config.code_lifetime = Duration::milliseconds(999), ConfigError::NoLifetime("code_lifetime")),
        (|config| config.code_lifetime = Duration::seconds(601), ConfigError::CodeLifetime),
        (|config| config.access_token_lifetime = Duration::ZERO, ConfigError::NoLifetime("access_token_lifetime")),
        (|config| config.refresh_token_lifetime = -Duration::DAY, ConfigError::NoLifetime("refresh_token_lifetime")),
        (|config| config.grant_lifetime = Some(Duration::ZERO), ConfigError::NoLifetime("grant_lifetime")),
        (|config| config.grace.access_token = -Duration::SECOND, ConfigError::Negative("grace.access_token")),
        (|config| config.grace.refresh_token = -Duration::SECOND, ConfigError::Negative("grace.refresh_token")),
        (
            |config| config.grace.public_refresh_token = -Duration::SECOND,
            ConfigError::Negative("grace.public_refresh_token"),
        ),
        (|config| config.reuse_margin = -Duration::SECOND, ConfigError::Negative("reuse_margin")),
        (|config| config.grace.access_token = Duration::seconds(28_801), ConfigError::Grace),
        (|config| config.grace.refresh_token = Duration::days(180), ConfigError::Grace),
        (|config| config.grace.public_refresh_token = Duration::days(180), ConfigError::Grace),
        (|config| config.prefixes.code = "17 characters too".into(), ConfigError::Prefix),
        (|config| config.prefixes.handle = "a\u{e9}".into(), ConfigError::Prefix),
        (|config| config.prefixes.refresh_token = "at_".into(), ConfigError::SamePrefix),
        (|config| config.realm = "line\nbreak".into(), ConfigError::Characters("realm")),
        (|config| config.audience = Some("a\"b".into()), ConfigError::Characters("audience")),
        (|config| config.error_uri = Some("a b".into()), ConfigError::Characters("error_uri")),
        (|config| config.body_octets = 4095, ConfigError::Limit("body_octets")),
        (|config| config.query_octets = 4095, ConfigError::Limit("query_octets")),
        (|config| config.parameters = 15, ConfigError::Limit("parameters")),
    ];
    for profile in ALL {
        assert!(builder(profile).build().is_ok());
        for (change, error) in cases {
            let outcome = builder(profile).configure(change).build();
            assert_eq!(outcome.err(), Some(error), "{profile:?}");
        }
        let edges = |config: &mut Config| {
            config.hold_lifetime = Duration::SECOND;
            config.code_lifetime = Duration::seconds(600);
            config.grace.access_token = Duration::seconds(28_800);
            config.grace.refresh_token = Duration::days(180) - Duration::SECOND;
            config.prefixes.code = "exactly-16-chars".into();
            config.prefixes.handle = String::new();
            config.prefixes.access_token = String::new();
            config.body_octets = 4096;
            config.query_octets = 4096;
            config.parameters = 16;
            config.state_octets = 64;
        };
        assert!(builder(profile).configure(edges).build().is_ok(), "{profile:?}");
    }
}

/// D-01, D-18
#[test]
fn a_stricter_profile_cannot_be_loosened_where_it_makes_its_promise() {
    let exact: [Refusal; 4] = [
        (|config| config.redirect_uris.comparison = RedirectUriComparison::Domain, ConfigError::ExactRedirectUris),
        (|config| config.redirect_uris.any_port = true, ConfigError::ExactRedirectUris),
        (|config| config.redirect_uris.development_http = true, ConfigError::ExactRedirectUris),
        (|config| config.pkce = PkceRequirement::PublicClients, ConfigError::PkceForAll),
    ];
    for (change, error) in exact {
        for profile in [Profile::Strict, Profile::Mcp] {
            assert_eq!(builder(profile).configure(change).build().err(), Some(error), "{profile:?}");
        }
        assert!(builder(Profile::Platform).configure(change).build().is_ok());
    }
    let schemes = |config: &mut Config| config.redirect_uris.private_use_schemes = true;
    assert_eq!(builder(Profile::Mcp).configure(schemes).build().err(), Some(ConfigError::ExactRedirectUris));
    assert!(builder(Profile::Strict).configure(schemes).build().is_ok());
    let again = builder(Profile::Mcp).configure(schemes).profile(Profile::Mcp);
    assert!(again.build().is_ok(), "a profile takes the place of what was changed before");
}

fn settings(builder: Builder) -> Vec<&'static str> {
    builder.build().unwrap().security_report().findings.iter().map(|finding| finding.setting).collect()
}

/// Lets everybody go on; the report asks no more than that there is one.
#[derive(Debug)]
struct NoLimit;

#[async_trait::async_trait]
impl Throttle for NoLimit {
    async fn check(&self, _attempt: &Attempt<'_>) -> ThrottleDecision {
        ThrottleDecision::Allow
    }

    async fn failed(&self, _attempt: &Attempt<'_>) {}
}

fn throttled(profile: Profile) -> Builder {
    builder(profile).throttle(NoLimit)
}

/// D-01, D-06
#[test]
fn the_report_names_what_each_profile_leaves_looser() {
    let platform = [
        "redirect_uris.comparison",
        "redirect_uris.localhost",
        "pkce",
        "redirect_status",
        "state",
        "exchange_redirect_uri",
        "authorization_errors",
        "basic",
        "grace",
        "reuse_margin",
        "grant_lifetime",
    ];
    assert_eq!(settings(throttled(Profile::Platform)), platform);
    assert_eq!(settings(throttled(Profile::Strict)), ["redirect_uris.localhost", "grace", "grant_lifetime"]);
    let mcp = ["redirect_uris.localhost", "redirect_status", "basic", "grace", "reuse_margin", "grant_lifetime"];
    assert_eq!(settings(throttled(Profile::Mcp)), mcp);

    let report = builder(Profile::Platform).build().unwrap().security_report();
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
    let tight = |config: &mut Config| {
        config.redirect_uris.localhost = false;
        config.grace.refresh_token = Duration::ZERO;
        config.grant_lifetime = Some(Duration::days(365));
    };
    let strict = || throttled(Profile::Strict).configure(tight);
    assert_eq!(settings(strict()), Vec::<&str>::new());
    assert_eq!(settings(builder(Profile::Strict).configure(tight)), ["throttle"]);
    let cases: [Loosening; 13] = [
        (|config| config.redirect_uris.localhost = true, "redirect_uris.localhost"),
        (|config| config.redirect_status = grantor::wire::RedirectStatus::Found, "redirect_status"),
        (|config| config.state = StateCharacters::Any, "state"),
        (|config| config.exchange_redirect_uri = ExchangeRedirectUri::Optional, "exchange_redirect_uri"),
        (|config| config.authorization_errors = AuthorizationErrors::PageForServiceParameters, "authorization_errors"),
        (|config| config.basic = BasicReading::Either, "basic"),
        (|config| config.response_issuer = false, "issuer"),
        (|config| config.grace.refresh_token = Duration::SECOND, "grace"),
        (|config| config.grace.public_refresh_token = Duration::SECOND, "grace"),
        (|config| config.reuse_margin = Duration::SECOND, "reuse_margin"),
        (|config| config.reuse = ReuseResponse::Refuse, "reuse"),
        (|config| config.bearer_in_body = true, "bearer_in_body"),
        (|config| config.grant_lifetime = None, "grant_lifetime"),
    ];
    for (change, setting) in cases {
        assert_eq!(settings(strict().configure(change)), [setting]);
    }
    for plain in ["http://127.0.0.1:8080", "HTTP://localhost"] {
        let development = strict().configure(|config| config.development = true).issuer(plain);
        assert_eq!(settings(development), ["development"], "{plain}");
    }
    let nameless = AuthorizationServer::builder(MemoryStore::new()).profile(Profile::Strict).configure(tight);
    assert_eq!(settings(nameless.throttle(NoLimit)), ["issuer"]);
    let loose = builder(Profile::Platform).configure(|config| {
        config.redirect_uris.any_port = true;
        config.redirect_uris.development_http = true;
    });
    let loose = settings(loose);
    assert!(loose.contains(&"redirect_uris.any_port") && loose.contains(&"redirect_uris.development_http"));
}
