//! Tests of a store in a file: shared by two stores, across processes, on full disks, with damaged files, and with
//! removed files.

mod backup;
mod contract;
mod files;
mod flow;
mod group;
mod killed;
mod processes;
mod purge;
mod records;
// On other systems, an open file can be neither removed nor renamed.
#[cfg(unix)]
mod replaced;
mod restore;
mod schema;
mod trouble;
mod unreadable;
