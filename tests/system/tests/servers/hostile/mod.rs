//! What no honest client sends, byte by byte on sockets of the running examples.
//!
//! Whatever is sent, a server answers a client that reads, or closes, within a bounded time and never with 5xx. Nothing
//! of a request is in the page or in a header, nothing leads to another place than the registered one, and afterwards
//! the server still works.

mod case;
mod families;
mod judge;
mod server;
mod values;
