//! Tools for tests: a clock and randomness under their control, and the rules for every store.
//!
//! # The kit for stores
//!
//! Every rule in the contract of [`Engine`](crate::store::Engine#contract) that a test can show has an async function
//! in [`engine`], which panics with a description if the store breaks the rule. The macro
//! [`store_tests!`](crate::store_tests) defines tests of all rules that need only a store; two more are called
//! directly. The few rules for a directory of clients are in [`client_store`]. The guide
//! [`writing_a_store`](crate::guide::writing_a_store) says what each rule protects.
//!
//! The rules depend on no runtime and never block for an answer. Threads of the kit poll callers that race: a store
//! whose calls need the context of a runtime on the calling thread, for example for a timer, must enter it itself.
//!
//! Rules leave their rows behind, and except for that of the last purge they read only their own, so that many of them
//! can run on one database. The rules with `purge` in their names, `a_page_starts_after_a_key_that_is_gone`,
//! `pages_miss_nothing_that_stays` and `calls_cost_the_same` remove all rows that are due at a time from 2065 on: no
//! two of them may run on the same contents at once.
//!
//! A store whose purge index lags is tested through [`Settled`], which waits before each step of a purge. The kit never
//! waits for a list: a list that lags fails.
//!
//! Semantic versioning does not cover the kit: a minor release may add a rule.

mod at_once;
pub mod client_store;
pub mod engine;
mod environment;
#[cfg(test)]
mod largest;
mod macros;
pub mod records;
mod rows;
mod settled;

pub use environment::{ManualClock, SeededEntropy};
pub use settled::Settled;
