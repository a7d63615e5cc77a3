//! The look-up of access tokens at an authorization server in another process [RFC 7662].

mod lookups;
mod messages;
mod settings;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crate::error::failure::IntrospectionError;
pub use crate::resource::introspection::settings::{ExpectedAudience, IntrospectionSettings};

use crate::base::clock::Clock;
use crate::config::SecurityReport;
use crate::config::rule::ConfigError;
use crate::error::Reason;
use crate::fetch::flight::Waiter;
use crate::fetch::in_vain;
use crate::hooks::{Event, EventSink, TokenRefusal, Transport};
use crate::resource::environment::Environment;
use crate::resource::facts::{TokenDigest, TokenFacts};
use crate::resource::introspection::lookups::{Failure, LookUps, Outcome, Progress, Start};
use crate::resource::introspection::messages::{Answer, Credentials, RequestBody};
use crate::secret::{ClientSecret, Digest};
use crate::wire::fetch::{FetchError, FetchErrorKind};

/// The longest token that the authorization server is asked about, in bytes.
const MAX_TOKEN_BYTES: usize = 4096;

/// The maximum number of requests that are sent at once.
const MAX_REQUESTS: usize = 256;

/// Asks an authorization server in another process about access tokens [RFC 7662].
///
/// [`ResourceServer::introspecting`](crate::ResourceServer::introspecting) checks requests with it. It opens no
/// connection and starts no task: a [`Transport`] sends the requests, while a check waits for one. Checks of the same
/// token share a request. Create it once, when the service starts: clones share everything, and two clients share
/// nothing.
///
/// By default each check asks, so a revoked token is refused at once. If the authorization server gives no answer, the
/// check fails with 503, because nothing is known about the token.
///
/// # Security
///
/// The authorization server must let this resource server introspect tokens: as one of the
/// [`resource_servers`](crate::protected_resource::ProtectedResource::resource_servers) of its resource, or without
/// protected resources by [`may_introspect`](crate::Client::may_introspect), which is for all tokens. A kept answer is
/// found by the SHA-256 of the token. The library's own copies of the token are wiped when the request that needs them
/// ends, and that of the secret when the last clone is dropped. What the transport copies is its own.
///
/// # Examples
///
/// ```
/// use grantor::fetch::Transport;
/// use grantor::resource::{ExpectedAudience, IntrospectionSettings, ResourceClient};
/// use grantor::{ClientSecret, Config, ConfigError, ResourceServer};
///
/// /// `config` are the settings of the authorization server.
/// fn orders_api(
///     config: Config,
///     secret: ClientSecret,
///     transport: impl Transport,
/// ) -> Result<ResourceServer, ConfigError> {
///     let settings = IntrospectionSettings::new(
///         "https://auth.example/oauth2/introspect",
///         "orders-api",
///         secret,
///         "https://auth.example",
///         ExpectedAudience::Is("https://orders.example".to_owned()),
///     );
///     ResourceServer::introspecting(config, ResourceClient::new(settings, transport)?)
/// }
/// ```
#[derive(Clone)]
pub struct ResourceClient(Arc<Inner>);

struct Inner {
    parts: Parts,
    /// The requests that are being sent.
    requests: AtomicUsize,
    look_ups: Mutex<LookUps>,
}

#[derive(Clone)]
struct Parts {
    /// Without the secret, which the credentials contain.
    settings: Arc<IntrospectionSettings>,
    credentials: Arc<Credentials>,
    transport: Arc<dyn Transport>,
    environment: Environment,
}

impl ResourceClient {
    /// Creates a client, with the clock of the operating system.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a setting is refused.
    pub fn new(mut settings: IntrospectionSettings, transport: impl Transport) -> Result<Self, ConfigError> {
        settings.check()?;
        let credentials = Arc::new(Credentials::new(&settings));
        settings.client_secret = ClientSecret::new("");
        let (settings, transport) = (Arc::new(settings), Arc::new(transport));
        Ok(Self::of(Parts { settings, credentials, transport, environment: Environment::default() }))
    }

    /// Returns the client with another clock, and without the answers that were kept.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        let parts = self.0.parts.clone();
        Self::of(Parts { environment: parts.environment.with_clock(clock), ..parts })
    }

    /// Returns the client with a sink for its events, and without the answers that were kept.
    #[must_use]
    pub fn with_events(self, events: impl EventSink) -> Self {
        let parts = self.0.parts.clone();
        Self::of(Parts { environment: parts.environment.with_events(events), ..parts })
    }

    /// Lists the settings that are weaker than the current best practice.
    #[must_use]
    pub fn security_report(&self) -> SecurityReport {
        self.0.parts.settings.security_report()
    }

    fn of(parts: Parts) -> Self {
        let look_ups = Mutex::new(LookUps::new(&parts.settings));
        Self(Arc::new(Inner { parts, requests: AtomicUsize::new(0), look_ups }))
    }

    /// Looks up a token that a request presented. Returns `None` if it is not valid here now.
    ///
    /// # Errors
    ///
    /// [`Reason::Introspection`] if the authorization server gave no answer. The token may be valid.
    pub(crate) async fn look_up(&self, token: &[u8]) -> Result<Option<Arc<TokenFacts>>, Reason> {
        let own = &self.0;
        if let Some(refusal) = own.refusal_without_request(token) {
            return Ok(own.refuse(None, refusal));
        }
        let key = *Digest::of(token).bytes();
        let answer = match own.begin(key, token) {
            Start::Known(answer) => answer,
            Start::Waits(waiter) => match outcome(waiter).await {
                Ok(answer) => answer,
                Err(failure) => return own.stale(&key, failure),
            },
        };
        Ok(own.accept(answer))
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.0.parts.environment
    }

    pub(crate) fn audience(&self) -> &ExpectedAudience {
        &self.0.parts.settings.audience
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.0.parts.settings.issuer
    }
}

impl fmt::Debug for ResourceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceClient").field("settings", &self.0.parts.settings).finish_non_exhaustive()
    }
}

impl Inner {
    /// Judges the form of a token, so that no request is sent about what cannot be a token.
    fn refusal_without_request(&self, token: &[u8]) -> Option<TokenRefusal> {
        // > b64token = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
        //
        // [RFC 6750 section 2.1]
        let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
        if !token.iter().all(is_of_token) {
            return Some(TokenRefusal::Malformed);
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Some(TokenRefusal::TooLong);
        }
        let has_prefix = token.starts_with(self.parts.settings.token_prefix.as_bytes());
        (!has_prefix).then_some(TokenRefusal::AnotherPrefix)
    }

    fn begin(self: &Arc<Self>, key: TokenDigest, token: &[u8]) -> Start {
        let mut look_ups = self.look_ups();
        let now = look_ups.now(self.parts.environment.clock());
        look_ups.begin(key, now, &self.parts.settings, |progress, before| {
            Box::pin(Arc::clone(self).ask(key, Credentials::body(token), progress, before))
        })
    }

    /// Sends one request, after the end of the previous look-up of the same token. If that one failed, so does this
    /// one: the checks that wait for it would otherwise wait for another timeout.
    async fn ask(
        self: Arc<Self>,
        key: TokenDigest,
        body: RequestBody,
        progress: Arc<Progress>,
        before: Option<Waiter<Outcome>>,
    ) -> Outcome {
        let failed = match before {
            Some(before) => outcome(before).await.err(),
            None => None,
        };
        let outcome = match failed {
            Some(failure) => Err(Failure { was_asked: false, ..failure }),
            None => self.send(&body, &progress).await.map_err(|error| Failure::of(Arc::new(error))),
        };
        self.look_ups().end(&key, &progress, &outcome, &self.parts.settings);
        if let Err(Failure { error, was_asked: true }) = &outcome {
            self.parts.environment.raise(&Event::IntrospectionFailed { error });
        }
        outcome
    }

    async fn send(&self, body: &RequestBody, progress: &Progress) -> Result<Answer, IntrospectionError> {
        let Some(_place) = Place::take(&self.requests) else {
            return Err(FetchError::new(FetchErrorKind::TooManyRequests).into());
        };
        self.mark_as_sent(progress);
        let credentials = &self.parts.credentials;
        let response = self.parts.transport.send(&credentials.request(&credentials.headers(), body)).await?;
        messages::judge(&response, &self.parts.settings)
    }

    fn mark_as_sent(&self, progress: &Progress) {
        let mut look_ups = self.look_ups();
        let now = look_ups.now(self.parts.environment.clock());
        look_ups.mark_as_sent(progress, now);
    }

    /// Judges the times of a token, which may have changed since its answer was kept.
    fn accept(&self, answer: Answer) -> Option<Arc<TokenFacts>> {
        let facts = match answer {
            Answer::Described(facts) => facts,
            Answer::Refused(refusal) => return self.refuse(None, refusal),
        };
        match facts.refused_at(self.parts.environment.now()) {
            None => Some(facts),
            Some(refusal) => self.refuse(Some(&facts), refusal),
        }
    }

    fn refuse(&self, facts: Option<&TokenFacts>, refusal: TokenRefusal) -> Option<Arc<TokenFacts>> {
        self.parts.environment.refuse(facts.map(|facts| &facts.client_id), refusal);
        None
    }

    /// After a failed look-up, uses an earlier answer if the settings allow that, and if the authorization server was
    /// asked and has failed.
    fn stale(&self, key: &TokenDigest, failure: Failure) -> Result<Option<Arc<TokenFacts>>, Reason> {
        let Failure { error, was_asked } = failure;
        if !was_asked || !error.is_outage() {
            return Err(error.into());
        }
        let mut look_ups = self.look_ups();
        let now = look_ups.now(self.parts.environment.clock());
        let kept = look_ups.stale(key, now, &self.parts.settings);
        drop(look_ups);
        let Some(facts) = kept else { return Err(error.into()) };
        if let Some(refusal) = facts.refused_at(now) {
            return Ok(self.refuse(Some(&facts), refusal));
        }
        let (client, subject) = (&facts.client_id, facts.subject.as_ref());
        self.parts.environment.raise(&Event::StaleAnswerUsed { client, subject, error: &error });
        Ok(Some(facts))
    }

    fn look_ups(&self) -> MutexGuard<'_, LookUps> {
        self.look_ups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn outcome(waiter: Waiter<Outcome>) -> Outcome {
    waiter.await.unwrap_or_else(|why| Err(Failure::of(in_vain(why, IntrospectionError::Panicked))))
}

/// One of the requests that may be sent at once.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(requests: &'a AtomicUsize) -> Option<Self> {
        let next = |requests: usize| Some(requests + 1).filter(|requests| *requests <= MAX_REQUESTS);
        requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok().map(|_| Self(requests))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
