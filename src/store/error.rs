//! What stops a store.

use std::error::Error;

use crate::codec::DecodeError;

/// A failure of the store itself; what was asked for may or may not have taken effect.
///
/// It is answered with 503, or 500 if it will not pass, and never takes anything from anybody.
#[derive(Debug, thiserror::Error)]
#[error("the store failed")]
pub struct StoreError {
    transient: bool,
    unreadable: Option<Box<[u8]>>,
    source: Box<dyn Error + Send + Sync>,
}

impl StoreError {
    /// A failure that may pass: a lost connection, a full queue, a time-out.
    pub fn transient(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: true, unreadable: None, source: source.into() }
    }

    /// A failure that stays until somebody acts: a missing table, a record that cannot be read.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: false, unreadable: None, source: source.into() }
    }

    /// A record that exists and cannot be read, named by its key; a permanent failure.
    ///
    /// The reader of a list continues after the record that is named.
    #[must_use]
    pub fn unreadable(key: &[u8], error: DecodeError) -> Self {
        Self { unreadable: Some(key.into()), ..Self::permanent(error) }
    }

    /// Returns the key of a record that cannot be read, if the store named one.
    #[must_use]
    pub fn unreadable_key(&self) -> Option<&[u8]> {
        self.unreadable.as_deref()
    }

    /// Returns whether the failure may pass by itself.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.transient
    }
}

impl From<DecodeError> for StoreError {
    fn from(error: DecodeError) -> Self {
        Self::permanent(error)
    }
}
