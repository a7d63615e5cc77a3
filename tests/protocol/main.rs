//! The protocol, one module per source; a test is named by its rule, its first doc line is the id in
//! the checklist of `src/guide/conformance.md`.

mod world;

mod hooks;
mod http;
mod rfc6749_authorize;
mod rfc6749_client;
mod rfc6749_syntax;
mod secrets;
mod service;
