//! What an authorization server is built from.

use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};

use crate::base::clock::{Clock, NewestTime, SystemClock};
use crate::base::entropy::{Entropy, SystemEntropy};
use crate::config::Config;
use crate::config::rule::{ConfigError, Parts};
use crate::context::signing_keys::SigningKeys;
use crate::context::watched::watched;
use crate::context::{Context, Polls, RegistrationRules, proof_urls};
use crate::fetch::cache::{Cache, MAX_CACHED};
use crate::fetch::documents::Documents;
use crate::fetch::key_sets::KeySets;
use crate::hooks::registration_policy::RegistrationPolicy;
use crate::hooks::{Claims, EventSink, Events, Fetcher, SigningKey, Subjects, Throttle};
use crate::jose;
use crate::resource::{ResourceServer, source};
use crate::secret::Prefixes;
use crate::server::AuthorizationServer;
use crate::store::Stores;

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
            events: Events::default(),
            throttle: None,
            subjects: None,
            claims: None,
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
    events: Events,
    throttle: Option<Arc<dyn Throttle>>,
    subjects: Option<Arc<dyn Subjects>>,
    claims: Option<Arc<dyn Claims>>,
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
        self.events = Events::to(events);
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

    /// Sets the hook that adds claims to access tokens.
    #[must_use]
    pub fn claims(mut self, claims: impl Claims) -> Self {
        self.claims = Some(Arc::new(claims));
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
            claims,
            registration_policy,
            fetcher,
            signing_keys,
        } = self;
        let config = config.with_identity_scopes()?;
        config.check(&Parts {
            has_throttle: throttle.is_some(),
            has_derivation_key: !config.refresh.derivation_keys.is_empty(),
            has_policy: registration_policy.is_some(),
            has_registry: stores.has_registry,
            has_fetcher: fetcher.is_some(),
            reaches_loopback: fetcher.as_ref().is_some_and(|fetcher| fetcher.reaches_loopback()),
            offers_keys: config.key_rules(fetcher.is_some()).offers_keys(),
            has_jose: jose::IS_AVAILABLE,
            has_claims: claims.is_some(),
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
            stores: watched(stores, &clock, &events),
            config,
            prefixes,
            resources,
            proof_urls,
            signing_keys,
            metadata: OnceLock::new(),
            clock,
            newest,
            entropy,
            events,
            throttle,
            subjects,
            claims,
            registration_policy,
            registration_rules,
            documents,
            key_sets,
            last_ready: AtomicU32::new(0),
            misses_peers: AtomicBool::new(false),
            has_unknown_scope: AtomicBool::new(false),
            number: source::next_number(),
            refused_introspections: Mutex::new(Cache::new(MAX_CACHED)),
            refused_claims: Mutex::new(Cache::new(MAX_CACHED)),
            released_claims: Mutex::new(Cache::new(MAX_CACHED)),
            polls: Polls::default(),
        };
        let context = Arc::new(context);
        let resource = ResourceServer::in_process(Arc::clone(&context), context.resources.default());
        Ok(AuthorizationServer { context, resource })
    }
}
