//! The responses of the server as types, also for programs in Rust that talk to it.
//!
//! They read and write JSON through serde. Members without a value are left out, never null [RFC 6749 section 5.1];
//! unknown members are ignored. `Debug` does not show tokens and client secrets. The output of serde contains them.

mod authorization_request;
mod form;
mod introspection;
mod metadata;
mod token_response;

pub use authorization_request::{DeviceAuthorizationResponse, PushedAuthorizationResponse};
pub use introspection::{Confirmation, IntrospectionResponse};
pub use metadata::{ClientInformationResponse, Metadata, ResourceMetadata};
pub use token_response::{ErrorResponse, TokenResponse, TokenType};
