//! How many records one user, one client or all clients may have: the table of these bounds, and what they share.
//!
//! | what | for each | at most | found by | at the bound |
//! |---|---|---|---|---|
//! | consent requests | subject | `limits.consent_requests` | a page of its list | the oldest gives way |
//! | consent requests | client of a subject | a fifth of `limits.consent_requests` | the same page | the oldest gives way |
//! | codes without a page | client of a subject | a fifth of `limits.consent_requests` in one `hold_lifetime` | the same page | the consent page is shown |
//! | grants | client of a subject | `limits.grants` | its list, after the insert | the one refreshed longest ago gives way |
//! | pushed requests | client | `limits.pushed_requests` | places | the oldest that no user holds gives way, else refused |
//! | device requests | client | `limits.device_requests` | places | the oldest whose code nobody typed gives way, else refused |
//! | client-credentials tokens | client | `limits.client_credentials_tokens` | 8 places, each a record of many tokens | refused |
//! | unreviewed clients that no user approved | origin: registration or document | a tenth of `limits.unreviewed_clients` | places | the oldest that awaits no user gives way, else refused |
//! | unreviewed clients that a user approved | origin | four tenths of `limits.unreviewed_clients` | places | the one longest without a live grant gives way, else refused |
//! | the same | user who approved them first | [`CLIENTS_PER_SUBJECT`] | the list of that user | the one used longest ago gives way, unless others use it; else refused |
//!
//! A *place* is a number below the bound. The record in it is found by a key that derives from the owner and the
//! number, or by a list of that place, so no list of all records is read and nothing is counted.
//!
//! A client has as many places as it may have open requests. A request reads some of them and takes the first that is
//! free. If none of these is free, the oldest one that may give way is replaced, or the request is refused.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::entropy::Entropy;
use crate::base::id::ClientId;
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
    fn keeps_place(&self, now: Timestamp) -> bool;

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
                if found.keeps_place(self.request.created()) && !is_replaced {
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

/// Unreviewed clients that one subject was the first to approve.
pub(crate) const CLIENTS_PER_SUBJECT: usize = 50;
/// Places that one request reads at most. While nine of ten places are taken, 29 of 30 requests find a free one.
const PLACES_READ: u32 = 32;

/// Splits off the occupants that give way, so that at most `max` stay. Those with the lowest rank give way first.
pub(crate) fn split_surplus<T, K: Ord>(mut occupants: Vec<T>, max: usize, rank: impl Fn(&T) -> K) -> (Vec<T>, Vec<T>) {
    occupants.sort_by_key(rank);
    let stay = occupants.split_off(occupants.len().saturating_sub(max));
    (occupants, stay)
}

/// Draws the places that a request reads, each once: evenly spaced ones, from a random one on. All, if there are few.
pub(crate) fn draw_places(entropy: &dyn Entropy, count: u32) -> impl Iterator<Item = u32> + Send {
    let mut drawn = [0; 4];
    entropy.fill(&mut drawn);
    let count = count.max(1);
    let first = u32::from_be_bytes(drawn) % count;
    let read = count.min(PLACES_READ);
    let step = u64::from(count / read);
    let place = move |step_number: u32| (u64::from(first) + u64::from(step_number) * step) % u64::from(count);
    (0..read).map(move |step_number| u32::try_from(place(step_number)).unwrap_or_default())
}

/// Returns the key of the record in a place. `label` separates the places of one kind of record from all others: no
/// label is a prefix of another.
pub(crate) fn key_of_place(label: &[u8], place: u32, owner: &ClientId) -> [u8; 16] {
    Digest::of(&[label, &place.to_be_bytes(), owner.as_str().as_bytes()].concat()).first_bytes()
}

/// The occupants that a request met in the places it read.
#[derive(Debug)]
pub(crate) struct Met<T> {
    first_end: Option<Timestamp>,
    gives_way: Option<(Timestamp, T)>,
}

impl<T> Met<T> {
    pub(crate) const fn nobody() -> Self {
        Self { first_end: None, gives_way: None }
    }

    /// Notes an occupant that leaves its place at `end`.
    pub(crate) fn note_end(&mut self, end: Timestamp) {
        self.first_end = Some(self.first_end.map_or(end, |first| first.min(end)));
    }

    /// Notes an occupant that may give way. The one with the earliest `since` does.
    pub(crate) fn note_giving_way(&mut self, since: Timestamp, occupant: T) {
        if self.gives_way.as_ref().is_none_or(|(earliest, _)| since < *earliest) {
            self.gives_way = Some((since, occupant));
        }
    }

    pub(crate) fn take_first_to_go(&mut self) -> Option<T> {
        self.gives_way.take().map(|(_, occupant)| occupant)
    }

    /// Returns the seconds until the first of them leaves its place; at least 1.
    pub(crate) fn retry_after(&self, now: Timestamp) -> u32 {
        self.first_end.map_or(1, |end| end.seconds_since(now).max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::base::entropy::SystemEntropy;

    #[test]
    fn the_lowest_ranks_give_way() {
        for (max, gone, left) in [(0, vec![1, 2, 3], vec![]), (2, vec![1], vec![2, 3]), (9, vec![], vec![1, 2, 3])] {
            assert_eq!(split_surplus(vec![3, 1, 2], max, |number| *number), (gone, left));
        }
    }

    /// 9126-2.3-01
    #[test]
    fn few_places_are_all_read_and_of_many_no_more_than_32() {
        for count in [1, 2, 7, 8, 31, 32, 33, 1000, 1 << 24] {
            let read: Vec<_> = draw_places(&SystemEntropy, count).collect();
            let distinct: BTreeSet<_> = read.iter().copied().collect();
            let expected = usize::try_from(count.min(32)).unwrap();
            assert_eq!((read.len(), distinct.len()), (expected, expected), "{count}");
            assert!(read.iter().all(|place| *place < count));
        }
    }

    #[test]
    fn the_places_of_an_owner_are_its_own() {
        let owners = ["a", "b", "ab"].map(|id| ClientId::new(id).unwrap());
        let labels = [b"one".as_slice(), b"two"];
        let places = owners.iter().flat_map(|owner| (0..1000).map(move |place| (owner, place)));
        let keys: BTreeSet<_> =
            places.flat_map(|(owner, place)| labels.map(|label| key_of_place(label, place, owner))).collect();
        assert_eq!(keys.len(), 2 * 3 * 1000);
    }

    #[test]
    fn the_earliest_gives_way_and_the_first_end_is_waited_for() {
        let at = Timestamp::from_seconds;
        let mut met = Met::nobody();
        assert_eq!(met.retry_after(at(10)), 1);
        for (since, end, name) in [(5, 40, "b"), (3, 60, "a"), (3, 50, "later")] {
            met.note_end(at(end));
            met.note_giving_way(at(since), name);
        }
        assert_eq!((met.retry_after(at(10)), met.retry_after(at(40))), (30, 1));
        assert_eq!((met.take_first_to_go(), met.take_first_to_go()), (Some("a"), None));
    }
}
