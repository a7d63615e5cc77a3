//! grantor beside its rivals: the same work, in one run, on one machine.
//!
//! It is a package of its own, so that nobody else builds the rivals. Two commands, each of which prints tables
//! and writes them, with the numbers of every round, as JSON under `benches/peers/target`. After `--`, `--quick`
//! only shows that everything runs.
//!
//! # In process
//!
//! ```sh
//! cargo bench --manifest-path benches/peers/Cargo.toml
//! ```
//!
//! runs grantor, oxide-auth and oauth-as in one process with everything in memory: the whole flow (authorize,
//! decide, exchange), refresh, and the check of a token; hot, which is among 4096 live grants, and among a
//! million. It takes the octets of a request and gives the octets of an answer, without HTTP. Measured is the
//! processor time of the one thread. It needs 5 GB of memory.
//!
//! # Over HTTP
//!
//! ```sh
//! cargo bench --manifest-path benches/peers/Cargo.toml --bench http
//! ```
//!
//! loads one server after the other, each a process on core 0, from core 1 (`taskset`): grantor on axum and on
//! actix-web, the same frameworks bare, oxide-auth-axum, oxide-auth-actix, and node's oidc-provider, which npm
//! installs under `target` when it is first needed (without node or npm it is skipped with a word). The load
//! generator keeps 64 connections busy; each follows the tokens of its own grants from refresh to refresh, or
//! calls a resource behind the check of a token. A bare server takes the same octets, looks at nothing, and
//! answers as many octets of body as grantor on axum does.
//!
//! grantor's servers are its examples: their routes and adapters, unchanged. Their `main` is another one, which
//! begins with 4096 live grants and, for the refreshes, has a clock that runs fast, so that minutes lie between
//! two refreshes of one grant. It sets no throttle, and runs no purge once a minute as the examples do; neither
//! writes a log.
//!
//! # How it is measured
//!
//! Rounds of all contenders are interleaved, in an order that changes, after one that only warms up; the median
//! is shown. Absolute numbers are one machine's, the ratios are what to keep, and they too want a machine that
//! does nothing else. Every answer is checked: the status at once, the tokens by going on with them. All are built
//! by the same profile and use the system's allocator.
//!
//! # How each rival is set up
//!
//! As its documentation says, with its best settings; what they are, and what the rival leaves out, is written
//! in its file: `in_process/oxide_auth.rs`, `in_process/oauth_as.rs`, `http/oxide_auth.rs`,
//! `http/actix_servers.rs`, `node/provider.mjs`.

pub mod http;
pub mod in_process;
pub mod material;
pub mod table;
