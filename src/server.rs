//! The authorization server: wiring, and one-line delegations.

use std::sync::Arc;

use crate::client::Client;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::config::error::ConfigError;
use crate::config::report::{NO_THROTTLE, SecurityReport};
use crate::context::Context;
use crate::endpoint::decide::Decision;
use crate::endpoint::pending::{AuthorizationError, PendingAuthorization};
use crate::endpoint::resource::{Authenticated, ResourceError};
use crate::endpoint::{authorize, decide, introspect, metadata, resource, revoke, token};
use crate::entropy::{Entropy, SystemEntropy};
use crate::grant;
use crate::grant::client_credentials::{self, MachineToken};
use crate::grant::withdraw;
use crate::hooks::{EventSink, Subjects, Throttle};
use crate::id::{ClientId, GrantId};
use crate::record::Grant;
use crate::registrar::Registrar;
use crate::scope::{Permission, Resource};
use crate::secret::AuthorizationHandle;
use crate::store::{Purge, StoreError, Stores};
use crate::subject::Subject;
use crate::wire::{Endpoint, Request, Response};

/// An OAuth 2.0 authorization server [RFC 6749] without framework, runtime and clock of its own.
///
/// A clone shares everything and is cheap. All its futures may be dropped at any time: nothing is lost
/// and nothing is doubled.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    context: Arc<Context>,
}

impl AuthorizationServer {
    /// Builds a server with these settings on these stores: a [`MemoryStore`](crate::MemoryStore), any
    /// value that implements the store traits, or [`Stores::new`].
    ///
    /// [`builder`](Self::builder) adds hooks: a throttle, a sink of events, the embedder's users.
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
        }
    }

    /// Returns the settings that it was built with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.context.config
    }

    /// Returns the issuer [RFC 8414 section 2].
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.context.config.issuer
    }

    /// Returns what access tokens are for: the configured audience, or the issuer.
    #[must_use]
    pub fn audience(&self) -> &str {
        self.context.audience()
    }

    /// Lists the settings that are looser than the current best practice asks [RFC 9700].
    #[must_use]
    pub fn security_report(&self) -> SecurityReport {
        let mut report = self.context.config.security_report();
        if self.context.throttle.is_none() {
            report.findings.push(NO_THROTTLE);
        }
        report
    }

    /// Returns the whole path under which an endpoint is reached from outside: the issuer's path comes
    /// first, for the metadata last [RFC 8414 section 3.1].
    #[must_use]
    pub fn path(&self, endpoint: Endpoint) -> String {
        let below = metadata::issuer_path(self.issuer());
        match endpoint {
            Endpoint::Metadata => format!("{}{below}", endpoint.path()),
            Endpoint::Authorization | Endpoint::Token | Endpoint::Revocation | Endpoint::Introspection => {
                format!("{below}{}", endpoint.path())
            }
        }
    }

    /// Returns the bytes of a body that an adapter has to read; what is longer is
    /// [`Body::TooLarge`](crate::wire::Body::TooLarge).
    #[must_use]
    pub fn body_limit(&self) -> usize {
        self.context.config.body_octets
    }

    /// Answers a machine endpoint: token, revocation, introspection, metadata.
    ///
    /// The answer is complete, errors included: 400, 401, 405, 413, 429, and 500 or 503 if the store
    /// failed. At the authorization endpoint, where a user is needed, it is 404.
    pub async fn serve(&self, endpoint: Endpoint, request: &Request<'_>) -> Response {
        match endpoint {
            Endpoint::Authorization => Response::new(404),
            Endpoint::Token => token::serve(&self.context, request).await,
            Endpoint::Revocation => revoke::serve(&self.context, request).await,
            Endpoint::Introspection => introspect::serve(&self.context, request).await,
            Endpoint::Metadata => metadata::serve(&self.context, request),
        }
    }

    /// Checks an authorization request [RFC 6749 section 4.1.1] and stores nothing.
    ///
    /// If nobody is signed in, show the sign-in page and let the request come again.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`], which knows how the user has to be told.
    pub async fn authorize(&self, request: &Request<'_>) -> Result<PendingAuthorization, AuthorizationError> {
        authorize::authorize(&self.context, request).await
    }

    /// Holds a request for the user who will decide it, and gives the handle for the page's form.
    ///
    /// `session` is the embedder's secret name for the browser's session, such as the value of its
    /// cookie; a digest of it is kept. Handle, subject and session have to agree at the decision, which
    /// protects the form against requests forged by other sites [RFC 6749 section 10.12].
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if the throttle refused, the session is empty, or the store failed.
    pub async fn hold(
        &self,
        pending: &PendingAuthorization,
        subject: &Subject,
        session: &[u8],
    ) -> Result<AuthorizationHandle, AuthorizationError> {
        decide::hold(&self.context, pending, subject, session).await
    }

    /// Takes the user's decision, once, and gives the redirect to the client [RFC 6749 section 4.1.2].
    ///
    /// Client, redirect URI and scopes are checked again as they are now.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if the handle is unknown to this subject and session, too old or decided
    /// already, if more was granted than asked, if the user may not be given tokens, or if the store
    /// failed.
    pub async fn decide(
        &self,
        handle: &str,
        subject: &Subject,
        session: &[u8],
        decision: &Decision,
    ) -> Result<Response, AuthorizationError> {
        decide::decide(&self.context, handle, subject, session, decision).await
    }

    /// Finds out what the access token of a request to a resource stands for [RFC 6750].
    ///
    /// # Errors
    ///
    /// [`ResourceError`], which holds the answer with its challenge.
    pub async fn authenticate(&self, request: &Request<'_>) -> Result<Authenticated, ResourceError> {
        resource::authenticate(&self.context, request).await
    }

    /// Demands that a token covers this scope, with this permission, on this resource.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403 and the scope that is needed [RFC 6750 section 3.1].
    ///
    /// # Security
    ///
    /// As with [`Authenticated::permits`], whether the user may reach the resource is checked elsewhere.
    pub fn require(
        &self,
        token: &Authenticated,
        scope: &str,
        permission: Permission,
        resource: Resource<'_>,
    ) -> Result<(), ResourceError> {
        resource::require(&self.context, token, scope, permission, resource)
    }

    /// Returns the user on whose behalf the client acts, for a resource that belongs to users.
    ///
    /// # Errors
    ///
    /// [`ResourceError`] with 403 if the client acts for itself [RFC 6749 section 4.4].
    ///
    /// # Security
    ///
    /// A client id is never a user: do not look one up in the place of a subject that is absent
    /// [RFC 9700 section 4.15].
    pub fn require_subject<'t>(&self, token: &'t Authenticated) -> Result<&'t Subject, ResourceError> {
        resource::require_subject(&self.context, token)
    }

    /// Returns the registrar, through which applications are submitted and reviewed; there is none if the
    /// stores have no registry.
    #[must_use]
    pub fn registrar(&self) -> Option<Registrar> {
        Registrar::new(self.context.clone(), grant::offered(&self.context.config).collect())
    }

    /// Returns the client of that id as it is now, such as for a page that lists grants.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    pub async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.context.stores.clients.current(id).await
    }

    /// Returns the live grants of a subject, the oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed, or if a grant cannot be read. It returns no partial list, which would
    /// hide an application that has access.
    pub async fn grants_of(&self, subject: &Subject) -> Result<Vec<Arc<Grant>>, StoreError> {
        withdraw::grants_of(&self.context, subject).await
    }

    /// Returns the live access tokens that a client got for itself [RFC 6749 section 4.4], the oldest first. Each entry
    /// states times and scopes, and does not hold the token.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    pub async fn machine_tokens_of(&self, client: &ClientId) -> Result<Vec<MachineToken>, StoreError> {
        client_credentials::tokens_of(&self.context, client).await
    }

    /// Withdraws a grant with all its tokens, for the user who gave it. Returns whether it was live, ignoring the
    /// client's state; `false` also if that user gave no such grant.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the grant may still be live.
    pub async fn revoke_grant(&self, id: GrantId, subject: &Subject) -> Result<bool, StoreError> {
        withdraw::withdraw_grant(&self.context, id, subject).await
    }

    /// Withdraws everything of a subject: held requests, codes and grants. Returns how many were live, ignoring the
    /// states of their clients.
    ///
    /// Lock the user or end the sessions first, so that nothing new is granted meanwhile.
    /// Where the store's reads are not settled, it confirms what was withdrawn before, so a call that succeeds is
    /// durable.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed anywhere, or a record could not be read; all else is withdrawn.
    /// Call it again.
    pub async fn revoke_subject(&self, subject: &Subject) -> Result<usize, StoreError> {
        withdraw::withdraw_subject(&self.context, subject).await
    }

    /// Removes records whose time is over, looking at no more than `limit` in each store.
    ///
    /// Nothing depends on it but the size of the store: ends are checked when a record is read.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if a store failed, after the other one did its part; call again.
    pub async fn purge_expired(&self, limit: usize) -> Result<Purge, StoreError> {
        let now = self.context.now();
        let codes = self.context.stores.codes.purge_expired(now, limit).await;
        let tokens = self.context.stores.tokens.purge_expired(now, limit).await;
        let replays = match &self.context.stores.replays {
            Some(replays) => replays.purge_expired(now, limit).await,
            None => Ok(Purge::default().finished()),
        };
        Ok(codes?.and(tokens?).and(replays?))
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
}

impl Builder {
    /// Sets the clock; that of the operating system unless set.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the source of random bytes; [`SystemEntropy`] unless set.
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

    /// Sets the throttle.
    #[must_use]
    pub fn throttle(mut self, throttle: impl Throttle) -> Self {
        self.throttle = Some(Arc::new(throttle));
        self
    }

    /// Sets the hook that answers for the embedder's users.
    #[must_use]
    pub fn subjects(mut self, subjects: impl Subjects) -> Self {
        self.subjects = Some(Arc::new(subjects));
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a setting contradicts another one, the profile or the standards.
    pub fn build(self) -> Result<AuthorizationServer, ConfigError> {
        let Self { config, stores, clock, entropy, events, throttle, subjects } = self;
        config.check()?;
        let metadata = metadata::document(&config);
        let context = Context { stores, config, metadata, clock, entropy, events, throttle, subjects };
        Ok(AuthorizationServer { context: Arc::new(context) })
    }
}
