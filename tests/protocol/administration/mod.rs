//! What an embedder does with what was granted: list it, withdraw it, clean up after it.

mod application;
mod grants;
mod purge;
mod subject;
