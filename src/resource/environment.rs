//! The clock and the events of a check in a separate process.

use std::sync::Arc;

use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::base::id::ClientId;
use crate::hooks::{Event, EventSink, TokenRefusal};

/// Where the time comes from, and where events go.
#[derive(Clone)]
pub(super) struct Environment {
    clock: Arc<dyn Clock>,
    events: Option<Arc<dyn EventSink>>,
}

/// The clock of the operating system, and no sink.
impl Default for Environment {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), events: None }
    }
}

impl Environment {
    pub(super) fn with_clock(&self, clock: impl Clock) -> Self {
        Self { clock: Arc::new(clock), events: self.events.clone() }
    }

    pub(super) fn with_events(&self, events: impl EventSink) -> Self {
        Self { clock: Arc::clone(&self.clock), events: Some(Arc::new(events)) }
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(super) fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(super) fn clock_and_events(&self) -> (Arc<dyn Clock>, Option<Arc<dyn EventSink>>) {
        (self.shared_clock(), self.events.clone())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn raise(&self, event: &Event<'_>) {
        if let Some(events) = &self.events {
            events.record(event);
        }
    }

    /// Reports that a token was refused. `client` is whose token it is, if that is known.
    pub(super) fn refuse(&self, client: Option<&ClientId>, refusal: TokenRefusal) {
        self.raise(&Event::AccessTokenRefused { client, refusal });
    }
}
