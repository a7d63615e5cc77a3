//! Clients and verifiers of others against the example servers. Those that are not in Rust need `.ci/judges`.

mod identity;
mod open;
mod plain;
mod signed;
mod verifiers;
