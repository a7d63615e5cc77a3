//! The throttle of the examples.

use grantor::MemoryThrottle;

use crate::LOOPBACK_NAMES;

pub const USAGE: &str = "\
\x20 --throttle          slow down requests from this machine too (exempt by default, unless --issuer names another host)";

/// Returns the throttle of a server with that issuer.
///
/// Requests from this machine are exempt only while the issuer is on the loopback. Behind a proxy on this machine,
/// every request comes from here.
#[must_use]
pub fn throttle(issuer: &str, counts_loopback: bool) -> MemoryThrottle {
    let host = issuer.split_once("://").map_or("", |(_, rest)| rest);
    let is_local = LOOPBACK_NAMES.iter().any(|name| {
        host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':') || rest.starts_with('/'))
    });
    let throttle = MemoryThrottle::new();
    if counts_loopback || !is_local { throttle } else { throttle.exempt_loopback() }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use grantor::hooks::{Attempt, AttemptKind, Throttle as _, ThrottleDecision};
    use grantor::wire::Endpoint;

    use super::throttle;

    #[tokio::test]
    async fn behind_a_proxy_on_this_machine_requests_are_counted() {
        for (issuer, counts_loopback, is_counted) in [
            ("http://127.0.0.1:8080", false, false),
            ("http://localhost:8080/tenant", false, false),
            ("http://[::1]", false, false),
            ("http://127.0.0.1:8080", true, true),
            ("https://auth.example", false, true),
            ("https://localhost.example", false, true),
        ] {
            let throttle = throttle(issuer, counts_loopback);
            let mut attempt = Attempt::new(AttemptKind::Registration, Endpoint::Registration);
            attempt.peer = Some(Ipv4Addr::LOCALHOST.into());
            let mut refused = false;
            for _ in 0..30 {
                refused |= matches!(throttle.check(&attempt).await, ThrottleDecision::Refuse { .. });
            }
            assert_eq!(refused, is_counted, "{issuer}");
        }
    }
}
