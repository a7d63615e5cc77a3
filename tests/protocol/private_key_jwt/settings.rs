//! What `build()` refuses.

use std::time::Duration;

use grantor::client::AuthenticationMethods;
use grantor::{AuthorizationServer, Config, MemoryStore};

use support::world::ISSUER;

/// FAPI-5.3.2.1-13, 7523-3-05
#[test]
fn settings_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 2] = [
        (
            |config| config.client_authentication.clock_skew = Duration::from_secs(61),
            "client_authentication.clock_skew",
        ),
        (
            |config| {
                config.client_authentication.methods = AuthenticationMethods::KEY;
                config.limits.body_bytes = 8192;
            },
            "limits.body_bytes",
        ),
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
    config.client_authentication.methods = none;
    let error = AuthorizationServer::new(config.clone(), MemoryStore::new()).unwrap_err();
    assert_eq!((error.field(), error.value()), ("client_authentication.methods", "an empty set"));
    config.public_clients = true;
    assert!(AuthorizationServer::new(config.clone(), MemoryStore::new()).is_ok());
    config.client_authentication.methods = AuthenticationMethods::PUBLIC;
    let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
    assert_eq!((error.field(), error.value()), ("client_authentication.methods", "none"));
}
