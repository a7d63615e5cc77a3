//! Stores on servers: PostgreSQL, Redis and etcd, started by the tests. What they keep has no secret in it.

mod book;
mod etcd;
mod over_stores;
mod postgres;
mod redis;
mod secrets;
