//! Removes expired records, unless the clock seems to have jumped forward.
//!
//! A purge cannot be undone, even if the clock is set back later. So the store keeps the time of the last purge, and a
//! purge at a much later time is refused until the clock is confirmed.
//!
//! Only an accepted purge moves that time. Sign-ins would be no evidence, since the same clock writes them. A process
//! also follows its clock between purges, in steps that are shorter than a clock jump, from its first accepted purge
//! on. The confirmation is a method of its own, so that code which purges cannot confirm by default.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::measure::Stopwatch;
use crate::base::{debug_as_text, measure};
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim, draw_version};
use crate::context::Context;
use crate::hooks::Event;
use crate::model::LastPurge;
use crate::store::{Purge, StoreError, kinds};

/// Seconds between two writes of the time of the last purge: a purge in many steps writes it once.
const WRITTEN_EVERY: u32 = 60;

/// Why no expired records were removed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PurgeError {
    /// The clock is further ahead than [`Config::clock_jump`](crate::Config::clock_jump) accepts. Nothing was removed.
    ///
    /// If the clock is right, for example after the service was stopped for some days, call
    /// [`confirm_clock`](crate::AuthorizationServer::confirm_clock). Otherwise correct the clock.
    #[error(
        "no expired record was removed, since the clock shows {now}, and the newest time seen before is {newest}; \
         correct the clock, or call confirm_clock if it is right"
    )]
    #[non_exhaustive]
    ClockAhead {
        /// The time of the clock.
        now: Timestamp,
        /// The newest time that this process and the store have seen.
        newest: Timestamp,
    },
    /// A store failed; what was removed before that stays removed. Call again. Or the store has the records of [another
    /// issuer](crate::Config::former_issuers), and nothing was removed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

debug_as_text!(PurgeError);

/// Removes expired records, examining at most `limit` in each store.
pub(crate) async fn purge_expired(context: &Context, limit: usize) -> Result<Purge, PurgeError> {
    let (begun, watch) = (context.now(), Stopwatch::start());
    let purged = purge(context, limit).await;
    match &purged {
        Ok(purge) => {
            measure::purged(watch, purge.removed(), purge.is_finished());
            let seconds = context.now().seconds_since(begun);
            context.raise(&Event::Purged { rows: purge.removed(), seconds, finished: purge.is_finished() });
        }
        Err(PurgeError::ClockAhead { now, newest }) => {
            context.raise(&Event::PurgeRefused { now: *now, newest: *newest });
        }
        Err(PurgeError::Store(error)) => context.raise(&Event::PurgeFailed { error }),
    }
    purged
}

async fn purge(context: &Context, limit: usize) -> Result<Purge, PurgeError> {
    let now = context.now();
    let mut accepting = Accepting { context, next: record(context, now) };
    let accepted = claim(context, &mut accepting, Some(ATTEMPTS)).await?;
    context.newest.advance_to(now);
    match accepted {
        // Without an earlier purge, the clock cannot be checked.
        Accepted::First => Ok(Purge::default().finished()),
        Accepted::Within => remove(context, now, limit).await,
    }
}

async fn remove(context: &Context, now: Timestamp, limit: usize) -> Result<Purge, PurgeError> {
    let stores = &context.stores;
    macro_rules! purge_all {
        ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ident;)*) => {
            [$(stores.$field.purge(now, limit).await,)*]
        };
    }
    // If one store fails, the others are purged all the same.
    kinds!(purge_all).into_iter().try_fold(Purge::default().finished(), |all, one| Ok(all.and(one?)))
}

/// Records the clock's time as that of the last purge, even if it is earlier.
pub(crate) async fn confirm_clock(context: &Context) -> Result<(), StoreError> {
    let now = context.now();
    claim(context, &mut Confirming { context, next: record(context, now) }, Some(ATTEMPTS)).await?;
    context.newest.set(now);
    Ok(())
}

/// A purge that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepted {
    /// The first one on this store.
    First,
    /// Not far beyond the newest time.
    Within,
}

/// The record of a purge at that time.
fn record(context: &Context, now: Timestamp) -> LastPurge {
    LastPurge::new(draw_version(&*context.entropy), now, &context.config.issuer)
}

struct Accepting<'a> {
    context: &'a Context,
    next: LastPurge,
}

impl Claim for Accepting<'_> {
    type Row = LastPurge;
    type Won = Accepted;
    type Error = PurgeError;

    async fn read(&mut self) -> Result<Seen<LastPurge>, PurgeError> {
        Ok(self.context.stores.last_purge.find(&LastPurge::KEY).await?.into())
    }

    fn judge(&mut self, seen: &Seen<LastPurge>) -> Result<Effect<LastPurge, Accepted>, PurgeError> {
        let now = self.next.time();
        let Seen::Found(last) = seen else {
            return Ok(Effect::Insert(Arc::new(self.next.clone()), Accepted::First));
        };
        self.context.check_issuer_of(last)?;
        let newest = last.time().max(self.context.newest.time());
        if now > newest.plus(self.context.config.clock_jump) {
            return Err(PurgeError::ClockAhead { now, newest });
        }
        if now.seconds_since(last.time()) < WRITTEN_EVERY && last.issuer() == self.next.issuer() {
            return Ok(Effect::Leave(Accepted::Within));
        }
        // The server of another address of the service may have written a later time.
        Ok(Effect::Replace(Arc::new(record(self.context, now.max(last.time()))), Accepted::Within))
    }

    fn is_done(&self, found: &LastPurge, meant: &LastPurge, _: After) -> bool {
        found.time() >= meant.time() && found.issuer() == meant.issuer()
    }
}

struct Confirming<'a> {
    context: &'a Context,
    next: LastPurge,
}

impl Claim for Confirming<'_> {
    type Row = LastPurge;
    type Won = ();
    type Error = StoreError;

    async fn read(&mut self) -> Result<Seen<LastPurge>, StoreError> {
        Ok(self.context.stores.last_purge.find(&LastPurge::KEY).await?.into())
    }

    fn judge(&mut self, seen: &Seen<LastPurge>) -> Result<Effect<LastPurge, ()>, StoreError> {
        if let Seen::Found(last) = seen {
            self.context.check_issuer_of(last)?;
        }
        Ok(match seen {
            Seen::Found(last) if last.is_same(&self.next) => Effect::Confirm(()),
            Seen::Found(_) => Effect::Replace(Arc::new(self.next.clone()), ()),
            Seen::Missing | Seen::Unread => Effect::Insert(Arc::new(self.next.clone()), ()),
        })
    }

    fn is_done(&self, found: &LastPurge, meant: &LastPurge, _: After) -> bool {
        found.is_same(meant)
    }
}
