//! The protocol, one module per source; a test is named by its rule, its first doc line is the id in
//! the checklist of `src/guide/conformance.md`.

mod administration;
mod changed_meanwhile;
mod grant_bounds;
mod grant_states;
mod grant_table;
mod hooks;
mod http;
mod interleaved;
mod mcp;
mod oauth21;
mod profiles;
mod redirect_uri;
mod registration;
mod rfc6749_answers;
mod rfc6749_authorize;
mod rfc6749_client;
mod rfc6749_grace;
mod rfc6749_refresh;
mod rfc6749_syntax;
mod rfc6749_token;
mod rfc6750;
mod rfc7009;
mod rfc7636;
mod rfc7662;
mod rfc8252;
mod rfc8414;
mod rfc9207;
mod rfc9700;
mod secrets;
mod service;
mod unreliable;
mod world;
