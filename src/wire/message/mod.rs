//! The responses of the server as types, also for programs in Rust that talk to it.
//!
//! They read and write JSON through serde. Members without a value are left out, never null [RFC 6749 section 5.1];
//! unknown members are ignored. `Debug` does not show tokens and client secrets. The output of serde contains them.

mod client_information;
mod device_authorization;
mod form;
mod introspection;
mod metadata;
mod pushed_authorization;
mod token_response;

pub use client_information::ClientInformationResponse;
pub use device_authorization::DeviceAuthorizationResponse;
pub use introspection::{Confirmation, IntrospectionResponse};
pub use metadata::{Metadata, ResourceMetadata};
pub use pushed_authorization::PushedAuthorizationResponse;
pub use token_response::{ErrorResponse, TokenResponse, TokenType, UnknownTokenType};
