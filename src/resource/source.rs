//! Where a resource server learns about tokens: in the process of the authorization server, by introspection, or from
//! the tokens themselves.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::base::clock::{Clock, Timestamp};
use crate::config::rule::{ConfigError, Parts};
use crate::config::tokens::proof_algorithm_names;
use crate::config::{Config, DpopBoundTokens, Finding, Profile, SecurityReport};
use crate::context::watched::watched_alone;
use crate::context::{Context, use_proof};
use crate::error::Reason;
use crate::hooks::{Event, Events, TokenRefusal};
use crate::jose;
use crate::jose::SigningAlgorithm;
use crate::model::Replay;
use crate::model::protected_resource::{AccessTokenFormat, ProtectedResource, ResourceTable};
use crate::resource::access_token;
use crate::resource::authenticated::{Authenticated, Place};
use crate::resource::environment::Environment;
use crate::resource::facts::TokenFacts;
use crate::resource::introspection::{ExpectedAudience, IntrospectionError, ResourceClient};
use crate::resource::jwt::JwtVerifier;
use crate::scope::ScopeSet;
use crate::secret::{Prefixes, Presented};
use crate::store::RecordStore;

/// Where tokens are looked up.
#[derive(Clone)]
pub(super) enum Source {
    InProcess(Arc<Context>),
    Remote(Arc<Remote>),
}

/// A resource server in a separate process.
pub(super) struct Remote {
    config: Config,
    resources: ResourceTable,
    from: RemoteSource,
    /// What opaque access tokens begin with.
    prefix: Box<str>,
    /// The DPoP proofs that were used. `None` if the settings accept no proofs.
    replays: Option<Arc<dyn RecordStore<Replay>>>,
    has_unknown_scope: AtomicBool,
    number: u64,
}

/// What says what a token grants.
#[derive(Clone, Debug)]
pub(super) enum RemoteSource {
    /// The authorization server, which is asked about each token.
    Introspection(ResourceClient),
    /// The token itself. With a client, the authorization server is asked about opaque tokens.
    Jwt(JwtVerifier, Option<ResourceClient>),
}

/// Prepares the protected resources of checked settings, with the metadata of each.
pub(crate) fn table(config: &Config) -> ResourceTable {
    ResourceTable::new(&config.resources, config.require_resource, &config.scopes, |own| {
        let mut metadata = own.metadata(&config.issuer);
        if config.dpop.reads_proofs() {
            let algorithms = proof_algorithm_names().into_iter().map(str::to_owned);
            metadata.dpop_signing_alg_values_supported = algorithms.collect();
        }
        metadata.dpop_bound_access_tokens_required = config.dpop.tokens == DpopBoundTokens::Required;
        metadata
    })
}

/// Numbers the servers of this process, so that a token is never taken for one that another server has checked.
pub(crate) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl RemoteSource {
    fn environment(&self) -> &Environment {
        match self {
            Self::Introspection(client) => client.environment(),
            Self::Jwt(verifier, _) => verifier.environment(),
        }
    }

    fn issuer(&self) -> &str {
        match self {
            Self::Introspection(client) => client.issuer(),
            Self::Jwt(verifier, _) => verifier.issuer(),
        }
    }

    /// Returns the place of the resource whose tokens are accepted.
    fn place(&self, config: &Config, resources: &ResourceTable) -> Result<Option<usize>, ConfigError> {
        let place_of = |identifier: &str| match resources.place(identifier) {
            None => Err(ConfigError::unknown_resource(identifier, &config.resources)),
            place => Ok(place),
        };
        match self {
            Self::Introspection(client) => match client.audience() {
                ExpectedAudience::Is(identifier) if !resources.is_empty() => place_of(identifier),
                ExpectedAudience::Any if !resources.is_empty() && resources.default().is_none() => {
                    Err(ConfigError::no_default_resource(&config.resources))
                }
                ExpectedAudience::Is(_) | ExpectedAudience::Any => Ok(resources.default()),
            },
            Self::Jwt(verifier, _) => {
                let place = place_of(verifier.audience())?;
                let format = resources.entry_at(place).map(|entry| entry.settings.access_tokens);
                if format == Some(AccessTokenFormat::Jwt) {
                    Ok(place)
                } else {
                    Err(ConfigError::opaque_tokens(verifier.audience()))
                }
            }
        }
    }
}

impl Remote {
    /// Checks the settings, and returns the place of the resource that the tokens are for.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] as from the authorization server with these settings; if its issuer is another one than that of
    /// the client or verifier; if there are protected resources, and none has the expected audience, or none is the
    /// default for a client of any audience; if a verifier is for a resource without JWTs, or accepts RS256 in the FAPI
    /// profile; or if DPoP proofs are accepted, and there is no store for those that were used.
    pub(super) fn new(
        config: Config,
        from: RemoteSource,
        replays: Option<Arc<dyn RecordStore<Replay>>>,
    ) -> Result<(Self, Option<usize>), ConfigError> {
        let config = config.with_identity_scopes()?;
        // The authorization server has the parts that this process does not need.
        config.check(&Parts {
            has_throttle: true,
            has_derivation_key: true,
            has_policy: true,
            has_registry: true,
            has_fetcher: true,
            reaches_loopback: false,
            offers_keys: true,
            has_jose: jose::IS_AVAILABLE || !config.dpop.reads_proofs(),
            has_claims: true,
        })?;
        if from.issuer() != config.issuer {
            return Err(ConfigError::another_issuer(from.issuer(), &config.issuer));
        }
        if let RemoteSource::Jwt(verifier, _) = &from
            && config.profile() == Profile::Fapi
            && verifier.algorithms().contains(&SigningAlgorithm::Rs256)
        {
            return Err(ConfigError::rs256_in_fapi());
        }
        if replays.is_none() && config.dpop.reads_proofs() {
            return Err(ConfigError::no_replay_store(config.dpop.tokens));
        }
        let resources = table(&config);
        let at = from.place(&config, &resources)?;
        let prefix = Prefixes::new(&config.tokens.prefix).access_token;
        let has_unknown_scope = AtomicBool::new(false);
        let (clock, events) = from.environment().clock_and_events();
        let replays = replays.map(|store| watched_alone(store, &clock, &events));
        Ok((Self { config, resources, from, prefix, replays, has_unknown_scope, number: next_number() }, at))
    }

    /// Returns the same with a client for opaque tokens.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if no JWTs are verified here, or if the client is for another issuer or audience.
    fn or_introspect(&self, client: ResourceClient) -> Result<(Self, Option<usize>), ConfigError> {
        let RemoteSource::Jwt(verifier, _) = &self.from else { return Err(ConfigError::no_verifier()) };
        if client.issuer() != verifier.issuer() {
            return Err(ConfigError::another_issuer(client.issuer(), verifier.issuer()));
        }
        if !matches!(client.audience(), ExpectedAudience::Is(audience) if audience == verifier.audience()) {
            return Err(ConfigError::another_audience(client.audience(), verifier.audience()));
        }
        Self::new(self.config.clone(), RemoteSource::Jwt(verifier.clone(), Some(client)), self.replays.clone())
    }

    /// Looks up a token as its form requires. Returns `None` if it is not valid here.
    async fn look_up(&self, token: &[u8]) -> Result<Option<(Arc<TokenFacts>, ScopeSet)>, Reason> {
        let catalog = &self.config.scopes;
        let is_opaque = || Presented::parse(&self.prefix, token).is_some();
        let facts = match &self.from {
            RemoteSource::Introspection(client) => client.look_up(token).await?,
            RemoteSource::Jwt(verifier, client) if is_opaque() => match client {
                Some(client) => client.look_up(token).await?,
                None => {
                    verifier.environment().refuse(None, TokenRefusal::Opaque);
                    return Ok(None);
                }
            },
            RemoteSource::Jwt(verifier, _) => return verifier.look_up(token, catalog).await,
        };
        let Some(facts) = facts else { return Ok(None) };
        // A malformed text is no verdict on the token.
        let scopes = facts.scopes(catalog).map_err(|_| malformed_scope())?;
        Ok(Some((facts, scopes)))
    }

    /// Lists what is weaker about how this resource server learns about tokens.
    fn security_report(&self) -> SecurityReport {
        match &self.from {
            RemoteSource::Introspection(client) => client.security_report(),
            RemoteSource::Jwt(verifier, client) => {
                let mut report = verifier.security_report();
                let of_client = client.as_ref().map(|client| client.security_report().findings);
                report.findings.extend(of_client.unwrap_or_else(|| vec![NO_CLIENT]));
                report
            }
        }
    }
}

/// Not a setting: reported if opaque tokens are refused.
const NO_CLIENT: Finding = Finding {
    setting: "or_introspect",
    rule: "RFC 9068 section 3",
    consequence: Cow::Borrowed(
        "the authorization server issues an opaque token in place of a JWT that would have more than 4096 bytes, and \
         this API refuses it: add a client that introspects opaque tokens",
    ),
};

impl Source {
    /// Returns the same with a client for opaque tokens, and the place of the resource.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if no JWTs are verified here, or if the client is for another issuer or audience.
    pub(super) fn or_introspect(&self, client: ResourceClient) -> Result<(Self, Option<usize>), ConfigError> {
        let Self::Remote(own) = self else { return Err(ConfigError::no_verifier()) };
        let (own, at) = own.or_introspect(client)?;
        Ok((Self::Remote(Arc::new(own)), at))
    }

    pub(super) fn security_report(&self) -> SecurityReport {
        match self {
            Self::InProcess(context) => context.config.security_report(),
            Self::Remote(own) => own.security_report(),
        }
    }

    pub(super) fn config(&self) -> &Config {
        match self {
            Self::InProcess(context) => &context.config,
            Self::Remote(own) => &own.config,
        }
    }

    pub(super) fn resources(&self) -> &ResourceTable {
        match self {
            Self::InProcess(context) => &context.resources,
            Self::Remote(own) => &own.resources,
        }
    }

    pub(super) fn place(&self, at: Option<usize>) -> Place {
        let server = match self {
            Self::InProcess(context) => context.number,
            Self::Remote(own) => own.number,
        };
        Place { server, at }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::InProcess(context) => context.now(),
            Self::Remote(own) => own.from.environment().now(),
        }
    }

    /// Returns the clock, and where events go.
    pub(super) fn clock_and_events(&self) -> (Arc<dyn Clock>, Events) {
        match self {
            Self::InProcess(context) => (Arc::clone(&context.clock), context.events.clone()),
            Self::Remote(own) => own.from.environment().clock_and_events(),
        }
    }

    /// Reports once that a route requires a scope that no token can have.
    pub(super) fn report_unknown_scope(&self, reason: &Reason) {
        let was_reported = match self {
            Self::InProcess(context) => &context.has_unknown_scope,
            Self::Remote(own) => &own.has_unknown_scope,
        };
        if !was_reported.swap(true, Ordering::Relaxed) {
            self.raise(&Event::RequiredScopeUnknown { reason });
        }
    }

    /// Reports why a request was refused, unless the look-up of its token has raised an event.
    pub(super) fn note(&self, reason: &Reason) {
        if matches!(reason, Reason::Store(_) | Reason::NewerSettings | Reason::MissingRequestUrl) {
            self.raise(&Event::CheckFailed { reason });
        }
        let is_of_proof = matches!(reason, Reason::MissingDpopProof | Reason::DpopProof(_) | Reason::DpopNonceNeeded);
        let is_of_header = matches!(reason, Reason::NoAccessToken | Reason::MalformedBearer | Reason::WrongTokenScheme);
        if is_of_proof || is_of_header {
            self.raise(&Event::CheckRefused { reason });
        }
        match self {
            Self::InProcess(context) => context.events.note_clock(reason, || context.now()),
            Self::Remote(own) => own.from.environment().note_clock(reason),
        }
    }

    fn raise(&self, event: &Event<'_>) {
        match self {
            Self::InProcess(context) => context.raise(event),
            Self::Remote(own) => own.from.environment().raise(event),
        }
    }

    /// Looks up a token that was presented at the resource in that place.
    ///
    /// # Errors
    ///
    /// The [`Reason`] why the request is refused: the token is not valid here, or the look-up failed.
    pub(super) async fn look_up(&self, at: Option<usize>, token: &[u8]) -> Result<Authenticated, Reason> {
        let place = self.place(at);
        let serves = self.resources().entry_at(at).and_then(|entry| entry.serves.as_ref());
        match self {
            Self::InProcess(context) => {
                let refuse = |client, refusal| context.raise(&Event::AccessTokenRefused { client, refusal });
                let Some(token) = access_token::find(context, token).await? else {
                    refuse(None, TokenRefusal::Inactive);
                    return Err(Reason::InvalidAccessToken);
                };
                let is_for_it = match at {
                    Some(place) => context.resources.covers(token.audience(), &token.client, place),
                    None => context.resources.is_empty(),
                };
                if !is_for_it {
                    refuse(Some(&token.grant.client), TokenRefusal::AnotherAudience);
                    return Err(Reason::AnotherAudience);
                }
                let hook = context.claims.is_some().then_some(context);
                Ok(Authenticated::found(token, place, serves, hook))
            }
            Self::Remote(own) => {
                let Some((token, scopes)) = own.look_up(token).await? else {
                    return Err(Reason::InvalidAccessToken);
                };
                // A token without a key may have been issued before the setting.
                if token.key.is_none() && own.config.dpop.tokens == DpopBoundTokens::Required {
                    return Err(Reason::InvalidAccessToken);
                }
                Ok(Authenticated::described(&token, scopes, place, serves))
            }
        }
    }

    /// Records that a DPoP proof was used.
    ///
    /// # Errors
    ///
    /// [`Reason::DpopProof`] if it was used before; the store's error.
    pub(super) async fn use_proof(&self, proof: Replay) -> Result<(), Reason> {
        let replays = match self {
            Self::InProcess(context) => Some(&*context.stores.replays),
            Self::Remote(own) => own.replays.as_deref(),
        };
        use_proof(replays.ok_or(Reason::InvalidAccessToken)?, proof).await
    }
}

fn malformed_scope() -> Reason {
    Arc::new(IntrospectionError::MalformedMember("scope")).into()
}

/// Without the settings and stores.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProcess(_) => f.write_str("InProcess"),
            Self::Remote(own) => fmt::Debug::fmt(&own.from, f),
        }
    }
}

impl ConfigError {
    /// An error for a client or verifier of another authorization server than that of the settings.
    fn another_issuer(of_client: &str, expected: &str) -> Self {
        Self::new("issuer", format!("{of_client:?}"), format!("it must be {expected:?}, as in the settings"))
    }

    /// An error for a client that introspects tokens for another audience than that of the verifier.
    fn another_audience(of_client: &ExpectedAudience, expected: &str) -> Self {
        let audience = format!("{of_client:?}");
        Self::new("audience", audience, format!("it must be the audience of the verifier, {expected:?}"))
    }

    /// An error for a verifier of a resource whose access tokens are opaque.
    fn opaque_tokens(identifier: &str) -> Self {
        let remedy = format!("{identifier:?} needs AccessTokenFormat::Jwt for a JwtVerifier");
        Self::new("resources", "one with opaque access tokens", remedy)
    }

    /// An error for a client of opaque tokens where all tokens are looked up in one from.
    fn no_verifier() -> Self {
        Self::new("or_introspect", "called on a check that verifies no JWTs", "ResourceServer::jwt makes one that does")
    }

    /// An error for a client of any audience without a default resource: nothing says which resource this is.
    fn no_default_resource(resources: &[ProtectedResource]) -> Self {
        let identifiers: Vec<&str> = resources.iter().map(|own| own.identifier.as_str()).collect();
        Self::new("resources", identifiers.join(" "), "one with is_default is needed for ExpectedAudience::Any")
    }

    /// An error for a verifier that accepts RS256 in the FAPI profile.
    fn rs256_in_fapi() -> Self {
        let remedy = "only ES256 and EdDSA are accepted in the FAPI profile (FAPI 2.0 Security Profile section 5.4.1)";
        Self::new("algorithms", "a list with RS256", remedy)
    }

    /// An error for settings that accept DPoP proofs without a store for those that were used.
    fn no_replay_store(tokens: DpopBoundTokens) -> Self {
        Self::new("dpop.tokens", format!("{tokens:?}"), "only Off is accepted without a store of used proofs")
    }
}
