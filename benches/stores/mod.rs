//! The stores that are durable, each beside its engine driven directly with the same statements.

pub(crate) mod callers;
mod checks;
pub(crate) mod compare;
pub(crate) mod disk;
mod grants;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod processor;
#[cfg(feature = "postgres")]
mod raw_postgres;
mod raw_sqlite;
#[cfg(feature = "redis")]
pub(crate) mod redis;
pub(crate) mod sqlite;
pub(crate) mod work;
