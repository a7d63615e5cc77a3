//! Events as log lines.

use tracing::{debug, error, info, warn};

use crate::hooks::{Event, EventSink, Severity};

/// An [`EventSink`] that writes one `tracing` event per [`Event`], with the target `grantor`.
///
/// The fields can be filtered and counted:
///
/// | field | value |
/// |---|---|
/// | `event` | [`Event::name`], always there |
/// | `client`, `subject`, `actor`, `grant`, `endpoint`, `peer` | as in [`Event`], if the event has them |
/// | `reason` | [`Event::reason`], if there is one |
/// | `redirect_uri` | the redirect URI that was refused, shortened as in [`Event::Refused`] |
/// | `scopes` | what was granted |
/// | `age` | seconds since a refresh token in its grace was superseded |
/// | `keys` | how many keys of a client are not used |
/// | `bytes` | the length of the data of a grant |
/// | `claims` | the names of the claims about a user that were sent |
/// | `operation` | whether a store failed at a `read` or a `write` |
/// | `rows` | how many records a purge removed |
/// | `seconds` | how long a purge took, or how long a store did not answer |
///
/// The level is [`Event::severity`]. Clients and redirect URIs may hold any character: a subscriber that writes lines
/// must escape fields, as that of `tracing-subscriber` does.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it holds nothing and is written as a value")]
pub struct TracingEvents;

impl EventSink for TracingEvents {
    fn record(&self, event: &Event<'_>) {
        let facts = event.facts();
        let grant = facts.grant.map(|grant| grant.to_string());
        let peer = facts.peer.map(|peer| peer.to_string());
        let reason = event.reason();
        let claims = facts.claims.map(|claims| claims.join(" "));
        macro_rules! line {
            ($level:ident) => {
                $level!(
                    target: "grantor",
                    event = facts.name,
                    client = facts.client,
                    subject = facts.subject.map(|subject| subject.as_str()),
                    actor = facts.actor.map(|actor| actor.as_str()),
                    grant = grant.as_deref(),
                    endpoint = facts.endpoint.map(|endpoint| endpoint.as_str()),
                    peer = peer.as_deref(),
                    reason = reason.as_deref(),
                    redirect_uri = facts.redirect_uri,
                    scopes = facts.scopes.map(|scopes| scopes.as_str()),
                    age = facts.age,
                    keys = facts.keys,
                    bytes = facts.bytes,
                    claims = claims.as_deref(),
                    operation = facts.operation,
                    rows = facts.rows,
                    seconds = facts.seconds,
                )
            };
        }
        match facts.severity {
            Severity::Debug => line!(debug),
            Severity::Info => line!(info),
            Severity::Warning => line!(warn),
            Severity::Error => line!(error),
        }
    }
}
