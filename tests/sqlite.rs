//! What only a store in a file has to show: it outlives the process, is shared with others, fills up and breaks.

#[path = "sqlite/flow.rs"]
mod flow;
#[path = "sqlite/folder.rs"]
mod folder;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;
