//! What a store in a file has to show: it keeps the contract when two share the file, outlives the process,
//! and meets disks that are full, files that are damaged, and files that go.

mod backup;
mod contract;
mod files;
mod flow;
mod group;
mod killed;
mod processes;
mod purge;
mod records;
// Elsewhere a file that is open can be neither removed nor renamed.
#[cfg(unix)]
mod replaced;
mod restore;
mod schema;
mod trouble;
mod unreadable;
