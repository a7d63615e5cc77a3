//! The token requests of the clients, so that the tests notice if a release sends something else.

use crate::open::client::Kind;
use crate::open::course::{Case, Way};
use crate::open::relay::Exchange;

/// Compares all token requests of a scenario with those expected of the client.
pub(crate) fn assert_as_known(case: Case, exchanges: &[Exchange]) {
    let method = method(case);
    for exchange in exchanges.iter().filter(|exchange| exchange.path().ends_with("/oauth2/token")) {
        let is_basic = exchange.head.value("authorization").is_some_and(|value| value.starts_with("Basic "));
        let has_secret = exchange.field("client_secret").is_some();
        assert_eq!(
            (is_basic, has_secret),
            (method == "client_secret_basic", method == "client_secret_post"),
            "{case:?}"
        );
        if method != "client_secret_basic" {
            assert!(exchange.field("client_id").is_some(), "{case:?}: {exchange:#?}");
        }
        if case.revision >= "2025-06-18" {
            assert!(exchange.field("resource").is_some(), "{case:?}: {exchange:#?}");
        } else if case.kind != Kind::Rust {
            assert_eq!(exchange.field("resource"), None, "{case:?}: {exchange:#?}");
        }
        if exchange.is_grant("authorization_code") {
            let sent = ["redirect_uri", "code_verifier"].map(|name| exchange.field(name).is_some());
            assert_eq!(sent, [true; 2], "{case:?}: {exchange:#?}");
        } else if case.kind == Kind::Rust {
            // The server accepts the scope that it returned.
            assert!(exchange.field("scope").is_some_and(|scope| scope.contains("notes")), "{case:?}: {exchange:#?}");
        }
    }
    if case.way == Way::Dynamic(None) && matches!(case.kind, Kind::PYTHON_1 | Kind::PYTHON_2) {
        let registration =
            exchanges.iter().find(|exchange| exchange.path() == "/oauth2/register").expect("it registers");
        let sent = String::from_utf8_lossy(&registration.body);
        assert!(!sent.contains("token_endpoint_auth_method"), "{case:?}: {sent}");
        let answer = registration.json();
        assert!(answer["client_secret"].is_string(), "{case:?}: {answer}");
        assert_eq!(answer["token_endpoint_auth_method"], "client_secret_basic", "{case:?}");
    }
}

/// The method that the client uses.
fn method(case: Case) -> &'static str {
    match case.way {
        Way::Dynamic(Some(method)) | Way::Beforehand(method) => method,
        Way::Document(_) => "none",
        Way::Dynamic(None) if case.kind == Kind::Rust => "none",
        // The server's default.
        Way::Dynamic(None) => "client_secret_basic",
    }
}
