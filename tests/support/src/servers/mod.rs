//! Servers of databases, each in its own process and folder.

pub mod postgres;
pub mod redis;
