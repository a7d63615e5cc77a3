//! Which host names a service answers to.

use std::sync::Arc;

use crate::base::clock::{Clock, OnceAMinute};
use crate::hooks::{Event, Events};
use crate::model::redirect_uri::WebUri;
use crate::resource::ResourceServer;
use crate::wire::Response;
use crate::wire::page::page;

/// The host names of a service. A request for another name is refused with 421 [RFC 9110 section 15.5.20].
///
/// An attacker's name that resolves to the address of the service makes the attacker's page and the service one origin
/// (DNS rebinding). Such a page can read every answer that needs no cookie of the true name. A service on a loopback or
/// private address, or one that signs browsers in by itself, needs this check. The adapters have it as
/// `refuse_other_hosts`.
///
/// [`AuthorizationServer::hosts`](crate::AuthorizationServer::hosts) returns those of the issuer and of the protected
/// resources.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Where this service is. Nothing in it needs an escape in HTML.
    origin: Arc<str>,
    names: Arc<[Box<str>]>,
    reports: Option<Arc<Reports>>,
}

/// Where requests for other hosts are reported: once a minute, since anyone can send them.
#[derive(Debug)]
struct Reports {
    clock: Arc<dyn Clock>,
    events: Events,
    once_a_minute: OnceAMinute,
}

impl Reports {
    const BYTES: usize = 255;

    fn report(&self, authority: &[u8], origin: &str) {
        if !self.once_a_minute.is_due(self.clock.now()) {
            return;
        }
        let host = String::from_utf8_lossy(authority.get(..Self::BYTES).unwrap_or(authority));
        self.events.raise(&Event::OtherHost { host: &host.escape_debug().to_string(), origin });
    }
}

impl ResourceServer {
    /// Returns the host name of the resource, or of the issuer without protected resources, for a check of the `Host`
    /// header.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        let (clock, events) = self.clock_and_events();
        Hosts::of(self.url(), std::iter::empty()).reporting(clock, events)
    }
}

impl Hosts {
    /// Takes the hosts of an issuer, whose origin a refusal names, and of protected resources.
    pub(crate) fn of<'a>(issuer: &'a str, resources: impl Iterator<Item = &'a str>) -> Self {
        let urls = [issuer].into_iter().chain(resources);
        let names = urls.filter_map(|url| WebUri::split(url).ok()).map(|uri| uri.host.into());
        let origin = WebUri::split(issuer).map(|uri| uri.plain_origin()).unwrap_or_default();
        Self { origin: origin.into(), names: names.collect(), reports: None }
    }

    /// Reports requests for other hosts to the sink.
    pub(crate) fn reporting(self, clock: Arc<dyn Clock>, events: Events) -> Self {
        Self { reports: Some(Arc::new(Reports { clock, events, once_a_minute: OnceAMinute::default() })), ..self }
    }

    /// Adds names: those by which a proxy asks for this service, if it passes its own `Host`, or `localhost`. Each is
    /// written as in the `Host` header but without the port, an IPv6 address in brackets.
    #[must_use]
    pub fn and<N: Into<Box<str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = self.names.iter().cloned().chain(names.into_iter().map(Into::into)).collect();
        self
    }

    /// Returns whether a `Host` header or an `:authority` names this service [RFC 9110 section 7.2]. Case and port are
    /// not compared.
    #[must_use]
    pub fn contains(&self, authority: &[u8]) -> bool {
        let host = match authority.iter().rposition(|byte| *byte == b':') {
            Some(colon) if authority.iter().skip(colon + 1).all(u8::is_ascii_digit) => authority.get(..colon),
            Some(_) | None => Some(authority),
        };
        host.is_some_and(|host| self.names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(host)))
    }

    /// Returns the answer to a request for that `Host` or `:authority` if it does not name this service, and reports it
    /// as [`Event::OtherHost`]. A request without either is not refused: no browser sends one.
    #[must_use]
    pub fn refusal(&self, authority: Option<&[u8]>) -> Option<Response> {
        let other = authority.filter(|authority| !self.contains(authority))?;
        if let Some(reports) = &self.reports {
            reports.report(other, &self.origin);
        }
        let explanation = format!("The request is for another host. This service is at {}.", self.origin);
        Some(page(421, "Wrong address", [&*explanation]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_port() {
        let hosts =
            Hosts::of("https://Auth.example/tenant", ["https://api.example:8443", "http://[::1]:1"].into_iter());
        for own in ["auth.example", "AUTH.EXAMPLE:443", "auth.example:", "api.example", "[::1]", "[::1]:8080"] {
            assert!(hosts.contains(own.as_bytes()), "{own}");
        }
        for other in [
            "",
            "evil.example",
            "auth.example.",
            "auth.example.evil.example",
            "evil.example:443:80",
            "user@auth.example",
            "auth.example:80@evil.example",
            "auth.example, evil.example",
            "::1",
            "localhost",
        ] {
            assert!(!hosts.contains(other.as_bytes()), "{other}");
        }
        let more = hosts.and(["localhost", "[::2]"]);
        assert!(more.contains(b"localhost:1") && more.contains(b"[::2]:1") && more.contains(b"auth.example"));
    }

    #[test]
    fn a_refusal_gives_the_address() {
        let hosts = Hosts::of("http://127.0.0.1:8080/it's", std::iter::empty());
        assert_eq!(hosts.refusal(None), None);
        assert_eq!(hosts.refusal(Some(b"127.0.0.1:8080")), None);
        for foreign in [&b"evil.example"[..], b"localhost:8080", b""] {
            let refusal = hosts.refusal(Some(foreign)).unwrap();
            assert_eq!(refusal.status(), 421);
            assert!(str::from_utf8(refusal.body()).unwrap().contains("is at http://127.0.0.1:8080.<"));
        }
    }
}
