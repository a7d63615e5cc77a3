//! The protocol, one module per source; a test is named by its rule, its first doc line is the id in
//! the checklist of `src/guide/conformance.md`.

mod administration;
mod grant_table;
mod hooks;
mod http;
mod registration;
mod rfc6749_authorize;
mod rfc6749_client;
mod rfc6749_syntax;
mod secrets;
mod service;
mod world;
