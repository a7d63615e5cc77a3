//! Both example services answer what the core answers, octet by octet, to the same octets on a socket.

#![expect(clippy::duplicate_mod, reason = "each example has its own copy of what the examples share")]

#[path = "../examples/actix/main.rs"]
#[expect(dead_code, reason = "the servers are started by the tests")]
mod actix;
#[path = "adapters/authorization.rs"]
mod authorization;
#[path = "../examples/axum/main.rs"]
#[expect(dead_code, reason = "the servers are started by the tests")]
mod axum;
#[path = "adapters/consent.rs"]
mod consent;
#[path = "../examples/demo/mod.rs"]
#[expect(dead_code, reason = "the servers are started by the tests")]
mod demo;
#[path = "adapters/direct.rs"]
mod direct;
#[path = "adapters/exchange.rs"]
mod exchange;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
mod intercepted;
#[path = "adapters/machine.rs"]
mod machine;
#[path = "adapters/resource.rs"]
mod resource;
#[path = "adapters/routes.rs"]
mod routes;
#[path = "adapters/trio.rs"]
mod trio;
#[path = "adapters/trouble.rs"]
mod trouble;
#[path = "protocol/world.rs"]
#[expect(dead_code, reason = "the fixture has more than these tests need")]
mod world;
