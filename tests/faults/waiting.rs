//! Calls that wait, so that a request can be dropped there.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use async_trait::async_trait;

use support::intercepted::{Fate, Script, pending_once};

/// Every call waits before it is made and after its effect.
#[derive(Debug)]
pub(crate) struct Waiting;

#[async_trait]
impl Script for Waiting {
    async fn before(&self, _: &'static str) -> Fate {
        pending_once().await;
        Fate::Done
    }

    async fn after(&self, _: &'static str) {
        pending_once().await;
    }
}

/// Polls a future so many times, each time when it was woken, then drops it. Returns whether it ended.
///
/// A future that is polled without being woken would need thousands of polls over a store on a server.
pub(crate) async fn dropped_after(polls: usize, future: impl Future) -> bool {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(|context| {
        if future.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        left -= 1;
        if left == 0 { Poll::Ready(false) } else { Poll::Pending }
    })
    .await
}
