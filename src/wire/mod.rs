//! What travels: requests as they arrive and responses as they leave.
//!
//! An adapter copies nothing and decodes nothing. It lends the raw octets of a web framework's
//! request to a [`Request`] and writes a [`Response`] back as it stands. There is no rule of OAuth
//! in this module.

pub(crate) mod challenge;
pub(crate) mod cors;
pub(crate) mod page;
pub(crate) mod params;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod route;

pub use self::page::protective_headers;
pub use self::request::{Body, Request};
pub use self::response::{RedirectStatus, Response};
pub use self::route::Endpoint;
