//! The store on PostgreSQL, on servers that the tests start and stop.

#[path = "postgres/kit.rs"]
mod kit;
#[path = "servers/postgres.rs"]
mod servers;
#[path = "postgres/shared.rs"]
mod shared;
