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
    unreadable: Option<[u8; 16]>,
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

    /// A record that is there and cannot be read, named by the octets of its id; a permanent failure.
    ///
    /// Whoever reads a list goes on behind the record that is named.
    #[must_use]
    pub fn unreadable(id: &[u8; 16], error: DecodeError) -> Self {
        Self { unreadable: Some(*id), ..Self::permanent(error) }
    }

    /// Returns the octets of the id of a record that cannot be read, if the store named one.
    #[must_use]
    pub const fn unreadable_id(&self) -> Option<&[u8; 16]> {
        self.unreadable.as_ref()
    }

    /// Tells whether the failure may pass by itself.
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
