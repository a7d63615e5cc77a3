//! The interface through which the server fetches metadata documents and key sets.

pub(crate) mod cache;
pub(crate) mod documents;
pub(crate) mod flight;
pub(crate) mod key_sets;

use std::sync::Arc;

use crate::fetch::flight::NoOutput;
pub use crate::hooks::{Fetcher, Transport};
pub use crate::wire::fetch::{FetchError, FetchErrorKind, FetchPurpose, FetchRequest, FetchResponse, TransportRequest};

/// Returns the error of a request that waited for a fetch in vain; `panicked` is that of a panic.
pub(crate) fn in_vain<E: From<FetchError>>(why: NoOutput, panicked: E) -> Arc<E> {
    Arc::new(match why {
        NoOutput::Panicked => panicked,
        NoOutput::TooManyTasks => FetchError::new(FetchErrorKind::TooManyRequests).into(),
    })
}
