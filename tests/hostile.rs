//! What no honest client sends, octet by octet on sockets of the running examples.
//!
//! Whatever comes, a server answers a client that reads, or closes, within a bounded time and never with 5xx; nothing of a
//! request is in the page or in a header, nothing leads to another place than the registered one, and
//! afterwards the server still does its work.

#[path = "hostile/answer.rs"]
mod answer;
#[path = "hostile/case.rs"]
mod case;
#[path = "hostile/exchange.rs"]
mod exchange;
#[path = "hostile/families/mod.rs"]
mod families;
#[path = "hostile/judge.rs"]
mod judge;
#[path = "hostile/request.rs"]
mod request;
#[path = "hostile/server.rs"]
mod server;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
mod started;
#[path = "hostile/values.rs"]
mod values;
