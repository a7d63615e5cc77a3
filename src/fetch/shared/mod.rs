//! Shared fetches: concurrent requests wait for one fetch, and its outcome is cached.

pub(crate) mod cache;
pub(crate) mod flight;
pub(crate) mod flights;
