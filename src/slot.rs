//! Slots: rows of a client whose ids derive from the client id and a number. What they hold is counted by primary key, without
//! a list.

use crate::id::ClientId;
use crate::secret::Digest;

/// Returns the id of a slot. `label` separates the slots of one kind of record from all others: no label begins with another,
/// and `slot` has the same length in all slots of a label.
pub(crate) fn id(label: &[u8], slot: &[u8], client: &ClientId) -> [u8; 16] {
    let digest = Digest::of(&[label, slot, client.as_str().as_bytes()].concat());
    let mut id = [0; 16];
    id.iter_mut().zip(digest.octets()).for_each(|(to, from)| *to = *from);
    id
}

/// Returns the version of the first row in a slot. An id recurs after a purge, so its versions start at a random number
/// below 2^31: a late write to the old row does not match the new one.
pub(crate) const fn first_version(random: [u8; 4]) -> u32 {
    u32::from_be_bytes(random) >> 1
}
