//! The assertion and the proof of a request, each of which is accepted once.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::context::Context;
use crate::error::Reason;
use crate::hooks::{Attempt, AttemptKind, Credential};
use crate::model::Replay;
use crate::wire::Endpoint;

/// What a request uses up. It is recorded before the first write of the request, or before an answer with a token or
/// about one if nothing is written. So a request that is refused writes no row, and its client may send the assertion
/// again.
#[derive(Debug)]
pub(crate) struct Uses {
    assertion: Option<UseOfAssertion>,
    pub(crate) proof: Option<Replay>,
    are_recorded: AtomicBool,
}

/// The use of an assertion, and the attempt that the throttle is told the outcome of.
#[derive(Debug)]
struct UseOfAssertion {
    replay: Replay,
    endpoint: Endpoint,
    client: Option<Box<str>>,
    peer: Option<IpAddr>,
    from_page: bool,
    /// Whether the client authenticates with it, and not only signs.
    authenticates: bool,
}

impl Uses {
    /// Creates the uses of a request that has no proof.
    pub(crate) fn new(attempt: &Attempt<'_>, authenticates: bool, assertion: Option<Replay>) -> Self {
        let Attempt { endpoint, client, peer, from_page, .. } = *attempt;
        let of_attempt = |replay| UseOfAssertion {
            replay,
            endpoint,
            client: client.map(Into::into),
            peer,
            from_page,
            authenticates,
        };
        Self { assertion: assertion.map(of_attempt), proof: None, are_recorded: AtomicBool::new(false) }
    }

    /// Records the assertion, then the proof. Does nothing if it was called before.
    ///
    /// # Errors
    ///
    /// [`Reason::ClientAssertion`] or [`Reason::DpopProof`] if one was used before; the store's error.
    pub(crate) async fn record(&self, context: &Context) -> Result<(), Reason> {
        if self.are_recorded.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(UseOfAssertion { replay, endpoint, client, peer, from_page, authenticates }) = &self.assertion {
            let used_before = Reason::ClientAssertion("it was used before".into());
            let begun = Attempt::new(AttemptKind::Authentication, *endpoint);
            let credential = Credential::Assertion;
            let attempt =
                Attempt { client: client.as_deref(), credential, peer: *peer, from_page: *from_page, ..begun };
            let recorded = context.use_once(*replay, used_before).await;
            if let Err(reason) = recorded {
                context.note_failed_authentication(&attempt, &reason).await;
                return Err(reason);
            }
            if *authenticates {
                context.note_success(&attempt).await;
            }
        }
        match &self.proof {
            Some(proof) => context.use_proof(*proof).await,
            None => Ok(()),
        }
    }
}
