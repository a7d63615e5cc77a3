//! What the tests of several packages share.

#![expect(async_fn_in_trait, reason = "only tests implement and call them")]
#![expect(clippy::exhaustive_enums, clippy::exhaustive_structs, reason = "only tests take them apart")]
#![expect(clippy::missing_errors_doc, reason = "the words of an error are for a failed test")]
#![expect(missing_debug_implementations, reason = "they hold secrets")]

pub mod any_store;
pub mod attempts;
pub mod devices;
pub mod directory;
pub mod folder;
pub mod intercepted;
pub mod jump;
pub mod keys;
#[cfg(feature = "stores")]
mod on_postgres;
#[cfg(feature = "stores")]
mod on_redis;
#[cfg(feature = "stores")]
mod runtime;
pub mod to_server;
pub mod world;
