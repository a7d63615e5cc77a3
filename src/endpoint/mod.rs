//! The endpoints. Each takes a [`Request`](crate::wire::Request) and returns a [`Response`](crate::wire::Response).
//! Their paths and methods are in [`Endpoint`](crate::wire::Endpoint).

pub(crate) mod authorization_request;
pub(crate) mod authorize;
pub(crate) mod bearer;
pub(crate) mod caller;
pub(crate) mod client_configuration;
pub(crate) mod decide;
pub(crate) mod document;
pub(crate) mod form;
pub(crate) mod held;
pub(crate) mod introspect;
pub(crate) mod metadata;
pub(crate) mod pending;
pub(crate) mod possession;
pub(crate) mod proof;
pub(crate) mod pushed;
pub(crate) mod pushed_authorization;
pub(crate) mod register;
pub(crate) mod registration;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod stored;
pub(crate) mod submitted;
pub(crate) mod token;
pub(crate) mod used;
