//! The endpoints. Each takes a [`Request`](crate::wire::Request) and returns a [`Response`](crate::wire::Response).
//! The table in [`table`] says what is fixed about each.

pub(crate) mod authorize;
pub(crate) mod client_configuration;
pub(crate) mod client_request;
pub(crate) mod device_authorization;
pub(crate) mod introspect;
pub(crate) mod jwks;
pub(crate) mod metadata;
pub(crate) mod pushed_authorization;
pub(crate) mod registration;
pub(crate) mod registration_request;
pub(crate) mod revoke;
pub(crate) mod table;
pub(crate) mod token;
