//! The FAPI 2.0 Security Profile: its settings, and which ones it refuses. Its responses are checked in the system
//! tests, where the thin server runs through the modules of the conformance suite.

mod clients;
mod promises;
mod report;
