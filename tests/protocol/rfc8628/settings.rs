//! The settings of devices.

use std::time::Duration;

use grantor::config::{Profile, UserCodeFormat};
use grantor::secret::DerivationKey;
use grantor::{AuthorizationServer, Config, MemoryStore, MemoryThrottle};

use super::{PAGE, approved, asked, device_config, poll, typed, world};
use support::world::ok;

fn refused(change: impl FnOnce(&mut Config)) -> String {
    let mut config = device_config(Profile::Strict);
    change(&mut config);
    let builder = AuthorizationServer::builder(config, MemoryStore::new()).throttle(MemoryThrottle::new());
    builder.build().expect_err("the setting is refused").to_string()
}

/// 8628-3.2-01
#[test]
fn the_page_has_an_https_address_that_can_be_typed() {
    for page in [
        "",
        "http://auth.example/device",
        "https://auth.example/device?x",
        "https://auth.example/#a",
        "https://a:b@auth.example/d",
    ] {
        let error = refused(|config| config.devices.verification_uri = page.into());
        assert!(error.starts_with("devices.verification_uri is \""), "{error}");
        assert!(error.contains("an https URL without query, fragment and user is accepted"), "{error}");
    }
    for taken in ["/oauth2/auth", "/oauth2/token", "/oauth2/auth/consent", "/.well-known/x"] {
        let error = refused(|config| config.devices.verification_uri = format!("https://auth.example{taken}"));
        assert!(error.contains("no path below /oauth2"), "{error}");
    }
    let error = refused(|config| config.devices.verification_uri = "http://127.0.0.1:8080/device".into());
    assert!(error.contains("development"), "{error}");
    let mut config = device_config(Profile::Strict);
    (config.issuer, config.development) = ("http://127.0.0.1:8080".into(), true);
    config.devices.verification_uri = "http://127.0.0.1:8080/device".into();
    let builder = AuthorizationServer::builder(config, MemoryStore::new()).throttle(MemoryThrottle::new());
    let report = builder.build().unwrap().security_report();
    assert!(report.findings.iter().any(|finding| finding.setting == "devices.on"));
}

/// 8628-3.2-02, 8628-6.1-01
#[test]
fn codes_are_neither_short_lived_nor_short() {
    for seconds in [119, 1801] {
        let error = refused(|config| config.devices.lifetime = Duration::from_secs(seconds));
        assert_eq!(error, format!("devices.lifetime is {seconds} s; 120 to 1800 s are accepted"));
    }
    for format in [UserCodeFormat::Letters(7), UserCodeFormat::Digits(10), UserCodeFormat::Letters(17)] {
        let error = refused(|config| config.devices.user_code = format);
        assert!(error.starts_with("devices.user_code is") && error.contains("34 random bits"), "{error}");
    }
    for most in [0, 1_000_001] {
        let error = refused(|config| config.limits.device_requests = most);
        assert!(error.starts_with(&format!("limits.device_requests is {most}; 1 to 1000000 are accepted")), "{error}");
    }
    // More open codes need longer ones, so that a guess hits as rarely.
    for (most, format, is_accepted) in [
        (1000, UserCodeFormat::Letters(8), true),
        (1001, UserCodeFormat::Letters(8), false),
        (20_000, UserCodeFormat::Letters(9), true),
        (20_001, UserCodeFormat::Letters(9), false),
        (1_000_000, UserCodeFormat::Letters(11), true),
        (3906, UserCodeFormat::Digits(11), true),
        (3907, UserCodeFormat::Digits(11), false),
    ] {
        let mut config = device_config(Profile::Strict);
        (config.limits.device_requests, config.devices.user_code) = (most, format);
        let built = AuthorizationServer::builder(config, MemoryStore::new()).throttle(MemoryThrottle::new()).build();
        assert_eq!(built.is_ok(), is_accepted, "{most} {format:?}");
    }
    let error = refused(|config| config.devices.cors = grantor::wire::Cors::AnyOrigin);
    assert!(error.starts_with("devices.cors is AnyOrigin"), "{error}");
    let error = refused(|config| config.devices.cors = grantor::wire::Cors::Origins(vec!["file://tv".into()]));
    assert!(error.starts_with("devices.cors is \"file://tv\""), "{error}");
}

/// 8628-5.1-01, 8628-6.1-03
#[test]
fn devices_need_a_throttle_and_a_key() {
    let error = refused(|config| config.refresh.derivation_keys = Vec::new());
    assert_eq!(error, "devices.on is true; set it to false, or add a key to refresh.derivation_keys");
    let builder = AuthorizationServer::builder(device_config(Profile::Strict), MemoryStore::new());
    let error = builder.build().expect_err("no throttle").to_string();
    assert_eq!(
        error,
        "devices.on is true; set it to false, or add a throttle: Builder::throttle(MemoryThrottle::new())"
    );
}

/// 8628-3.1-02
#[tokio::test]
async fn a_client_of_ones_own_has_the_scopes_of_both() {
    let world = world().await;
    let own = world.server.own_client("both").name("Both").redirect_uri("https://both.example/cb");
    let own = own.device_scopes("repo-code:r").scopes("repo-issue:r");
    let own = own.secret("0123456789abcdef0123456789abcdef").ensure().await.unwrap();
    let scopes = world.server.config().scopes.to_wire(&own.form().scopes).into_owned();
    assert_eq!(scopes, "repo-code:r repo-issue:r");
    assert!(own.form().grant_types.contains(grantor::client::GrantType::DeviceCode));
}

/// DEV-07
#[test]
fn the_fapi_profile_has_no_devices() {
    let mut config = Config::fapi("https://auth.example");
    config.devices.on = true;
    config.devices.verification_uri = PAGE.into();
    config.refresh.derivation_keys = vec![DerivationKey::new([1; 32])];
    let builder = AuthorizationServer::builder(config, MemoryStore::new()).throttle(MemoryThrottle::new());
    let error = builder.build().expect_err("no devices").to_string();
    assert!(error.starts_with("devices.on is true; only false is accepted in the FAPI"), "{error}");
}

/// 8628-6.1-03
#[tokio::test]
async fn a_key_is_rotated_without_a_miss() {
    let mut world = world().await;
    let [old, new] = [1, 2].map(|byte| DerivationKey::new([byte; 32]));
    let before = asked(&world).await;
    for keys in [vec![old.clone(), new.clone()], vec![new.clone(), old.clone()], vec![new, old]] {
        super::reconfigured(&mut world, |config| config.refresh.derivation_keys = keys);
        let device = asked(&world).await;
        approved(&world, &typed(&world, &device.user_code).await).await;
        ok(&poll(&world, &device.device_code).await);
    }
    approved(&world, &typed(&world, &before.user_code).await).await;
    ok(&poll(&world, &before.device_code).await);
}
