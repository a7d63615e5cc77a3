//! HTTP requests and responses, independent of a web framework.
//!
//! An adapter copies nothing and decodes nothing. It passes the raw bytes of a web framework's request to a [`Request`]
//! by reference, and sends a [`Response`] unchanged. This module contains no OAuth rules.

pub(crate) mod cors;
pub(crate) mod endpoint;
pub(crate) mod fetch;
pub mod message;
pub(crate) mod page;
pub(crate) mod params;
pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod response;

pub use self::cors::Cors;
pub use self::endpoint::Endpoint;
pub use self::page::protective_headers;
pub use self::request::{Body, Request};
pub use self::response::{RedirectStatus, Response};
