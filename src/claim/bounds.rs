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

use crate::base::clock::Timestamp;
use crate::base::entropy::Entropy;
use crate::base::id::ClientId;
use crate::secret::Digest;

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
