//! Both example services answer what the core answers, octet by octet, to the same octets on a socket.

mod authorization;
mod consent;
mod direct;
mod documents;
mod machine;
mod open_clients;
mod registration;
mod resource;
mod routes;
mod trio;
mod trouble;
