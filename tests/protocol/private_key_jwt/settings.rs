//! What `build()` refuses.

use std::time::Duration;

use grantor::client::AuthenticationMethods;
use grantor::{AuthorizationServer, Config, MemoryStore};

use support::world::ISSUER;

/// FAPI-5.3.2.1-13, 7523-3-05
#[test]
fn settings_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 8] = [
        (|config| config.clock_skew = Duration::from_secs(61), "clock_skew"),
        (|config| config.assertion_lifetime = Duration::from_secs(59), "assertion_lifetime"),
        (|config| config.assertion_bytes = 16_385, "assertion_bytes"),
        (|config| config.key_sets.most_bytes = 262_145, "key_sets.most_bytes"),
        (|config| config.key_sets.most_keys = 101, "key_sets.most_keys"),
        (|config| config.key_sets.fresh = Duration::from_secs(59), "key_sets.fresh"),
        (|config| config.key_sets.stale = Duration::from_secs(3599), "key_sets.stale"),
        (|config| config.key_sets.pause = Duration::from_secs(9), "key_sets.pause"),
    ];
    for (change, field) in cases {
        for make in [|| Config::strict(ISSUER), || Config::platform(ISSUER), || Config::mcp(ISSUER)] {
            let mut config = make();
            change(&mut config);
            assert_eq!(AuthorizationServer::new(config, MemoryStore::new()).unwrap_err().field(), field);
        }
    }
}

/// 7591-2-20
#[test]
fn a_server_that_nobody_could_use_is_refused() {
    let none: AuthenticationMethods = [].into_iter().collect();
    let mut config = Config::strict(ISSUER);
    config.authentication_methods = none;
    let error = AuthorizationServer::new(config.clone(), MemoryStore::new()).unwrap_err();
    assert_eq!((error.field(), error.value()), ("authentication_methods", "an empty set"));
    config.public_clients = true;
    assert!(AuthorizationServer::new(config.clone(), MemoryStore::new()).is_ok());
    config.authentication_methods = AuthenticationMethods::PUBLIC;
    let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
    assert_eq!((error.field(), error.value()), ("authentication_methods", "none"));
}
