//! The store on PostgreSQL, on servers that the tests start and stop.

mod confirm;
mod connector;
mod cost;
mod crash;
mod kit;
mod limits;
pub(crate) mod load;
mod opening;
mod operator;
mod pooler;
pub(crate) mod several_servers;
mod shared;
mod stuck;
mod unreadable;
