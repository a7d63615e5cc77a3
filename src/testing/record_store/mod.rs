//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for every kind of record with versions, one function
//! each.
//!
//! A rule that races calls takes two handles on the same contents. Rules are called with the kind, as in
//! `no_update_is_lost::<Grant>(&store, &store)`. Those about lists are for kinds that are on lists.

mod confirm;
mod cost;
mod fields;
mod found;
mod insert;
mod list;
mod page;
mod purge;
mod purge_race;
mod replace;
mod unreadable;

pub use confirm::*;
pub use cost::*;
pub use fields::*;
pub use found::*;
pub use insert::*;
pub use list::*;
pub use page::*;
pub use purge::*;
pub use purge_race::*;
pub use replace::*;
pub use unreadable::*;
