//! Both example services answer what the core answers, byte by byte, to the same bytes on a socket;
//! and each adapter serves and stops as its framework does.

mod authorization;
mod bound;
mod consent;
mod devices;
mod direct;
mod documents;
mod hosts;
pub(crate) mod interaction;
mod machine;
mod open_clients;
mod registration;
mod resource;
mod routes;
mod serving;
mod sessions;
mod trio;
mod trouble;
