//! What a store in a file has to show: it keeps the contract when two share the file, outlives the process,
//! and meets disks that are full, files that are damaged, and files that go.

#[path = "sqlite/backup.rs"]
mod backup;
#[path = "sqlite/contract.rs"]
mod contract;
#[path = "sqlite/files.rs"]
mod files;
#[path = "sqlite/flow.rs"]
mod flow;
#[path = "sqlite/folder.rs"]
mod folder;
#[path = "sqlite/group.rs"]
mod group;
#[path = "sqlite/killed.rs"]
mod killed;
#[path = "protocol/leap.rs"]
mod leap;
#[path = "sqlite/processes.rs"]
mod processes;
#[path = "sqlite/purge.rs"]
mod purge;
#[path = "sqlite/records.rs"]
mod records;
// Elsewhere a file that is open can be neither removed nor renamed.
#[cfg(unix)]
#[path = "sqlite/replaced.rs"]
mod replaced;
#[path = "sqlite/restore.rs"]
mod restore;
#[path = "sqlite/schema.rs"]
mod schema;
#[path = "sqlite/trouble.rs"]
mod trouble;
#[path = "sqlite/unreadable.rs"]
mod unreadable;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;
