//! The protocol, one module per source; a test is named by its rule, its first doc line is the id in
//! the checklist of `src/guide/conformance.md`.

mod interleaved;
mod world;

mod rfc6749_refresh;
mod rfc6749_token;
mod service;
