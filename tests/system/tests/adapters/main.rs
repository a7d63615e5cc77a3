//! Both example services answer what the core answers, octet by octet, to the same octets on a socket.

mod direct;
mod machine;
mod resource;
mod routes;
mod trio;
mod trouble;
