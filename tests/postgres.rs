//! The store on PostgreSQL, on servers that the tests start and stop.

#[path = "postgres/confirm.rs"]
mod confirm;
#[path = "postgres/cost.rs"]
mod cost;
#[path = "postgres/crash.rs"]
mod crash;
#[path = "postgres/kit.rs"]
mod kit;
#[path = "protocol/leap.rs"]
mod leap;
#[path = "postgres/limits.rs"]
mod limits;
#[path = "postgres/load.rs"]
mod load;
#[path = "postgres/opening.rs"]
mod opening;
#[path = "postgres/operator.rs"]
mod operator;
#[path = "servers/postgres.rs"]
mod servers;
#[path = "postgres/several_servers.rs"]
mod several_servers;
#[path = "postgres/shared.rs"]
mod shared;
#[path = "postgres/unreadable.rs"]
mod unreadable;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;
