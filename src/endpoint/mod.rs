//! The endpoints: each takes a [`Request`](crate::wire::Request) and gives a
//! [`Response`](crate::wire::Response). Their paths and methods are in
//! [`Endpoint`](crate::wire::Endpoint).

pub(crate) mod authorize;
pub(crate) mod decide;
pub(crate) mod form;
pub(crate) mod held;
pub(crate) mod introspect;
pub(crate) mod metadata;
pub(crate) mod pending;
pub(crate) mod register;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod submitted;
pub(crate) mod token;
