//! What a browser does: authorization requests, from the first visit to the user's decision.

pub(crate) mod consent_requests;
pub(crate) mod decide;
pub(crate) mod decision;
pub(crate) mod document_client;
pub(crate) mod judge;
pub(crate) mod pending;
pub(crate) mod pushed_request;
pub(crate) mod request;
pub(crate) mod stored_client;

pub use decide::{Consent, Decision};
pub use pending::{AuthorizationError, PendingAuthorization, RequestedScope};
