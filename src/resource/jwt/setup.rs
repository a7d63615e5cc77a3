//! What a verifier was created with.

use std::fmt;
use std::sync::Arc;

use crate::hooks::fetcher::Transport;
use crate::resource::environment::Environment;
use crate::resource::jwt::settings::JwtSettings;

/// The settings, the transport, the clock and the events.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) settings: Arc<JwtSettings>,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) environment: Environment,
}

/// Without the transport.
impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("settings", &self.settings).finish_non_exhaustive()
    }
}
