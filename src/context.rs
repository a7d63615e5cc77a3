//! What every request meets: stores, settings, clock, generator, hooks.

use std::sync::Arc;

use crate::client::Client;
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::entropy::Entropy;
use crate::error::{ErrorCode, Reason};
use crate::hooks::{Attempt, Event, EventSink, SubjectStatus, Subjects, Throttle, ThrottleDecision};
use crate::id::ClientId;
use crate::store::Stores;
use crate::subject::Subject;
use crate::wire::Endpoint;

/// The parts of one authorization server.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) stores: Stores,
    pub(crate) config: Config,
    /// The document of the metadata endpoint.
    pub(crate) metadata: Box<[u8]>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) events: Option<Arc<dyn EventSink>>,
    pub(crate) throttle: Option<Arc<dyn Throttle>>,
    pub(crate) subjects: Option<Arc<dyn Subjects>>,
}

impl Context {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn raise(&self, event: &Event<'_>) {
        if let Some(events) = &self.events {
            events.record(event);
        }
    }

    /// Tells the sink why a request was refused, unless a more telling event was raised for it.
    pub(crate) fn note_refusal(&self, endpoint: Endpoint, client: Option<&ClientId>, reason: &Reason) {
        let unauthenticated = endpoint != Endpoint::Authorization && reason.code() == ErrorCode::InvalidClient;
        if !unauthenticated && !matches!(reason, Reason::Throttled { .. }) {
            self.raise(&Event::Refused { endpoint, client, reason });
        }
    }

    /// Asks the throttle; refused attempts raise an event.
    pub(crate) async fn check_throttle(&self, attempt: &Attempt<'_>) -> Result<(), Reason> {
        let Some(throttle) = &self.throttle else { return Ok(()) };
        match throttle.check(attempt).await {
            ThrottleDecision::Allow => Ok(()),
            ThrottleDecision::Refuse { retry_after } => {
                let Attempt { endpoint, client, peer, .. } = *attempt;
                // A request that is held has been found to come from a client.
                let client = if endpoint == Endpoint::Authorization { client } else { attempt.client_to_tell() };
                self.raise(&Event::Throttled { endpoint, client, peer });
                let begun = u64::from(retry_after.subsec_nanos() > 0);
                let seconds = retry_after.as_secs().saturating_add(begun).max(1);
                Err(Reason::Throttled { retry_after: u32::try_from(seconds).unwrap_or(u32::MAX) })
            }
        }
    }

    /// Tells hooks that the client could not be authenticated.
    pub(crate) async fn note_failed_authentication(&self, attempt: &Attempt<'_>, reason: &Reason) {
        let Attempt { endpoint, client, peer, .. } = *attempt;
        let client = if is_of_a_client(reason) { client } else { attempt.client_to_tell() };
        self.raise(&Event::AuthenticationFailed { endpoint, client, peer, reason });
        if let Some(throttle) = &self.throttle {
            throttle.failed(attempt).await;
        }
    }

    /// Asks whether the user may be given tokens; without a hook, every user may, and a client
    /// that acts for itself needs none.
    pub(crate) async fn check_subject(&self, subject: Option<&Subject>, client: &Client) -> Result<(), Reason> {
        let (Some(subjects), Some(subject)) = (&self.subjects, subject) else { return Ok(()) };
        match subjects.status(subject, client).await {
            SubjectStatus::Active => Ok(()),
            SubjectStatus::Refused => Err(Reason::SubjectRefused),
            SubjectStatus::Unknown => Err(Reason::SubjectUnknown),
        }
    }

    pub(crate) fn audience(&self) -> &str {
        self.config.audience.as_deref().unwrap_or(&self.config.issuer)
    }
}

/// Returns whether there is a client of the id that was claimed.
const fn is_of_a_client(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::ClientNotApproved | Reason::MissingSecret | Reason::UnregisteredAuthentication | Reason::WrongSecret
    )
}
