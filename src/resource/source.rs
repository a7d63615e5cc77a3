//! Where a resource server learns about tokens: in the process of the authorization server, or by introspection.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock::Timestamp;
use crate::config::dpop::proof_algorithm_names;
use crate::config::error::ConfigError;
use crate::config::rule::Parts;
use crate::config::{Config, DpopBoundTokens};
use crate::context::{Context, use_proof};
use crate::error::Reason;
use crate::hooks::Event;
use crate::jose;
use crate::model::Replay;
use crate::model::protected_resource::{ProtectedResource, ResourceTable};
use crate::resource::access_token;
use crate::resource::authenticated::{Authenticated, Place};
use crate::resource::introspection::{ExpectedAudience, IntrospectionError, ResourceClient};
use crate::scope::ScopeSet;
use crate::store::RecordStore;

/// Where tokens are looked up.
#[derive(Clone)]
pub(super) enum Source {
    InProcess(Arc<Context>),
    Introspection(Arc<Introspection>),
}

/// A resource server in another process than the authorization server.
pub(super) struct Introspection {
    config: Config,
    resources: ResourceTable,
    client: ResourceClient,
    /// The DPoP proofs that were used. `None` if the settings accept no proofs.
    replays: Option<Arc<dyn RecordStore<Replay>>>,
    has_unknown_scope: AtomicBool,
    number: u64,
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

impl Introspection {
    /// Checks the settings, and returns the place of the resource that the client is for.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] as from the authorization server with these settings; if its issuer is another one than the
    /// client's; if there are protected resources, and none has the client's audience, or none is the default for a client
    /// of any audience; or if DPoP proofs are accepted, and there is no store for those that were used.
    pub(super) fn new(
        config: Config,
        client: ResourceClient,
        replays: Option<Arc<dyn RecordStore<Replay>>>,
    ) -> Result<(Self, Option<usize>), ConfigError> {
        // The authorization server has the parts that this process does not need.
        config.check(&Parts {
            has_policy: true,
            has_registry: true,
            has_fetcher: true,
            reaches_loopback: false,
            offers_keys: true,
            has_jose: jose::IS_AVAILABLE || !config.dpop.reads_proofs(),
        })?;
        if client.issuer() != config.issuer {
            return Err(ConfigError::another_issuer(client.issuer(), &config.issuer));
        }
        if replays.is_none() && config.dpop.reads_proofs() {
            return Err(ConfigError::no_replay_store(config.dpop.tokens));
        }
        let resources = table(&config);
        let at = match client.audience() {
            ExpectedAudience::Is(identifier) if !resources.is_empty() => match resources.place(identifier) {
                None => return Err(ConfigError::unknown_resource(identifier, &config.resources)),
                place => place,
            },
            ExpectedAudience::Any if !resources.is_empty() && resources.default().is_none() => {
                return Err(ConfigError::no_default_resource(&config.resources));
            }
            ExpectedAudience::Is(_) | ExpectedAudience::Any => resources.default(),
        };
        let has_unknown_scope = AtomicBool::new(false);
        Ok((Self { config, resources, client, replays, has_unknown_scope, number: next_number() }, at))
    }
}

impl Source {
    pub(super) fn config(&self) -> &Config {
        match self {
            Self::InProcess(context) => &context.config,
            Self::Introspection(own) => &own.config,
        }
    }

    pub(super) fn resources(&self) -> &ResourceTable {
        match self {
            Self::InProcess(context) => &context.resources,
            Self::Introspection(own) => &own.resources,
        }
    }

    pub(super) fn place(&self, at: Option<usize>) -> Place {
        let server = match self {
            Self::InProcess(context) => context.number,
            Self::Introspection(own) => own.number,
        };
        Place { server, at }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::InProcess(context) => context.now(),
            Self::Introspection(own) => own.client.now(),
        }
    }

    /// Reports once that a route requires a scope that no token can have.
    pub(super) fn report_unknown_scope(&self, reason: &Reason) {
        let was_reported = match self {
            Self::InProcess(context) => &context.has_unknown_scope,
            Self::Introspection(own) => &own.has_unknown_scope,
        };
        if !was_reported.swap(true, Ordering::Relaxed) {
            self.raise(&Event::RequiredScopeUnknown { reason });
        }
    }

    fn raise(&self, event: &Event<'_>) {
        match self {
            Self::InProcess(context) => context.raise(event),
            Self::Introspection(own) => own.client.raise(event),
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
                let Some(token) = access_token::find(context, token).await? else {
                    return Err(Reason::InvalidAccessToken);
                };
                let is_for_it = match at {
                    Some(place) => context.resources.covers(token.audience(), &token.client, place),
                    None => context.resources.is_empty(),
                };
                if is_for_it { Ok(Authenticated::found(token, place, serves)) } else { Err(Reason::AnotherAudience) }
            }
            Self::Introspection(own) => {
                let Some(token) = own.client.look_up(token).await? else { return Err(Reason::InvalidAccessToken) };
                // A token without a key may have been issued before the setting.
                if token.key.is_none() && own.config.dpop.tokens == DpopBoundTokens::Required {
                    return Err(Reason::InvalidAccessToken);
                }
                let scopes = match &*token.scope {
                    "" => ScopeSet::empty(),
                    // A malformed text is no verdict on the token.
                    scope => own.config.scopes.read_known(scope.as_bytes()).map_err(|_| malformed_scope())?.0,
                };
                Ok(Authenticated::introspected(&token, scopes, place, serves))
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
            Self::Introspection(own) => own.replays.as_deref(),
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
            Self::Introspection(own) => f.debug_tuple("Introspection").field(&own.client).finish(),
        }
    }
}

impl ConfigError {
    /// An error for a client that asks another authorization server than that of the settings.
    fn another_issuer(of_client: &str, of_config: &str) -> Self {
        Self::new("issuer", format!("{of_config:?}"), format!("it must be the issuer of the client, {of_client:?}"))
    }

    /// An error for a client of any audience without a default resource: nothing says which resource this is.
    fn no_default_resource(resources: &[ProtectedResource]) -> Self {
        let identifiers: Vec<&str> = resources.iter().map(|own| own.identifier.as_str()).collect();
        Self::new("resources", identifiers.join(" "), "one with is_default is needed for ExpectedAudience::Any")
    }

    /// An error for settings that accept DPoP proofs without a store for those that were used.
    fn no_replay_store(tokens: DpopBoundTokens) -> Self {
        Self::new("dpop.tokens", format!("{tokens:?}"), "only Off is accepted without a store of used proofs")
    }
}
