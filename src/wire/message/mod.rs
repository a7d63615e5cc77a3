//! The messages of the protocol as types, for programs in Rust that talk to the server.
//!
//! They read and write JSON and forms through serde. Members without a value are left out, never null [RFC 6749 section
//! 5.1]; unknown members are ignored. `Debug` does not show codes, tokens, client secrets, verifiers and `state`. The
//! output of serde contains them.
//!
//! The server itself decodes requests as bytes. These types contain text: bytes of a query that are not UTF-8 become
//! replacement characters.

mod authorization;
mod client_information;
mod device_authorization;
mod form;
mod introspection;
mod metadata;
mod presented_token;
mod pushed_authorization;
mod token_request;
mod token_response;

pub use authorization::{AuthorizationErrorResponse, AuthorizationRequest, AuthorizationResponse};
pub use client_information::ClientInformationResponse;
pub use device_authorization::DeviceAuthorizationResponse;
pub use form::FormError;
pub use introspection::{Confirmation, IntrospectionResponse};
pub use metadata::{Metadata, ResourceMetadata};
pub use presented_token::PresentedToken;
pub use pushed_authorization::{PushedAuthorizationRequest, PushedAuthorizationResponse};
pub use token_request::{AuthorizationCodeExchange, TokenRefresh, TokenRequest};
pub use token_response::{ErrorResponse, TokenResponse, TokenType, UnknownTokenType};
