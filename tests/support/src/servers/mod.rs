//! Servers of databases, each in a process and a folder of its own.

pub mod postgres;
pub mod redis;
