//! Writes a record once, and finds out after a lost claim or a store error whether the write was applied.
//!
//! Every claim of the server changes its record here. A claim states how to read the record, what to write (a function
//! without `async`), and how to recognize its own write. No other code in the library calls `insert`, `replace` or
//! `confirm` of a store, with two exceptions: [`Context::use_once`] inserts replays, and `server/ready.rs` confirms the
//! record of the last purge.
//!
//! It follows two rules:
//!
//! - After a store error the outcome is unknown: the write may have been applied or not. So the record is read again.
//!   If it contains what the claim wanted to write, the claim won. If not, the error is returned. The claim does not
//!   judge the record again, because a caller must not mistake its own write for another caller's.
//! - If reads are not settled, a read proves nothing: a failed write may be visible on one server and be lost in a
//!   fail-over. So a record that was read instead of written is [confirmed](crate::store::RecordStore::confirm) before
//!   the answer. It is confirmed as well if a token was signed since it was read, which takes time.

pub(crate) mod places;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::base::entropy::Entropy;
use crate::context::Context;
use crate::store::{Insertion, Record, Replacement, StoreError, Stored, Stores};

/// How often a claim tries before it gives up: 128 times, far more than the requests that change one record
/// concurrently.
pub(crate) const ATTEMPTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(127);

/// What one caller wants to write.
pub(crate) trait Claim: Send {
    type Row: Row;
    /// What the caller gets once the record has the intended state.
    type Won: Send;
    type Error: From<StoreError> + Send;

    /// Reads the record and everything else that the judgement needs, and asks hooks. It is called again before each
    /// attempt.
    ///
    /// # Errors
    ///
    /// A store's error, or a hook's refusal.
    fn read(&mut self) -> impl Future<Output = Result<Seen<Self::Row>, Self::Error>> + Send;

    /// Decides by what was read. It calls no store and reads no clock; it may only note in the claim what it decided.
    ///
    /// # Errors
    ///
    /// Why the request is refused.
    fn judge(&mut self, seen: &Seen<Self::Row>) -> Result<Effect<Self::Row, Self::Won>, Self::Error>;

    /// Does what must be done before `row` is written, or before an answer relies on the stored `row`. It may be called
    /// several times.
    ///
    /// Returns whether the row may have changed meanwhile, because a signer took its time. The row is then confirmed
    /// before an answer relies on it, even if reads are settled.
    ///
    /// # Errors
    ///
    /// Why the request is refused.
    fn prepare(
        &mut self,
        row: &Self::Row,
        won: &mut Self::Won,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        let _ = (row, won);
        async { Ok(false) }
    }

    /// Returns whether the record that was found shows that `meant` was written, or has the same effect.
    fn is_done(&self, found: &Self::Row, meant: &Self::Row, after: After) -> bool;
}

/// What a claim knows about its record.
#[derive(Debug)]
pub(crate) enum Seen<R> {
    /// It was not read: an insert needs no prior read.
    Unread,
    Missing,
    Found(Arc<R>),
}

impl<R> Seen<R> {
    /// Returns the record, if one was found.
    pub(crate) const fn found(&self) -> Option<&Arc<R>> {
        match self {
            Self::Found(found) => Some(found),
            Self::Unread | Self::Missing => None,
        }
    }
}

impl<R> From<Option<Arc<R>>> for Seen<R> {
    fn from(found: Option<Arc<R>>) -> Self {
        found.map_or(Self::Missing, Self::Found)
    }
}

/// What a claim does next, and what its caller then gets.
#[derive(Debug)]
pub(crate) enum Effect<R, W> {
    Insert(Arc<R>, W),
    /// Replaces the record that was found. The claim draws the new version.
    Replace(Arc<R>, W),
    /// Writes nothing, but the answer relies on the record that was found: it is confirmed.
    Confirm(W),
    /// Writes nothing, and the answer relies on no record.
    Leave(W),
}

impl<R, W> Effect<R, W> {
    /// Returns the record that the answer relies on, and what the caller gets.
    fn relies_on<'a>(&'a mut self, seen: &'a Seen<R>) -> Option<(&'a R, &'a mut W)> {
        match self {
            Self::Insert(row, won) | Self::Replace(row, won) => Some((row, won)),
            Self::Confirm(won) => seen.found().map(|found| (&**found, won)),
            Self::Leave(_) => None,
        }
    }
}

/// The event after which a record is compared with the intended one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The store answered that another write came first. A store that sends a write twice may mean its own write.
    Loss,
    /// The store failed: the write may have been applied or not.
    Error,
}

/// A record that is claimed, and the store that keeps it.
pub(crate) trait Row: Send + Sync + Sized + 'static {
    fn version(&self) -> u32;
    /// Gives a replacement the version that was drawn.
    fn set_version(row: &mut Arc<Self>, version: u32);
    fn reads_settled(stores: &Stores) -> bool;
    fn insert(row: Arc<Self>, stores: &Stores) -> impl Future<Output = Result<Insertion, StoreError>> + Send;
    fn replace(
        version: u32,
        row: Arc<Self>,
        stores: &Stores,
    ) -> impl Future<Output = Result<Replacement, StoreError>> + Send;
    fn confirm(row: Arc<Self>, stores: &Stores) -> impl Future<Output = Result<Replacement, StoreError>> + Send;
}

/// Reads, judges and writes until the record has the state that the claim wants, or the claim refuses.
///
/// With `None` as `attempts` it never gives up: a revocation must win against all requests in flight.
///
/// # Errors
///
/// The error of `read`, `judge` or `prepare`; the store's error if a write failed and is not known to have been
/// applied; [`Contended`], as a transient store error, if every attempt lost.
pub(crate) async fn claim<C: Claim>(
    context: &Context,
    claim: &mut C,
    attempts: Option<NonZeroU32>,
) -> Result<C::Won, C::Error> {
    Ok(claim_record(context, claim, attempts).await?.0)
}

/// Does what [`claim`] does, and returns the record as well: the one that was written, or else the one that the outcome
/// relies on, if there is one.
///
/// # Errors
///
/// As [`claim`].
pub(crate) async fn claim_record<C: Claim>(
    context: &Context,
    claim: &mut C,
    attempts: Option<NonZeroU32>,
) -> Result<(C::Won, Option<Arc<C::Row>>), C::Error> {
    let stores = &context.stores;
    let mut left = attempts.map(NonZeroU32::get);
    let mut lost: Option<(Arc<C::Row>, C::Won)> = None;
    while left != Some(0) {
        left = left.map(|left| left - 1);
        let seen = claim.read().await?;
        if let Some((meant, won)) = lost.take()
            && let Seen::Found(found) = &seen
            && claim.is_done(found, &meant, After::Loss)
        {
            if is_confirmed(stores, found).await? {
                return Ok((won, Some(meant)));
            }
            lost = Some((meant, won));
            continue;
        }
        let mut effect = claim.judge(&seen)?;
        let may_have_changed = match effect.relies_on(&seen) {
            Some((row, won)) => claim.prepare(row, won).await?,
            None => false,
        };
        lost = match (effect, &seen) {
            (Effect::Leave(won), Seen::Found(found)) => return Ok((won, Some(found.clone()))),
            (Effect::Leave(won), Seen::Unread | Seen::Missing) => return Ok((won, None)),
            (Effect::Confirm(won), Seen::Found(found)) => {
                let is_certain = !may_have_changed && C::Row::reads_settled(stores);
                if is_certain || is_unchanged(stores, found).await? {
                    return Ok((won, Some(found.clone())));
                }
                None
            }
            (Effect::Replace(mut row, won), Seen::Found(found)) => {
                C::Row::set_version(&mut row, other_version(found.version(), &*context.entropy));
                match C::Row::replace(found.version(), row.clone(), stores).await {
                    Ok(Replacement::Replaced) => return Ok((won, Some(row))),
                    Ok(Replacement::Lost) => Some((row, won)),
                    Err(error) => return after_error(stores, claim, &row, error).await.map(|()| (won, Some(row))),
                }
            }
            (Effect::Insert(row, won), _) => match C::Row::insert(row.clone(), stores).await {
                Ok(Insertion::Inserted) => return Ok((won, Some(row))),
                Ok(Insertion::Exists) => Some((row, won)),
                Err(error) => return after_error(stores, claim, &row, error).await.map(|()| (won, Some(row))),
            },
            // There is no record to replace or to rely on, so it is read again.
            (Effect::Replace(..) | Effect::Confirm(_), Seen::Unread | Seen::Missing) => None,
        };
    }
    Err(StoreError::transient(Contended).into())
}

/// Finds out whether a write was applied although the store returned an error.
///
/// # Errors
///
/// That error, if the write was not applied or this cannot be found out.
async fn after_error<C: Claim>(
    stores: &Stores,
    claim: &mut C,
    meant: &C::Row,
    error: StoreError,
) -> Result<(), C::Error> {
    for _ in 0..ATTEMPTS.get() {
        let found = match claim.read().await {
            Ok(Seen::Found(found)) => found,
            Ok(Seen::Unread | Seen::Missing) | Err(_) => break,
        };
        if !claim.is_done(&found, meant, After::Error) {
            break;
        }
        match is_confirmed(stores, &found).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(_) => break,
        }
    }
    Err(error.into())
}

/// Confirms a record that was read, unless reads are settled; `false` if it has changed since.
async fn is_confirmed<R: Row>(stores: &Stores, found: &Arc<R>) -> Result<bool, StoreError> {
    Ok(R::reads_settled(stores) || is_unchanged(stores, found).await?)
}

/// Asks the store whether a record is still as it was read.
async fn is_unchanged<R: Row>(stores: &Stores, found: &Arc<R>) -> Result<bool, StoreError> {
    Ok(R::confirm(found.clone(), stores).await? == Replacement::Replaced)
}

/// Draws the version of a record.
///
/// If versions were counted, one version could name two records: after a fail-over undid a write, or under an id that
/// was purged and is used again. A caller that read one of them could then replace the other.
pub(crate) fn draw_version(entropy: &dyn Entropy) -> u32 {
    let mut version = [0; 4];
    entropy.fill(&mut version);
    u32::from_be_bytes(version)
}

/// Draws another version than this.
fn other_version(version: u32, entropy: &dyn Entropy) -> u32 {
    let drawn = draw_version(entropy);
    if drawn == version { drawn.wrapping_add(1) } else { drawn }
}

/// Other callers changed the record at every attempt.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("other requests changed the record at every attempt")]
pub(crate) struct Contended;

impl<R: Stored> Row for R {
    fn version(&self) -> u32 {
        Record::version(self)
    }

    fn set_version(row: &mut Arc<Self>, version: u32) {
        Arc::make_mut(row).set_version(version);
    }

    fn reads_settled(stores: &Stores) -> bool {
        R::store(stores).reads_settled()
    }

    async fn insert(row: Arc<Self>, stores: &Stores) -> Result<Insertion, StoreError> {
        R::store(stores).insert(row).await
    }

    async fn replace(version: u32, row: Arc<Self>, stores: &Stores) -> Result<Replacement, StoreError> {
        R::store(stores).replace(version, row).await
    }

    async fn confirm(row: Arc<Self>, stores: &Stores) -> Result<Replacement, StoreError> {
        R::store(stores).confirm(row).await
    }
}
