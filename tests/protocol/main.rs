//! The protocol, one module per source; a test is named by its rule, its first doc line is the id in
//! the checklist of `src/guide/conformance.md`.

mod interleaved;
mod world;

mod grant_bounds;
mod grant_states;
mod rfc6749_answers;
mod rfc6749_grace;
mod rfc6749_refresh;
mod rfc6749_token;
mod service;
