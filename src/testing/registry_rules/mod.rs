//! The rules of the registry, each of which fails by a panic that says what was broken.

pub(super) mod client;
pub(super) mod confirm;
pub(super) mod cost;
pub(super) mod list;
pub(super) mod parts;
pub(super) mod purge;
pub(super) mod write;
