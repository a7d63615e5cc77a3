//! A throttle that allows everything and records what it was asked about.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};

/// What a throttle is told of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    Checked,
    Failed,
    Authenticated,
}

/// One call, the client that the request claims to come from, and its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub noted: Noted,
    pub client: Option<String>,
    pub network: Option<String>,
}

/// Clones share what was recorded.
#[derive(Clone, Debug, Default)]
pub struct Attempts(Arc<Mutex<Vec<Call>>>);

impl Attempts {
    /// The calls since the last time.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The client that the last attempt claims to come from, since the last time: `None` if there was no attempt,
    /// `Some(None)` if it named no client.
    pub fn claimed(&self) -> Option<Option<String>> {
        self.take().into_iter().rfind(|call| call.noted == Noted::Checked).map(|call| call.client)
    }

    /// How many calls of that kind were recorded.
    pub fn count(&self, noted: Noted) -> usize {
        self.0.lock().unwrap().iter().filter(|call| call.noted == noted).count()
    }

    fn note(&self, noted: Noted, attempt: &Attempt<'_>) {
        let network = attempt.peer_network().map(|network| network.to_string());
        self.0.lock().unwrap().push(Call { noted, client: attempt.client.map(str::to_owned), network });
    }
}

#[async_trait]
impl Throttle for Attempts {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        self.note(Noted::Checked, attempt);
        ThrottleDecision::Allow
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        self.note(Noted::Failed, attempt);
    }

    async fn succeeded(&self, attempt: &Attempt<'_>) {
        self.note(Noted::Authenticated, attempt);
    }
}
