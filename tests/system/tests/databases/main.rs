//! Stores on servers: PostgreSQL and Redis, started by the tests. What they keep has no secret in it.

mod over_stores;
mod postgres;
mod redis;
mod secrets;
