//! The protocol, one module per source; a test is named by its rule, its first doc line is the id in
//! the checklist of `src/guide/conformance.md`.

mod administration;
mod bounds;
mod changed_meanwhile;
mod client_credentials;
mod clocks;
mod derivation_keys;
mod embedding;
mod grant_bounds;
mod grant_states;
mod grant_table;
mod hooks;
mod http;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "../intercepted/mod.rs"]
mod intercepted;
mod interleaved;
mod mcp;
mod memory_throttle;
mod negative;
mod negative_redirects;
mod negative_refresh;
mod negative_secrets;
mod negative_stored;
mod negative_tokens;
mod oauth21;
mod profiles;
mod redirect_uri;
mod refresh_keep;
mod refresh_line;
mod registration;
mod resource_lists;
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
mod service;
mod unreliable;
mod world;
