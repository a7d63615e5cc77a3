//! What a database or its driver reported, as the source of a store's own error.

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
