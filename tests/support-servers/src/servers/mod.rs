//! Servers of databases, each in its own process and folder.

pub mod etcd;
pub mod pgbouncer;
pub mod postgres;
pub mod redis;
