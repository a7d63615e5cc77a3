//! The thin servers, and all example servers, over sockets.

mod adapters;
mod fapi;
mod hostile;
mod proxies;
mod soak;
