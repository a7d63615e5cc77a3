//! Each secret is in the one answer that carries it, and nowhere else: not in logs, events, errors, `Debug` output,
//! other answers, or anything that a store keeps.
//!
//! PostgreSQL and Redis are started and ended here: `cargo test
//! --workspace --all-features --test databases secrets:: -- --include-ignored`.

mod connections;
mod exposure;
mod flow;
mod forms;
mod logs;
mod misplaced;
mod proofs;
mod stores;
mod types;
