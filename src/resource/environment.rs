//! What the checks in a separate process share: clock, events, and rules of their settings.

use std::sync::Arc;

use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::base::id::ClientId;
use crate::config::check::is_loopback;
use crate::config::rule::{ConfigError, quoted};
use crate::error::Reason;
use crate::hooks::{Event, EventSink, Events, TokenRefusal};
use crate::model::redirect_uri::{WebScheme, WebUri, check_host};

/// Where the time comes from, and where events go.
#[derive(Clone)]
pub(super) struct Environment {
    clock: Arc<dyn Clock>,
    events: Events,
}

/// The clock of the operating system, and no sink.
impl Default for Environment {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), events: Events::default() }
    }
}

impl Environment {
    pub(super) fn with_clock(&self, clock: impl Clock) -> Self {
        Self { clock: Arc::new(clock), ..self.clone() }
    }

    pub(super) fn with_events(&self, events: impl EventSink) -> Self {
        Self { events: Events::to(events), ..self.clone() }
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(super) fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(super) fn clock_and_events(&self) -> (Arc<dyn Clock>, Events) {
        (self.shared_clock(), self.events.clone())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn raise(&self, event: &Event<'_>) {
        self.events.raise(event);
    }

    pub(super) fn note_clock(&self, reason: &Reason) {
        self.events.note_clock(reason, || self.now());
    }

    /// Reports that a token was refused. `client` is whose token it is, if that is known.
    pub(super) fn refuse(&self, client: Option<&ClientId>, refusal: TokenRefusal) {
        self.raise(&Event::AccessTokenRefused { client, refusal });
    }
}

/// The smallest room of a cache, in which an eighth is two entries.
const MIN_ENTRIES: usize = 16;

/// Checks a URL to which requests are sent. `rule` is the section that requires TLS.
pub(super) fn check_url(
    field: &'static str,
    url: &str,
    development: bool,
    rule: &'static str,
) -> Result<(), ConfigError> {
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    let is_safe = WebUri::split(url).is_ok_and(|uri| {
        (uri.scheme == WebScheme::Https || (development && is_loopback(uri.host))) && check_host(uri.host).is_ok()
    });
    if is_plain && is_safe {
        return Ok(());
    }
    let remedy = format!(
        "an https URL without user and fragment is accepted, or plain http on a loopback host with development on \
         ({rule})"
    );
    Err(ConfigError::new(field, quoted(url), remedy))
}

/// Returns whether requests to that URL are sent without TLS.
pub(super) fn is_unencrypted(url: &str) -> bool {
    WebUri::split(url).is_ok_and(|uri| uri.scheme == WebScheme::Http)
}

pub(super) fn check_issuer(issuer: &str) -> Result<(), ConfigError> {
    if issuer.is_empty() {
        return Err(ConfigError::new("issuer", quoted(issuer), "the issuer of the tokens is needed"));
    }
    Ok(())
}

pub(super) fn check_max_entries(max_entries: usize) -> Result<(), ConfigError> {
    if max_entries < MIN_ENTRIES {
        return Err(ConfigError::new("max_entries", max_entries, "at least 16 is accepted"));
    }
    Ok(())
}
