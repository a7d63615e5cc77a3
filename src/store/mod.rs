//! Storage: small traits, their contract, and the types they use.
//!
//! Every state change of a flow is one write of one row by its primary key. A store contains no rule of OAuth: it
//! finds, inserts and replaces records whose fields it need not understand.
//!
//! The core reads and writes through the typed traits: [`ClientStore`], [`ClientRegistry`], [`CodeStore`],
//! [`TokenStore`], [`PushedRequestStore`], [`ReplayStore`], [`PurgeStore`]. A database implements [`Engine`] instead, a
//! single trait over bytes. Every engine implements all seven typed traits.

mod answer;
pub(crate) mod cached;
mod client_registry;
mod client_store;
mod code_store;
mod engine;
mod error;
pub(crate) mod memory;
mod over_engine;
mod page;
#[cfg(feature = "postgres")]
pub mod postgres;
mod purge;
mod purge_store;
mod pushed_request_store;
#[cfg(feature = "redis")]
pub mod redis;
mod registration;
mod replay_store;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod stores;
mod token_store;

pub use crate::model::codec::DecodeError;
pub use crate::model::{Authorization, Grant, LastPurge, PushedRequest, Replay, Revocation, RevocationReason};
pub use crate::store::answer::{Insertion, Replacement};
pub use crate::store::cached::CachedClients;
pub use crate::store::client_registry::ClientRegistry;
pub use crate::store::client_store::ClientStore;
pub use crate::store::code_store::CodeStore;
pub use crate::store::engine::{Columns, Ended, Engine, List, Part, Row, Table, Write};
pub use crate::store::error::StoreError;
pub use crate::store::memory::MemoryStore;
pub use crate::store::page::Page;
pub use crate::store::purge::Purge;
pub use crate::store::purge_store::PurgeStore;
pub use crate::store::pushed_request_store::PushedRequestStore;
pub use crate::store::registration::{LogoWrite, Registration};
pub use crate::store::replay_store::ReplayStore;
pub use crate::store::stores::Stores;
pub use crate::store::token_store::TokenStore;
