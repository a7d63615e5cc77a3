//! grantor beside its rivals: the same work, in one run, on one machine.
//!
//! ```sh
//! cargo bench --manifest-path benches/peers/Cargo.toml
//! ```
//!
//! runs grantor, oxide-auth and oauth-as in one process, with everything in memory: the
//! [whole flow](in_process), refresh, and the check of a token, among 4096 and among a million live grants.
//! After `--`, `--quick` only shows that everything runs.
//!
//! It prints a table and writes it, with the number of every round, as JSON under `benches/peers/target`.
//! Rounds of all contenders are interleaved, in an order that changes, and the median is shown: absolute numbers
//! are one machine's, the ratios are what to keep. Every answer is checked: the status inside the timed loop,
//! the tokens after it, since the next round goes on with them. How each rival is set up, why that is its
//! best, and what it leaves out is written in its file.
//!
//! It is a package of its own, so that nobody else builds the rivals.

pub mod in_process;
pub mod material;
pub mod table;
