//! Puts a request of a client into one of its [places](crate::claim::bounds).
//!
//! A client has as many places as it may have open requests. A request reads some of them and takes the first that is
//! free. If none of these is free, the oldest one that may give way is replaced, or the request is refused.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::claim::bounds::{Met, draw_places, key_of_place};
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim};
use crate::context::Context;
use crate::context::uses::Uses;
use crate::error::Reason;
use crate::secret::Digest;
use crate::store::Stored;

/// A request that lies in a place of its client until it ends.
pub(crate) trait Occupant: Stored {
    /// Separates these places from those of other records.
    const LABEL: &'static [u8];

    fn client(&self) -> &ClientId;

    /// Returns the request under the id of a place. Successive requests in the place share it.
    fn in_place(&self, id: [u8; 16]) -> Self;

    /// Returns the id of the place.
    fn id(&self) -> &[u8; 16];

    /// Returns the digest that identifies the request, since the id identifies only the place.
    fn secret(&self) -> &Digest;

    fn created(&self) -> Timestamp;

    /// Returns whether another request must not take its place.
    fn is_open(&self, now: Timestamp) -> bool;

    /// Returns when it leaves its place.
    fn leaves_at(&self) -> Timestamp;

    /// Returns whether it may give way to another request although it is open.
    fn may_give_way(&self) -> bool;
}

/// The result of [`place`].
pub(crate) enum Placed<R> {
    In(Arc<R>),
    /// All places that were read are taken. The first is free in so many seconds.
    Full {
        retry_after: u32,
    },
}

/// Stores a request in a free place, one of `most`. If none is free, it replaces the oldest request that may give way.
/// A request that replaces an `earlier` one of the same caller takes its place.
pub(crate) async fn place<R: Occupant>(
    context: &Context,
    uses: &Uses,
    request: R,
    most: u32,
    earlier: Option<&R>,
) -> Result<Placed<R>, Reason> {
    let now = request.created();
    let mut met = Met::nobody();
    let note = |met: &mut Met<Arc<R>>, open: Arc<R>| {
        met.note_end(open.leaves_at());
        if open.may_give_way() {
            met.note_giving_way(open.created(), open);
        }
    };
    let numbers = draw_places(&*context.entropy, most);
    let free = numbers.into_iter().map(|number| (key_of_place(R::LABEL, number, request.client()), None));
    let own = earlier.map(|earlier| (*earlier.id(), Some(*earlier.secret())));
    for (id, replaced) in own.into_iter().chain(free) {
        match fill(context, uses, request.in_place(id), replaced).await? {
            Filled::Placed(request) => return Ok(Placed::In(request)),
            Filled::Open(open) => note(&mut met, open),
        }
    }
    if let Some(open) = met.take_first_to_go() {
        let own = request.in_place(*open.id());
        match fill(context, uses, own, Some(*open.secret())).await? {
            Filled::Placed(request) => return Ok(Placed::In(request)),
            Filled::Open(open) => note(&mut met, open),
        }
    }
    Ok(Placed::Full { retry_after: met.retry_after(now) })
}

async fn fill<R: Occupant>(
    context: &Context,
    uses: &Uses,
    request: R,
    replaced: Option<Digest>,
) -> Result<Filled<R>, Reason> {
    claim(context, &mut Filling { context, uses, request: Arc::new(request), replaced }, Some(ATTEMPTS)).await
}

/// Puts one request into a place.
struct Filling<'a, R> {
    context: &'a Context,
    uses: &'a Uses,
    request: Arc<R>,
    /// The secret of the open request that it replaces, if any.
    replaced: Option<Digest>,
}

enum Filled<R> {
    Placed(Arc<R>),
    /// Another request is in the place.
    Open(Arc<R>),
}

impl<R: Occupant> Claim for Filling<'_, R> {
    type Row = R;
    type Won = Filled<R>;
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<R>, Reason> {
        Ok(R::store(&self.context.stores).find(self.request.key()).await?.into())
    }

    fn judge(&mut self, seen: &Seen<R>) -> Result<Effect<R, Filled<R>>, Reason> {
        let placed = Filled::Placed(self.request.clone());
        Ok(match seen {
            Seen::Found(found) => {
                let is_replaced = self.replaced == Some(*found.secret()) && found.may_give_way();
                if found.is_open(self.request.created()) && !is_replaced {
                    return Ok(Effect::Leave(Filled::Open(Arc::clone(found))));
                }
                Effect::Replace(self.request.clone(), placed)
            }
            Seen::Unread | Seen::Missing => Effect::Insert(self.request.clone(), placed),
        })
    }

    async fn prepare(&mut self, _: &R, _: &mut Self::Won) -> Result<bool, Reason> {
        self.uses.record(self.context).await?;
        Ok(false)
    }

    fn is_done(&self, found: &R, meant: &R, _: After) -> bool {
        found.secret() == meant.secret()
    }
}
