//! The error of a store, and what its database or driver reported.

use std::error::Error;

use crate::base::codec::DecodeError;
use crate::base::debug_as_text;
use crate::wire::refusal::Severity;

/// A failure of the store. The operation may or may not have taken effect.
///
/// The server responds with 503, or with 500 if the failure is permanent. A failure itself revokes no grant. If it also
/// hides whether a write was applied, an exchange, or a refresh without a grace, may cost a new sign-in.
#[derive(thiserror::Error)]
#[error("the store failed")]
pub struct StoreError {
    transient: bool,
    unreadable: Option<Box<[u8]>>,
    source: Box<dyn Error + Send + Sync>,
}

debug_as_text!(StoreError);

impl StoreError {
    /// Creates a transient failure, such as a lost connection, a full queue or a time-out.
    pub fn transient(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: true, unreadable: None, source: source.into() }
    }

    /// Creates a permanent failure, which an operator must resolve, such as a missing table.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: false, unreadable: None, source: source.into() }
    }

    /// Creates a permanent failure for a record that exists but cannot be read, with the record's key.
    ///
    /// The reader of a list continues after that record.
    #[must_use]
    pub fn unreadable(key: &[u8], error: DecodeError) -> Self {
        Self { unreadable: Some(key.into()), ..Self::permanent(error) }
    }

    /// Returns the key of a record that cannot be read, if the store named one.
    #[must_use]
    pub fn unreadable_key(&self) -> Option<&[u8]> {
        self.unreadable.as_deref()
    }

    /// Returns whether the failure is transient: a retry may succeed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.transient
    }

    /// Returns how much attention it needs: a permanent failure lasts until someone acts.
    pub(crate) const fn severity(&self) -> Severity {
        if self.transient { Severity::Warning } else { Severity::Error }
    }
}

impl From<DecodeError> for StoreError {
    fn from(error: DecodeError) -> Self {
        Self::permanent(error)
    }
}

#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
pub(crate) use cause::Cause;

#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
mod cause {
    use std::error::Error;
    use std::ops::Deref;
    use std::sync::Arc;

    /// The error beneath that of a store.
    ///
    /// The source of an error is what this derefs to, not a pointer: a service can downcast it to the error of the
    /// database.
    #[derive(Clone, Debug)]
    pub(crate) struct Cause(Arc<dyn Error + Send + Sync>);

    impl Cause {
        pub(crate) fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
            Self(Arc::from(source.into()))
        }
    }

    impl Deref for Cause {
        type Target = dyn Error + Send + Sync;

        fn deref(&self) -> &Self::Target {
            &*self.0
        }
    }
}
