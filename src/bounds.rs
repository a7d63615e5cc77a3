//! Slots: rows of a client whose ids are derived from the client id and a number. They are counted by primary key,
//! without a list.

use crate::model::id::ClientId;
use crate::secret::Digest;

/// Returns the id of a slot. `label` separates the slots of one kind of record from all others: no label is a prefix of
/// another, and `slot` has the same length in all slots of a label.
pub(crate) fn id(label: &[u8], slot: &[u8], client: &ClientId) -> [u8; 16] {
    let digest = Digest::of(&[label, slot, client.as_str().as_bytes()].concat());
    let mut id = [0; 16];
    id.iter_mut().zip(digest.bytes()).for_each(|(to, from)| *to = *from);
    id
}
