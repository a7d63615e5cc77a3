//! The FAPI 2.0 Security Profile: what its settings are, and which it refuses. How it answers is in the system tests, where
//! the thin server goes through the modules of the conformance suite.

mod clients;
mod promises;
mod report;
