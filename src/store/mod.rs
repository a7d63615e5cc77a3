//! Storage: small traits, their contract, and the types they use.
//!
//! Every state change of a flow is one write of one row by its primary key. A store contains no rule of OAuth: it
//! finds, inserts and replaces records whose fields it need not understand.
//!
//! The core reads and writes through [`RecordStore`], one for each kind of [`Record`], and looks up clients through
//! [`ClientStore`]. A database implements [`Engine`] instead, a single trait over bytes. Every engine implements both.

pub(crate) mod cached;
mod engine;
mod error;
pub(crate) mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
mod record_store;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod stores;

pub use crate::base::codec::DecodeError;
pub(crate) use crate::model::record::kinds;
pub use crate::model::record::{Columns, Ended, Lists, Record, Table};
pub use crate::model::user_code::UserCodeKey;
pub use crate::model::{
    ApplicationLogo, Authorization, DeviceRequest, Grant, InitialToken, LastPurge, PushedRequest, Replay, Revocation,
    RevocationReason, UserCodeRecord,
};
pub use crate::store::engine::{Engine, List, Row, Write};
pub use crate::store::error::StoreError;
pub use crate::store::record_store::{
    ClientStore, CodeStore, Insertion, Page, Purge, RecordStore, Replacement, Store, TokenStore,
};
pub(crate) use crate::store::stores::Stored;
pub use crate::store::stores::Stores;
