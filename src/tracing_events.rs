//! Events as lines of a log.

use tracing::{error, info, warn};

use crate::error::Reason;
use crate::hooks::{Event, EventSink};

/// An [`EventSink`] that writes one `tracing` line per event, under the target `grantor`.
///
/// What needs somebody's eyes is a warning: replays, reuse, failed authentication, refusals for rate, a
/// store that failed and may be back. A store that stays broken or lost acknowledged writes is an error.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it holds nothing and is written as a value")]
pub struct TracingEvents;

impl EventSink for TracingEvents {
    fn record(&self, event: &Event<'_>) {
        match event {
            Event::Refused { reason: Reason::Store(failure), .. } if failure.is_transient() => {
                warn!(target: "grantor", ?event);
            }
            Event::Refused { reason: Reason::Store(_), .. }
            | Event::StoreWentBack { .. }
            | Event::DerivationKeyMissing { .. } => {
                error!(target: "grantor", ?event);
            }
            Event::CodeReplayed { .. }
            | Event::RefreshTokenReused { .. }
            | Event::SupersededTokenAtRevocation { .. }
            | Event::AuthenticationFailed { .. }
            | Event::Throttled { .. } => warn!(target: "grantor", ?event),
            Event::Application { .. }
            | Event::CodeIssued { .. }
            | Event::Denied { .. }
            | Event::Exchanged { .. }
            | Event::Refreshed { .. }
            | Event::RefreshedInGrace { .. }
            | Event::MachineTokenIssued { .. }
            | Event::AccessTokenRevoked { .. }
            | Event::GrantRevoked { .. }
            | Event::Refused { .. } => info!(target: "grantor", ?event),
        }
    }
}
