//! What no honest client sends, octet by octet on sockets of the running examples.
//!
//! Whatever comes, a server answers a client that reads, or closes, within a bounded time and never with 5xx; nothing of a
//! request is in the page or in a header, nothing leads to another place than the registered one, and
//! afterwards the server still does its work.

mod case;
mod families;
mod judge;
mod server;
mod values;
