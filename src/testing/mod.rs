//! Tools for tests: a clock and randomness under their control, and the rules for every store.
//!
//! # The kit for stores
//!
//! Every rule in the contract of a store that a test can show has an async function, which panics with a description if the store breaks the
//! rule. Most are in [`record_store`], generic over the kind of record. Macros define tests of all rules that need only a
//! store; six more are called directly: [`token_store_tests!`](crate::token_store_tests), [`code_store_tests!`](crate::code_store_tests),
//! [`application_store_tests!`](crate::application_store_tests), [`client_store_tests!`](crate::client_store_tests),
//! [`pushed_request_store_tests!`](crate::pushed_request_store_tests),
//! [`replay_store_tests!`](crate::replay_store_tests), [`whole_store_tests!`](crate::whole_store_tests), and
//! [`store_tests!`](crate::store_tests) for all of them. The guide [`writing_a_store`](crate::guide::writing_a_store)
//! says what each rule protects.
//!
//! The rules depend on no runtime and never block for an answer. Threads of the kit poll callers that race: a store
//! whose calls need the context of a runtime on the calling thread, for example for a timer, must enter it itself.
//!
//! Rules leave their rows behind, and except for that of the last purge they read only their own, so that many of them can
//! run on one database. The rules with `purge` in their names, and `a_logo_that_stays_may_be_removed_later`,
//! `a_page_starts_after_an_id_that_is_gone`, `pages_miss_nothing_that_stays` and `calls_cost_the_same` of records, remove
//! all rows that are due at a time from 2065 on: no two of them may run on the same contents at once.
//!
//! A store whose purge index lags is tested through [`Settled`], which waits before each step of a purge. The kit never
//! waits for a list: a list that lags fails.
//!
//! Semantic versioning does not cover the kit: a minor release may add a rule.

pub mod application_store;
mod at_once;
mod calls;
pub mod client_store;
mod clock;
mod draw;
mod entropy;
mod macros;
pub mod record_store;
pub mod records;
pub mod replay_store;
mod sample;
mod settled;
mod told;
pub mod whole_store;

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
pub use settled::Settled;
