//! What only a store in a file has to show: it outlives the process, is shared with others, fills up and breaks.

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
#[path = "sqlite/processes.rs"]
mod processes;
#[path = "sqlite/purge.rs"]
mod purge;
#[path = "sqlite/records.rs"]
mod records;
#[path = "sqlite/schema.rs"]
mod schema;
#[path = "sqlite/trouble.rs"]
mod trouble;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;
