//! Which settings `build()` accepts in the profile.

use std::time::Duration;

use grantor::client::{AuthenticationMethod, AuthenticationMethods, RefreshRotation};
use grantor::config::PushedRequests;
use grantor::config::{
    AssertionAudience, AuthorizationErrors, DpopBoundTokens, PkceRequirement, Profile, StateCharacters,
};
use grantor::protected_resource::ProtectedResource;
use grantor::redirect_uri::{LoopbackHttp, PrivateUseSchemes, RedirectUriComparison};
use grantor::wire::RedirectStatus;
use grantor::{AuthorizationServer, Config, MemoryStore};

use support::world::{ISSUER, config_of};

/// A change of one setting, and the setting that the error names.
type Contradiction = (fn(&mut Config), &'static str);

pub(super) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn refused(change: fn(&mut Config)) -> Option<&'static str> {
    let mut config = config_of(Profile::Fapi);
    change(&mut config);
    AuthorizationServer::new(config, MemoryStore::new()).err().map(|error| error.field())
}

/// Asserts that each one is refused separately, and that the error names the setting.
fn all_refused(contradictions: &[Contradiction]) {
    for (number, (change, setting)) in contradictions.iter().enumerate() {
        assert_eq!(refused(*change), Some(*setting), "contradiction {number}");
    }
}

/// FAPI-PROFILE-01
#[test]
fn the_profile_has_the_values_of_its_table() {
    let config = Config::fapi(ISSUER);
    assert_eq!(config.profile(), Profile::Fapi);
    assert!(!config.development && !config.public_clients);
    assert_eq!(config.client_authentication.methods, AuthenticationMethods::KEY);
    assert_eq!(config.client_authentication.assertion_audience, AssertionAudience::IssuerString);
    assert_eq!(config.client_authentication.clock_skew, seconds(30));
    assert!(!config.client_authentication.rs256);
    assert_eq!(config.pushed_requests.mode, PushedRequests::Required);
    assert_eq!(config.pushed_requests.lifetime, seconds(300));
    let uris = &config.redirect_uris;
    assert_eq!(uris.comparison, RedirectUriComparison::Exact);
    assert_eq!(uris.loopback_http, LoopbackHttp::Off);
    assert_eq!(uris.private_use_schemes, PrivateUseSchemes::Named(Vec::new()));
    assert_eq!(config.authorization.errors, AuthorizationErrors::Rfc6749);
    assert_eq!(config.authorization.redirect_status, RedirectStatus::SeeOther);
    assert_eq!(config.authorization.pkce, PkceRequirement::AllClients);
    assert_eq!(config.authorization.state, StateCharacters::Visible);
    assert_eq!((config.authorization.code_lifetime, config.tokens.access_lifetime), (seconds(60), seconds(3600)));
    assert_eq!((config.dpop.tokens, config.bearer_in_body), (DpopBoundTokens::Required, false));
    assert!(config.dpop.nonce_keys.is_empty());
    assert_eq!(config.refresh.rotation, RefreshRotation::Keep);
    assert_eq!(config.refresh.access_token_grace, seconds(300));
    assert_eq!(refused(|_| {}), None);
}

/// FAPI-PROFILE-01, FAPI-5.2-01
#[test]
fn every_address_is_https() {
    all_refused(&[
        (|config| config.issuer = "http://auth.example".into(), "issuer"),
        (|config| config.issuer = "http://127.0.0.1:8080".into(), "issuer"),
        (|config| config.development = true, "development"),
        (
            |config| {
                config.issuer = "http://127.0.0.1:8080".into();
                config.development = true;
            },
            "development",
        ),
        (|config| config.resources = vec![ProtectedResource::new("http://127.0.0.1:8080/api", "API")], "resources"),
    ]);
}

/// FAPI-PROFILE-01, FAPI-5.3.2.1-03, FAPI-5.3.2.1-06, FAPI-5.3.2.1-13, FAPI-5.4.1-01
#[test]
fn clients_are_confidential_and_sign() {
    all_refused(&[
        (|config| config.public_clients = true, "public_clients"),
        (
            |config| config.client_authentication.methods = AuthenticationMethods::SECRET,
            "client_authentication.methods",
        ),
        (
            |config| {
                let methods = AuthenticationMethods::KEY.with(AuthenticationMethod::ClientSecretBasic);
                config.client_authentication.methods = methods;
            },
            "client_authentication.methods",
        ),
        (
            |config| {
                let methods = AuthenticationMethods::KEY.with(AuthenticationMethod::ClientSecretPost);
                config.client_authentication.methods = methods;
            },
            "client_authentication.methods",
        ),
        (
            |config| {
                let methods = AuthenticationMethods::KEY.without(AuthenticationMethod::PrivateKeyJwt);
                config.client_authentication.methods = methods;
            },
            "client_authentication.methods",
        ),
        (
            |config| config.client_authentication.assertion_audience = AssertionAudience::Issuer,
            "client_authentication.assertion_audience",
        ),
        (
            |config| config.client_authentication.assertion_audience = AssertionAudience::Legacy,
            "client_authentication.assertion_audience",
        ),
        (|config| config.client_authentication.rs256 = true, "client_authentication.rs256"),
        (|config| config.client_authentication.clock_skew = seconds(9), "client_authentication.clock_skew"),
        (|config| config.client_authentication.clock_skew = seconds(61), "client_authentication.clock_skew"),
    ]);
    assert_eq!(refused(|config| config.client_authentication.clock_skew = seconds(10)), None);
    assert_eq!(refused(|config| config.client_authentication.clock_skew = seconds(60)), None);
}

/// FAPI-PROFILE-01, FAPI-5.3.2.2-03, FAPI-5.3.2.2-05, FAPI-5.3.2.2-07, FAPI-5.3.2.2-08, FAPI-5.3.2.2-12,
/// FAPI-5.3.2.2-14
#[test]
fn requests_are_pushed_and_answered_exactly() {
    all_refused(&[
        (|config| config.pushed_requests.mode = PushedRequests::Optional, "pushed_requests.mode"),
        (|config| config.pushed_requests.mode = PushedRequests::Off, "pushed_requests.mode"),
        (|config| config.pushed_requests.lifetime = seconds(600), "pushed_requests.lifetime"),
        (|config| config.pushed_requests.lifetime = seconds(29), "pushed_requests.lifetime"),
        (|config| config.redirect_uris.comparison = RedirectUriComparison::Domain, "redirect_uris.comparison"),
        (|config| config.redirect_uris.comparison = RedirectUriComparison::DomainAnyPort, "redirect_uris.comparison"),
        (|config| config.redirect_uris.loopback_http = LoopbackHttp::Addresses, "redirect_uris.loopback_http"),
        (|config| config.redirect_uris.loopback_http = LoopbackHttp::default(), "redirect_uris.loopback_http"),
        (
            |config| config.redirect_uris.private_use_schemes = PrivateUseSchemes::default(),
            "redirect_uris.private_use_schemes",
        ),
        (
            |config| config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()]),
            "redirect_uris.private_use_schemes",
        ),
        (|config| config.authorization.errors = AuthorizationErrors::PageForServiceParameters, "authorization.errors"),
        (|config| config.authorization.pkce = PkceRequirement::PublicClients, "authorization.pkce"),
    ]);
    assert_eq!(refused(|config| config.pushed_requests.lifetime = seconds(599)), None);
    assert_eq!(refused(|config| config.pushed_requests.lifetime = seconds(30)), None);
}

/// FAPI-PROFILE-01, FAPI-5.3.2.1-05, FAPI-5.3.2.1-09, FAPI-5.3.2.1-11
#[test]
fn tokens_are_bound_and_refresh_tokens_stay() {
    all_refused(&[
        (|config| config.authorization.code_lifetime = seconds(61), "authorization.code_lifetime"),
        (|config| config.dpop.tokens = DpopBoundTokens::Optional, "dpop.tokens"),
        (|config| config.dpop.tokens = DpopBoundTokens::Off, "dpop.tokens"),
        (|config| config.bearer_in_body = true, "bearer_in_body"),
        (
            |config| {
                config.refresh.rotation = RefreshRotation::Rotate;
                config.refresh.grace = seconds(59);
            },
            "refresh.grace",
        ),
        // One client may be set to `Rotate`.
        (|config| config.refresh.grace = seconds(59), "refresh.grace"),
    ]);
    let rotate: fn(&mut Config) = |config| {
        config.refresh.rotation = RefreshRotation::Rotate;
        config.refresh.grace = seconds(60);
    };
    assert_eq!(refused(rotate), None);
}

/// FAPI-PROFILE-01
#[test]
fn an_error_names_value_remedy_and_section() {
    let mut config = config_of(Profile::Fapi);
    config.authorization.code_lifetime = seconds(61);
    let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "authorization.code_lifetime is 61 s; at most 60 s is accepted in the FAPI profile (FAPI 2.0 Security Profile \
         section 5.3.2.1)"
    );
}
