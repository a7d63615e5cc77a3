//! The responses of the server as types, also for programs in Rust that talk to it.
//!
//! They read and write JSON through serde. Members without a value are left out, never null [RFC 6749 section 5.1];
//! unknown members are ignored. `Debug` does not show tokens and client secrets. The output of serde contains them.

mod authorization;
mod client_information;
mod form;
mod introspection;
mod metadata;
mod token_response;

pub use authorization::{DeviceAuthorizationResponse, PushedAuthorizationResponse};
pub use client_information::ClientInformationResponse;
pub use introspection::{Confirmation, IntrospectionResponse};
pub use metadata::{Metadata, ResourceMetadata};
pub use token_response::{ErrorResponse, TokenResponse, TokenType, UnknownTokenType};
