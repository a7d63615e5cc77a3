//! The rules of the registry. Each panics with a description if it is broken.

pub(super) mod client;
pub(super) mod confirm;
pub(super) mod cost;
pub(super) mod list;
pub(super) mod parts;
pub(super) mod purge;
pub(super) mod write;
