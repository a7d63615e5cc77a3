//! A throttle that allows everything and records what it was asked about.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};

/// Remembers the client that a request claims to come from.
#[derive(Clone, Debug, Default)]
pub struct Claimed(Arc<Mutex<Option<Option<String>>>>);

impl Claimed {
    /// What was claimed since the last call: `None` if there was no request, `Some(None)` if it named no client.
    pub fn take(&self) -> Option<Option<String>> {
        self.0.lock().unwrap().take()
    }
}

#[async_trait]
impl Throttle for Claimed {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        *self.0.lock().unwrap() = Some(attempt.client.map(str::to_owned));
        ThrottleDecision::Allow
    }

    async fn failed(&self, _attempt: &Attempt<'_>) {}
}
