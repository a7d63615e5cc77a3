//! What tests need: time and randomness that they set, and the rules that every store keeps.
//!
//! # The kit for stores
//!
//! Every rule that the contract of a store trait names is a plain async function in the module of that
//! trait, [`token_store`] for instance, which panics with what was broken. A macro for each trait makes a
//! test of every rule: [`token_store_tests!`](crate::token_store_tests),
//! [`code_store_tests!`](crate::code_store_tests),
//! [`client_registry_tests!`](crate::client_registry_tests),
//! [`client_store_tests!`](crate::client_store_tests),
//! [`pushed_request_store_tests!`](crate::pushed_request_store_tests),
//! [`replay_store_tests!`](crate::replay_store_tests), [`purge_store_tests!`](crate::purge_store_tests), and
//! [`store_tests!`](crate::store_tests) for all seven.
//! The guide [`writing_a_store`](crate::guide::writing_a_store) says what each of them protects.
//!
//! The rules name no runtime and never block for an answer. Callers that race are polled by threads of the
//! kit: a store whose calls need the context of a runtime on the calling thread, for a timer perhaps, has to
//! enter it by itself.
//!
//! Rules leave their rows behind and read none but their own, so that many of them can run on one
//! database. Those whose names hold `purge`, `a_page_starts_after_an_id_that_is_gone`,
//! `pages_miss_nothing_that_stays` and `calls_cost_the_same` of records remove whatever is due at a time between
//! 2065 and 2093: no two of them may run on the same contents at once. Those of [`purge_store`] need a new store each,
//! since a store has one such record.
//!
//! A store whose purge learns of rows a while after they are written is tested through [`Settled`], which waits
//! before each step of a purge. Nothing waits for a list: a list that lags fails.
//!
//! The kit is no part of what semantic versioning promises: a minor release may add a rule.

mod applications;
mod at_once;
pub mod client_registry;
pub mod client_store;
mod clock;
pub mod code_store;
mod draw;
mod entropy;
mod macros;
pub mod purge_store;
pub mod pushed_request_store;
mod record_rules;
pub mod records;
mod registry_rules;
pub mod replay_store;
mod rows;
mod rules;
mod settled;
pub mod token_store;
mod told;

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
pub use settled::Settled;
