//! grantor beside its rivals: the same work, in one run, on one machine.
//!
//! It is a separate package, so that other builds do not build the rivals. It has two commands. Each prints tables, and
//! writes them as JSON under `benches/peers/target`, with the numbers of every round. `--quick` after `--` only shows
//! that everything runs.
//!
//! # In process
//!
//! ```sh
//! cargo bench --manifest-path benches/peers/Cargo.toml
//! ```
//!
//! runs grantor, oxide-auth and oauth-as in one process with everything in memory. It measures the whole flow
//! (authorize, decide, exchange), refresh, and the check of a token, each hot, among 4096 live grants, and among a
//! million. An operation takes the bytes of a request and returns the bytes of an answer, without HTTP. The figures are
//! the processor time of one thread. It needs 5 GB of memory.
//!
//! # Over HTTP
//!
//! ```sh
//! cargo bench --manifest-path benches/peers/Cargo.toml --bench http
//! ```
//!
//! loads one server after the other, each a process on core 0, from core 1 (`taskset`): grantor on axum and on
//! actix-web, the same frameworks bare, oxide-auth-axum, oxide-auth-actix, and oidc-provider on node. npm installs
//! oidc-provider under `target` when it is first needed; without node or npm it is skipped with a message. The load
//! generator keeps 64 connections busy. Each refreshes its own grants with their newest tokens, or calls a resource
//! behind the check of a token. A bare server reads the same bytes, checks nothing, and answers as many bytes of body
//! as grantor on axum.
//!
//! grantor's servers are its examples, with unchanged routes and adapters but another `main`. It begins with 4096 live
//! grants. For the refreshes it has a fast clock, so that minutes pass between two refreshes of one grant. Unlike the
//! examples, it sets no throttle and does not purge once a minute. Neither writes a log.
//!
//! # How it is measured
//!
//! Rounds of all contenders are interleaved, in an order that changes, after one that only warms up. The tables show
//! medians. Absolute numbers depend on the machine. The ratios are comparable, if the machine does nothing else. Every
//! answer is checked: the status at once, the tokens by their use in later requests. All are built with the same
//! profile and use the system's allocator.
//!
//! # How each rival is set up
//!
//! As its documentation says, with its best settings. The file of each rival documents them, and what the rival leaves
//! out: `in_process/oxide_auth.rs`, `in_process/oauth_as.rs`, `http/oxide_auth.rs`, `http/actix_servers.rs`,
//! `node/provider.mjs`.

pub mod http;
pub mod in_process;
pub mod material;
pub mod table;
