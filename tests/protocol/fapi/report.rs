//! What the report names, although the profile accepts it.

use grantor::client::{AuthenticationMethod, RefreshRotation};
use grantor::config::{AssertionAudience, Profile};
use grantor::secret::NonceKey;
use grantor::wire::RedirectStatus;
use grantor::{AuthorizationServer, Config, MemoryStore, MemoryThrottle};

use crate::fapi::promises::seconds;
use support::world::config_of;

fn reported(profile: Profile, change: impl FnOnce(&mut Config)) -> Vec<&'static str> {
    let mut config = config_of(profile);
    change(&mut config);
    let server = AuthorizationServer::builder(config, MemoryStore::new()).throttle(MemoryThrottle::new()).build();
    server.unwrap().security_report().findings.iter().map(|finding| finding.setting).collect()
}

/// FAPI-PROFILE-01
#[test]
fn the_report_lists_nothing_for_the_plain_profile() {
    assert_eq!(reported(Profile::Fapi, |_| {}), Vec::<&str>::new());
}

/// FAPI-PROFILE-01, FAPI-5.3.2.1-09, FAPI-5.3.2.2-11
#[test]
fn soft_contradictions_are_reported() {
    let rotating = reported(Profile::Fapi, |config| config.refresh.rotation = RefreshRotation::Rotate);
    assert_eq!(rotating, ["refresh.rotation", "refresh.grace", "refresh.derivation_keys", "tokens.grant_lifetime"]);
    assert_eq!(
        reported(Profile::Fapi, |config| config.authorization.redirect_status = RedirectStatus::Found),
        ["authorization.redirect_status"]
    );
    let long = |config: &mut Config| config.tokens.access_lifetime = seconds(86_401);
    assert_eq!(reported(Profile::Fapi, long), ["tokens.access_lifetime"]);
    let with_nonces = |config: &mut Config| {
        long(config);
        config.dpop.nonce_keys = vec![NonceKey::new([7; 32])];
    };
    assert_eq!(reported(Profile::Fapi, with_nonces), Vec::<&str>::new());
    assert_eq!(reported(Profile::Fapi, |config| config.tokens.access_lifetime = seconds(86_400)), Vec::<&str>::new());
}

/// 7523-3-04, 7518-3.1-01
#[test]
fn loose_rules_for_assertions_are_reported() {
    let keys = |config: &mut Config| {
        config.client_authentication.methods =
            config.client_authentication.methods.with(AuthenticationMethod::PrivateKeyJwt);
    };
    let before = reported(Profile::Strict, keys);
    let legacy = reported(Profile::Strict, |config| {
        keys(config);
        config.client_authentication.assertion_audience = AssertionAudience::Legacy;
    });
    let rs256 = reported(Profile::Strict, |config| {
        keys(config);
        config.client_authentication.rs256 = true;
    });
    for (named, setting) in
        [(legacy, "client_authentication.assertion_audience"), (rs256, "client_authentication.rs256")]
    {
        let further: Vec<_> = named.iter().filter(|own| !before.contains(own)).collect();
        assert_eq!(further, [&setting]);
    }
}
