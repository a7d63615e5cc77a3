//! What an authorization server is built from.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use crate::base::clock::{Clock, NewestTime, OnceAMinute, SystemClock};
use crate::base::entropy::{Entropy, SystemEntropy};
use crate::config::Config;
use crate::config::rule::{ConfigError, Parts};
use crate::context::signing_keys::SigningKeys;
use crate::context::{Context, Polls, RegistrationRules, proof_urls};
use crate::fetch::cache::{Cache, MAX_CACHED};
use crate::fetch::documents::Documents;
use crate::fetch::key_sets::KeySets;
use crate::hooks::registration_policy::RegistrationPolicy;
use crate::hooks::{Event, EventSink, Fetcher, SigningKey, Subjects, Throttle};
use crate::jose;
use crate::model::redirect_uri::WebUri;
use crate::resource::{ResourceServer, source};
use crate::secret::Prefixes;
use crate::server::AuthorizationServer;
use crate::store::Stores;
use crate::wire::Response;
use crate::wire::page::page;

impl AuthorizationServer {
    /// Builds a server with these settings on these stores: a [`MemoryStore`](crate::MemoryStore), any
    /// value that implements the store traits, or [`Stores::new`].
    ///
    /// [`builder`](Self::builder) adds hooks: a throttle, a sink of events, your service's users.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a setting contradicts another one, the profile or the standards.
    pub fn new(config: Config, stores: impl Into<Stores>) -> Result<Self, ConfigError> {
        Self::builder(config, stores).build()
    }

    /// Returns a builder for a server with hooks; settings and stores are as for [`new`](Self::new).
    #[must_use]
    pub fn builder(config: Config, stores: impl Into<Stores>) -> Builder {
        Builder {
            config,
            stores: stores.into(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            events: None,
            throttle: None,
            subjects: None,
            registration_policy: None,
            fetcher: None,
            signing_keys: Vec::new(),
        }
    }
}

/// Adds hooks to an [`AuthorizationServer`] before it is built.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    stores: Stores,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    events: Option<Arc<dyn EventSink>>,
    throttle: Option<Arc<dyn Throttle>>,
    subjects: Option<Arc<dyn Subjects>>,
    registration_policy: Option<Arc<dyn RegistrationPolicy>>,
    fetcher: Option<Arc<dyn Fetcher>>,
    signing_keys: Vec<SigningKey>,
}

impl Builder {
    /// Sets the clock. The default is that of the operating system.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the source of random bytes. The default is [`SystemEntropy`].
    #[must_use]
    pub fn entropy(mut self, entropy: impl Entropy) -> Self {
        self.entropy = Arc::new(entropy);
        self
    }

    /// Sets the sink that events go to.
    #[must_use]
    pub fn events(mut self, events: impl EventSink) -> Self {
        self.events = Some(Arc::new(events));
        self
    }

    /// Sets the throttle, such as a [`MemoryThrottle`](crate::MemoryThrottle). The default is none.
    #[must_use]
    pub fn throttle(mut self, throttle: impl Throttle) -> Self {
        self.throttle = Some(Arc::new(throttle));
        self
    }

    /// Sets the hook that decides whether users may be given tokens.
    #[must_use]
    pub fn subjects(mut self, subjects: impl Subjects) -> Self {
        self.subjects = Some(Arc::new(subjects));
        self
    }

    /// Sets the policy for clients that register themselves or have a metadata document.
    /// [`registration.dynamic`](crate::config::RegistrationSettings::dynamic) and
    /// [`registration.metadata_documents`](crate::config::RegistrationSettings::metadata_documents) need one.
    #[must_use]
    pub fn registration_policy(mut self, policy: impl RegistrationPolicy) -> Self {
        self.registration_policy = Some(Arc::new(policy));
        self
    }

    /// Sets the fetcher of metadata documents and key sets, such as that of the package `grantor-fetch`.
    /// [`registration.metadata_documents`](crate::config::RegistrationSettings::metadata_documents) needs one, and so
    /// do clients with a `jwks_uri`.
    #[must_use]
    pub fn fetcher(mut self, fetcher: impl Fetcher) -> Self {
        self.fetcher = Some(Arc::new(fetcher));
        self
    }

    /// Sets the keys that sign access tokens in the form of JWTs, at most four [RFC 9068]. A protected resource with
    /// [`AccessTokenFormat::Jwt`](crate::protected_resource::AccessTokenFormat::Jwt) needs one. All servers of one
    /// issuer have the same keys.
    #[must_use]
    pub fn signing_keys(mut self, keys: impl IntoIterator<Item = SigningKey>) -> Self {
        self.signing_keys = keys.into_iter().collect();
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a setting contradicts another one, the profile or the standards.
    pub fn build(self) -> Result<AuthorizationServer, ConfigError> {
        let Self {
            config,
            stores,
            clock,
            entropy,
            events,
            throttle,
            subjects,
            registration_policy,
            fetcher,
            signing_keys,
        } = self;
        config.check(&Parts {
            has_throttle: throttle.is_some(),
            has_derivation_key: !config.refresh.derivation_keys.is_empty(),
            has_policy: registration_policy.is_some(),
            has_registry: stores.has_registry,
            has_fetcher: fetcher.is_some(),
            reaches_loopback: fetcher.as_ref().is_some_and(|fetcher| fetcher.reaches_loopback()),
            offers_keys: config.key_rules(fetcher.is_some()).offers_keys(),
            has_jose: jose::IS_AVAILABLE,
        })?;
        let of_documents = fetcher.clone().filter(|_| config.registration.metadata_documents);
        let documents = of_documents.map(|fetcher| Documents::new(&config, fetcher, Arc::clone(&clock)));
        let of_keys = fetcher.filter(|_| config.client_authentication.accepts_assertions());
        let key_sets = of_keys.map(|fetcher| KeySets::new(fetcher, Arc::clone(&clock), throttle.clone()));
        let resources = source::table(&config);
        let newest = NewestTime::default();
        let signing_keys = SigningKeys::new(signing_keys, &config, clock.now())?;
        let prefixes = Prefixes::new(&config.tokens.prefix);
        let proof_urls = proof_urls(&config);
        let registration_rules = RegistrationRules::new(&config, key_sets.is_some());
        let context = Context {
            stores,
            config,
            prefixes,
            resources,
            proof_urls,
            signing_keys,
            metadata: OnceLock::new(),
            clock,
            newest,
            clock_reports: OnceAMinute::default(),
            entropy,
            events,
            throttle,
            subjects,
            registration_policy,
            registration_rules,
            documents,
            key_sets,
            misses_peers: AtomicBool::new(false),
            has_unknown_scope: AtomicBool::new(false),
            number: source::next_number(),
            refused_introspections: Mutex::new(Cache::new(MAX_CACHED)),
            polls: Polls::default(),
        };
        let context = Arc::new(context);
        let resource = ResourceServer::in_process(Arc::clone(&context), context.resources.default());
        Ok(AuthorizationServer { context, resource })
    }
}

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
    events: Arc<dyn EventSink>,
    once_a_minute: OnceAMinute,
}

impl Reports {
    const BYTES: usize = 255;

    fn report(&self, authority: &[u8], origin: &str) {
        if !self.once_a_minute.is_due(self.clock.now()) {
            return;
        }
        let host = String::from_utf8_lossy(authority.get(..Self::BYTES).unwrap_or(authority));
        self.events.record(&Event::OtherHost { host: &host.escape_debug().to_string(), origin });
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
    pub(crate) fn reporting(self, clock: Arc<dyn Clock>, events: Option<Arc<dyn EventSink>>) -> Self {
        let reports = events.map(|events| Arc::new(Reports { clock, events, once_a_minute: OnceAMinute::default() }));
        Self { reports, ..self }
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
