//! What every request uses: stores, settings, clock, generator, hooks.

mod issuer;
pub(crate) mod signing_keys;
pub(crate) mod uses;
pub(crate) mod watched;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::base::clock::{Clock, NewestTime, Timestamp};
use crate::base::entropy::Entropy;
use crate::base::generations::{Generations, OnHeap};
use crate::base::id::{ClientId, GrantId, Subject};
use crate::base::measure;
use crate::config::Config;
use crate::context::signing_keys::SigningKeys;
use crate::error::{ErrorCode, Reason};
use crate::fetch::cache::Cache;
use crate::fetch::documents::Documents;
use crate::fetch::key_sets::KeySets;
use crate::hooks::claims;
use crate::hooks::observed::note_client;
use crate::hooks::registration_policy::RegistrationPolicy;
use crate::hooks::{
    Attempt, AttemptKind, Claims, Event, Events, SubjectStatus, Subjects, Throttle, ThrottleDecision, TokenContext,
};
use crate::model::application::RegistrationLimits;
use crate::model::client::{Client, GrantTypes, KeyRules};
use crate::model::protected_resource::ResourceTable;
use crate::model::redirect_uri::RedirectUriPolicy;
use crate::model::target_uri::TargetUri;
use crate::model::{Replay, redirect_uri};
use crate::scope::ScopeCatalog;
use crate::secret::{Digest, Prefixes};
use crate::store::{Insertion, RecordStore, StoreError, Stores};
use crate::wire::Endpoint;

/// The parts of one authorization server.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) stores: Stores,
    pub(crate) config: Config,
    pub(crate) prefixes: Prefixes,
    pub(crate) resources: ResourceTable,
    /// The URLs of the endpoints that read DPoP proofs, as [`proof_urls`] returns them.
    pub(crate) proof_urls: Vec<(Endpoint, TargetUri)>,
    pub(crate) signing_keys: SigningKeys,
    /// The document of the metadata endpoint, once it was requested.
    pub(crate) metadata: OnceLock<Box<[u8]>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) newest: NewestTime,
    /// The second in which this server was last found ready.
    pub(crate) last_ready: AtomicU32,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) events: Events,
    pub(crate) throttle: Option<Arc<dyn Throttle>>,
    pub(crate) subjects: Option<Arc<dyn Subjects>>,
    pub(crate) registration_policy: Option<Arc<dyn RegistrationPolicy>>,
    pub(crate) registration_rules: RegistrationRules,
    /// Set while metadata documents are on.
    pub(crate) documents: Option<Documents>,
    /// Set while clients may authenticate with keys, if there is a fetcher.
    pub(crate) key_sets: Option<KeySets>,
    /// Whether [`Event::PeerAddressMissing`] was raised.
    pub(crate) misses_peers: AtomicBool,
    /// Whether [`Event::RequiredScopeUnknown`] was raised.
    pub(crate) has_unknown_scope: AtomicBool,
    /// Distinguishes the servers of this process.
    pub(crate) number: u64,
    pub(crate) claims: Option<Arc<dyn Claims>>,
    /// The clients of the last minute's [`Event::IntrospectionRefused`].
    pub(crate) refused_introspections: Mutex<Cache<()>>,
    /// The clients of the last minute's [`Event::ClaimsRefused`].
    pub(crate) refused_claims: Mutex<Cache<()>>,
    /// The grants of the last minute's events about the claims of a user.
    pub(crate) released_claims: Mutex<Cache<()>>,
    /// When devices polled last.
    pub(crate) polls: Polls,
}

impl Context {
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        self.newest.follow(now, self.config.clock_jump);
        now
    }

    pub(crate) fn raise(&self, event: &Event<'_>) {
        self.events.raise(event);
    }

    /// Raises an event about a client, unless one was raised within a minute: a client that repeats a request a
    /// thousand times fills no log.
    pub(crate) fn raise_once_a_minute(&self, raised: &Mutex<Cache<()>>, of: &str, event: &Event<'_>) {
        let now = self.now();
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        if raised.find(of, now).is_none() {
            raised.keep(of, (), now, now.plus(Duration::from_secs(60)));
            drop(raised);
            self.raise(event);
        }
    }

    /// Raises an event about the claims of a user, unless one with that name was raised for the grant within a minute.
    pub(crate) fn raise_about_user(&self, grant: GrantId, event: &Event<'_>) {
        self.raise_once_a_minute(&self.released_claims, &format!("{} {grant}", event.name()), event);
    }

    /// Asks the hook for the claims of a token, and returns them with their JSON; none without a hook.
    ///
    /// # Errors
    ///
    /// [`Reason::Claims`] if no token may have them.
    pub(crate) fn own_claims(&self, token: &TokenContext<'_>) -> Result<(Map<String, Value>, Vec<u8>), Reason> {
        let claims = self.claims.as_ref().map(|hook| hook.of_token(token)).unwrap_or_default();
        match claims::checked(&claims) {
            Ok(json) => Ok((claims, json)),
            Err(error) => {
                let client = token.client.id();
                let event = Event::ClaimsRefused { client, error: &error };
                self.raise_once_a_minute(&self.refused_claims, client.as_str(), &event);
                Err(Reason::Claims(error))
            }
        }
    }

    /// Looks up a client; `None` also if its registration has ended.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    pub(crate) async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.client_of(id, 0).await
    }

    /// Looks up the client of a grant with that epoch. A cached client that was read before its grants were last
    /// revoked is read again; so is one whose registration has ended, since a use may have prolonged it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    pub(crate) async fn client_of(&self, id: &ClientId, epoch: u32) -> Result<Option<Arc<Client>>, StoreError> {
        let Some(client) = self.stores.clients.client(id).await? else { return Ok(None) };
        let is_old = client.has_revoked(epoch).is_err() || self.is_gone(&client);
        if is_old { self.current_client(id).await } else { Ok(Some(client)) }
    }

    /// Looks up a client as it is stored now, whatever a cache has; `None` also if its registration has ended.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    pub(crate) async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let client = self.stores.clients.current_client(id).await?;
        Ok(client.filter(|client| !self.is_gone(client)))
    }

    /// Returns whether the client's registration has ended, so that it counts as unknown. Call it for every client that
    /// a store returns. It reads the clock only if the registration has an end.
    #[inline]
    pub(crate) fn is_gone(&self, client: &Client) -> bool {
        client.gone_at().is_some_and(|gone_at| self.now() >= gone_at)
    }

    /// Reports to the sink why a request was refused, unless a more specific event was raised. The event has as much of
    /// a wrong redirect URI as a log may show.
    pub(crate) fn note_refusal(
        &self,
        endpoint: Endpoint,
        client: Option<&ClientId>,
        uri: Option<&[u8]>,
        reason: &Reason,
    ) {
        measure::refusal(endpoint.as_str(), reason.label());
        if let Some(client) = client {
            note_client(client);
        }
        self.events.note_clock(reason, || self.now());
        let unauthenticated = endpoint != Endpoint::Authorization && is_failed_authentication(reason);
        // A device that waits for its user is refused every few seconds.
        let waits = matches!(reason, Reason::DeviceUndecided | Reason::DevicePollsTooOften);
        if !unauthenticated && !waits && !matches!(reason, Reason::Throttled { .. }) {
            let uri = uri.map(redirect_uri::shown);
            self.raise(&Event::Refused { endpoint, client, redirect_uri: uri.as_deref(), reason });
        }
    }

    /// Records that an identifier was used.
    ///
    /// # Errors
    ///
    /// `used_before` if it was used before; [`Reason::Store`] if the store failed: the identifier may count as used.
    pub(crate) async fn use_once(&self, identifier: Replay, used_before: Reason) -> Result<(), Reason> {
        use_once(&*self.stores.replays, identifier, used_before).await
    }

    /// Records that a DPoP proof was used.
    ///
    /// # Errors
    ///
    /// [`Reason::DpopProof`] if it was used before; the store's error.
    pub(crate) async fn use_proof(&self, proof: Replay) -> Result<(), Reason> {
        use_proof(&*self.stores.replays, proof).await
    }

    /// Returns the URL that a DPoP proof at this endpoint must name; `None` if the issuer is not a URL that a proof can
    /// name.
    pub(crate) fn proof_url(&self, endpoint: Endpoint) -> Option<&TargetUri> {
        self.proof_urls.iter().find(|(own, _)| *own == endpoint).map(|(_, url)| url)
    }

    /// Asks the throttle; refused attempts raise an event.
    pub(crate) async fn check_throttle(&self, attempt: &Attempt<'_>) -> Result<(), Reason> {
        let Some(throttle) = &self.throttle else { return Ok(()) };
        let Attempt { kind, endpoint, client, peer, .. } = *attempt;
        if peer.is_none() && !self.misses_peers.swap(true, Ordering::Relaxed) {
            self.raise(&Event::PeerAddressMissing { endpoint });
        }
        match throttle.check(attempt).await {
            ThrottleDecision::Allow => Ok(()),
            ThrottleDecision::Refuse { retry_after } => {
                let client = match kind {
                    // The client was found.
                    AttemptKind::ConsentRequest | AttemptKind::MetadataDocument | AttemptKind::KeySet => client,
                    AttemptKind::UserCode => None,
                    AttemptKind::Authentication | AttemptKind::Registration | AttemptKind::DeviceRequest => {
                        attempt.loggable_client()
                    }
                };
                self.raise(&Event::Throttled { endpoint, client, peer });
                let begun = u64::from(retry_after.subsec_nanos() > 0);
                let seconds = retry_after.as_secs().saturating_add(begun).max(1);
                Err(Reason::Throttled { retry_after: u32::try_from(seconds).unwrap_or(u32::MAX) })
            }
        }
    }

    /// Informs the hooks that client authentication failed. After a failure of the store or of a fetch, it is unknown
    /// whether the credentials are right.
    pub(crate) async fn note_failed_authentication(&self, attempt: &Attempt<'_>, reason: &Reason) {
        if matches!(reason, Reason::Store(_) | Reason::KeysUnavailable(_)) {
            return;
        }
        let Attempt { endpoint, client, peer, .. } = *attempt;
        let client = if reason.refusal().knows_client { client } else { attempt.loggable_client() };
        self.raise(&Event::AuthenticationFailed { endpoint, client, peer, reason });
        self.note_failure(attempt).await;
    }

    /// Informs the throttle that a secret or a code was wrong.
    pub(crate) async fn note_failure(&self, attempt: &Attempt<'_>) {
        if let Some(throttle) = &self.throttle {
            throttle.failed(attempt).await;
        }
    }

    /// Informs the throttle that the client was authenticated, or a code was right.
    pub(crate) async fn note_success(&self, attempt: &Attempt<'_>) {
        if let Some(throttle) = &self.throttle {
            throttle.succeeded(attempt).await;
        }
    }

    /// Asks the hook whether the user may be given tokens. Without a hook, every user may. A client that acts for
    /// itself has no user, so the hook is not asked.
    pub(crate) async fn check_subject(&self, subject: Option<&Subject>, client: &Client) -> Result<(), Reason> {
        let (Some(subjects), Some(subject)) = (&self.subjects, subject) else { return Ok(()) };
        match subjects.status(subject, client).await {
            SubjectStatus::Active => Ok(()),
            SubjectStatus::Refused => Err(Reason::SubjectRefused),
            SubjectStatus::Unknown => Err(Reason::SubjectUnknown),
        }
    }
}

/// Parses the URLs of the endpoints that read DPoP proofs, once for all proofs.
pub(crate) fn proof_urls(config: &Config) -> Vec<(Endpoint, TargetUri)> {
    let endpoints = Endpoint::MACHINE.iter().copied().filter(|endpoint| endpoint.reads_proofs());
    endpoints.filter_map(|endpoint| Some((endpoint, TargetUri::parse(&config.url_of(endpoint))?))).collect()
}

/// As [`Context::use_proof`], in a store that may be that of an API in another process.
pub(crate) async fn use_proof(replays: &dyn RecordStore<Replay>, proof: Replay) -> Result<(), Reason> {
    use_once(replays, proof, Reason::DpopProof("it was used before")).await
}

async fn use_once(replays: &dyn RecordStore<Replay>, identifier: Replay, used_before: Reason) -> Result<(), Reason> {
    match replays.insert(Arc::new(identifier)).await? {
        Insertion::Inserted => Ok(()),
        Insertion::Exists => Err(used_before),
    }
}

/// Returns whether the request's credentials are wrong. A more specific event is raised then.
pub(crate) fn is_failed_authentication(reason: &Reason) -> bool {
    let code = reason.code();
    code == ErrorCode::InvalidClient || code == ErrorCode::InvalidToken && !matches!(reason, Reason::NoAccessToken)
}

/// The part of the configuration that registrations are checked against, built once. The checks are above, in
/// `registration`.
#[derive(Clone, Debug)]
pub(crate) struct RegistrationRules {
    pub(crate) catalog: ScopeCatalog,
    pub(crate) limits: RegistrationLimits,
    pub(crate) redirect_uris: RedirectUriPolicy,
    pub(crate) public_clients: bool,
    /// Whether users are asked for consent each time, whatever a client has.
    pub(crate) always_asks: bool,
    pub(crate) grant_types: GrantTypes,
    pub(crate) keys: KeyRules,
    /// How long the id of a deleted client is kept.
    pub(crate) reservation: Duration,
}

/// How many device codes are remembered at most.
const POLLS: usize = 65_536;

/// The times of the last polls with at most 65 536 device codes, in less than 2 MB. If there are more, the older half
/// is forgotten, which costs a device nothing.
///
/// The key is the first bytes of the code's digest.
#[derive(Debug)]
pub(crate) struct Polls(Mutex<Generations<[u8; 8], Timestamp>>);

impl OnHeap for Timestamp {}

impl Default for Polls {
    fn default() -> Self {
        Self(Mutex::new(Generations::new(POLLS, usize::MAX)))
    }
}

impl Polls {
    /// Notes a poll, and returns the time of the one before it, if it is remembered.
    pub(crate) fn note(&self, code: &Digest, now: Timestamp) -> Option<Timestamp> {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let code = code.first_bytes();
        let before = times.find(&code).copied();
        times.keep(code, now);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8628-3.5-03
    #[test]
    fn no_more_than_65_536_codes_are_remembered() {
        let (polls, at) = (Polls::default(), Timestamp::from_seconds);
        let code = |number: u32| Digest::of(&number.to_be_bytes());
        assert_eq!(polls.note(&code(0), at(1)), None);
        assert_eq!(polls.note(&code(0), at(6)), Some(at(1)));
        for number in 1..1_000_000 {
            assert_eq!(polls.note(&code(number), at(7)), None);
        }
        assert!((POLLS / 2 + 1..=POLLS).contains(&polls.0.lock().unwrap().len()));
        assert_eq!(polls.note(&code(0), at(9)), None, "it was forgotten");
        assert_eq!(polls.note(&code(999_999), at(9)), Some(at(7)));
    }
}
