//! Whether a server can answer requests now.

use std::sync::atomic::Ordering;

use crate::base::debug_as_text;
use crate::context::Context;
use crate::model::LastPurge;
use crate::store::StoreError;

/// Why a server is [not ready](crate::AuthorizationServer::ready).
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum NotReady {
    /// The clock of another server of the store is ahead of this one by these seconds, or this one is behind: see
    /// [`Event::ClockDiffers`](crate::Event::ClockDiffers).
    #[error("the clocks of the servers differ by {ahead} s")]
    ClockDiffers {
        /// The seconds.
        ahead: u32,
    },
    /// A protected resource has JWT access tokens, and no [key](crate::server::Builder::signing_keys) may sign now.
    #[error("no signing key may sign now")]
    NoSigningKey,
    /// The store answers reads and takes no writes now, as during maintenance. Access tokens are checked, and all that
    /// changes something is answered with 503.
    #[error("the store takes no writes now")]
    ReadOnly(#[source] StoreError),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

debug_as_text!(NotReady);

/// Reads the record of the last purge, and confirms it, which is a write that changes nothing. A new store has none.
///
/// Strangers may ask, so a server that was found ready asks its store again in the next second.
pub(crate) async fn ready(context: &Context) -> Result<(), NotReady> {
    let now = context.now();
    if context.last_ready.load(Ordering::Relaxed) == now.seconds() {
        return Ok(());
    }
    if !context.signing_keys.may_sign(&context.config, now) {
        return Err(NotReady::NoSigningKey);
    }
    let purges = &context.stores.last_purge;
    let Some(last) = purges.find(&LastPurge::KEY).await? else { return Ok(()) };
    if !last.time().has_come(now) {
        return Err(NotReady::ClockDiffers { ahead: last.time().seconds_since(now) });
    }
    // Whether the row was replaced meanwhile does not matter.
    let _ = purges.confirm(last).await.map_err(NotReady::ReadOnly)?;
    context.last_ready.store(now.seconds(), Ordering::Relaxed);
    Ok(())
}
