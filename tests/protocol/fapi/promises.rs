//! Which settings `build()` accepts in the profile.

use std::time::Duration;

use grantor::client::{AuthenticationMethod, AuthenticationMethods, RefreshRotation};
use grantor::config::{AssertionAudience, AuthorizationErrors, BoundTokens, PkceRequirement, Profile, StateCharacters};
use grantor::protected_resource::ProtectedResource;
use grantor::redirect_uri::RedirectUriComparison;
use grantor::store::Stores;
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
    assert_eq!(config.authentication_methods, AuthenticationMethods::KEY);
    assert_eq!(config.assertion_audience, AssertionAudience::IssuerString);
    assert_eq!((config.clock_skew, config.assertion_lifetime), (seconds(30), seconds(600)));
    assert!(!config.rs256_assertions && !config.require_assertion_type);
    assert!(config.pushed_requests && config.require_pushed_requests);
    assert_eq!(config.request_uri_lifetime, seconds(300));
    let uris = &config.redirect_uris;
    assert_eq!(uris.comparison, RedirectUriComparison::Exact);
    let loose = [uris.any_port, uris.development_http, uris.loopback_http, uris.localhost, uris.private_use_schemes];
    assert_eq!(loose, [false; 5]);
    assert_eq!(config.authorization_errors, AuthorizationErrors::Rfc6749);
    assert_eq!(config.redirect_status, RedirectStatus::SeeOther);
    assert_eq!(config.pkce, PkceRequirement::AllClients);
    assert_eq!((config.state, config.state_bytes), (StateCharacters::Visible, 4096));
    assert!(config.response_issuer);
    assert_eq!((config.code_lifetime, config.access_token_lifetime), (seconds(60), seconds(3600)));
    assert_eq!((config.bound_tokens, config.bearer_in_body), (BoundTokens::Required, false));
    assert_eq!((config.proof_age, config.proof_bytes), (seconds(60), 4096));
    assert!(config.dpop_nonce.is_none());
    assert_eq!((config.refresh_rotation, config.live_access_tokens), (RefreshRotation::Keep, 64));
    assert_eq!(config.grace.access_token, seconds(300));
    assert_eq!(config.open_clients.omitted_method, AuthenticationMethod::PrivateKeyJwt);
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
        (|config| config.authentication_methods = AuthenticationMethods::SECRET, "authentication_methods"),
        (
            |config| {
                let methods = AuthenticationMethods::KEY.with(AuthenticationMethod::ClientSecretBasic);
                config.authentication_methods = methods;
            },
            "authentication_methods",
        ),
        (
            |config| {
                let methods = AuthenticationMethods::KEY.with(AuthenticationMethod::ClientSecretPost);
                config.authentication_methods = methods;
            },
            "authentication_methods",
        ),
        (
            |config| {
                let methods = AuthenticationMethods::KEY.without(AuthenticationMethod::PrivateKeyJwt);
                config.authentication_methods = methods;
            },
            "authentication_methods",
        ),
        (|config| config.assertion_audience = AssertionAudience::Issuer, "assertion_audience"),
        (|config| config.assertion_audience = AssertionAudience::Legacy, "assertion_audience"),
        (|config| config.rs256_assertions = true, "rs256_assertions"),
        (|config| config.clock_skew = seconds(9), "clock_skew"),
        (|config| config.clock_skew = seconds(61), "clock_skew"),
    ]);
    assert_eq!(refused(|config| config.clock_skew = seconds(10)), None);
    assert_eq!(refused(|config| config.clock_skew = seconds(60)), None);
}

/// FAPI-PROFILE-01, FAPI-5.3.2.2-03, FAPI-5.3.2.2-05, FAPI-5.3.2.2-07, FAPI-5.3.2.2-08, FAPI-5.3.2.2-12, FAPI-5.3.2.2-14
#[test]
fn requests_are_pushed_and_answered_exactly() {
    all_refused(&[
        (|config| config.require_pushed_requests = false, "require_pushed_requests"),
        (|config| config.pushed_requests = false, "pushed_requests"),
        (|config| config.request_uri_lifetime = seconds(600), "request_uri_lifetime"),
        (|config| config.request_uri_lifetime = seconds(29), "request_uri_lifetime"),
        (|config| config.redirect_uris.comparison = RedirectUriComparison::Domain, "redirect_uris.comparison"),
        (|config| config.redirect_uris.any_port = true, "redirect_uris.any_port"),
        (|config| config.redirect_uris.development_http = true, "redirect_uris.development_http"),
        (|config| config.redirect_uris.loopback_http = true, "redirect_uris.loopback_http"),
        (|config| config.redirect_uris.private_use_schemes = true, "redirect_uris.private_use_schemes"),
        (|config| config.redirect_uris.named_schemes = vec!["cursor".into()], "redirect_uris.named_schemes"),
        (|config| config.authorization_errors = AuthorizationErrors::PageForServiceParameters, "authorization_errors"),
        (|config| config.pkce = PkceRequirement::PublicClients, "pkce"),
        (|config| config.dummy_fragment = true, "dummy_fragment"),
        (|config| config.state_bytes = 999, "state_bytes"),
        (|config| config.response_issuer = false, "response_issuer"),
    ]);
    assert_eq!(refused(|config| config.request_uri_lifetime = seconds(599)), None);
    assert_eq!(refused(|config| config.request_uri_lifetime = seconds(30)), None);
    assert_eq!(refused(|config| config.state_bytes = 1000), None);
}

/// FAPI-PROFILE-01, FAPI-5.3.2.1-05, FAPI-5.3.2.1-09, FAPI-5.3.2.1-11
#[test]
fn tokens_are_bound_and_refresh_tokens_stay() {
    all_refused(&[
        (|config| config.code_lifetime = seconds(61), "code_lifetime"),
        (|config| config.bound_tokens = BoundTokens::Optional, "bound_tokens"),
        (|config| config.bound_tokens = BoundTokens::Off, "bound_tokens"),
        (|config| config.bearer_in_body = true, "bearer_in_body"),
        (
            |config| {
                config.refresh_rotation = RefreshRotation::Rotate;
                config.grace.refresh_token = seconds(59);
            },
            "grace.refresh_token",
        ),
        // One client may be set to `Rotate`.
        (|config| config.grace.refresh_token = seconds(59), "grace.refresh_token"),
        (|config| config.live_access_tokens = 0, "live_access_tokens"),
        (|config| config.live_access_tokens = 257, "live_access_tokens"),
    ]);
    let rotate: fn(&mut Config) = |config| {
        config.refresh_rotation = RefreshRotation::Rotate;
        config.grace.refresh_token = seconds(60);
    };
    assert_eq!(refused(rotate), None);
    assert_eq!(refused(|config| config.live_access_tokens = 256), None);
}

/// FAPI-PROFILE-01
#[test]
fn the_profile_needs_stores_of_replays_and_of_pushed_requests() {
    let store = MemoryStore::new;
    let bare = || Stores::new(store(), store(), store(), store()).with_registry(store());
    let refused = |stores: Stores| {
        let error = AuthorizationServer::new(config_of(Profile::Fapi), stores).err();
        error.map(|error| error.field())
    };
    assert_eq!(refused(bare().with_pushed_requests(store())), Some("authentication_methods"));
    assert_eq!(refused(bare().with_replays(store())), Some("pushed_requests"));
    assert_eq!(refused(bare().with_replays(store()).with_pushed_requests(store())), None);
}

/// FAPI-PROFILE-01
#[test]
fn an_error_names_value_remedy_and_section() {
    let mut config = config_of(Profile::Fapi);
    config.code_lifetime = seconds(61);
    let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "code_lifetime is 61 s; at most 60 s is accepted in the FAPI profile (FAPI 2.0 Security Profile section 5.3.2.1)"
    );
}
