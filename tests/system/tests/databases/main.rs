//! Stores on servers: PostgreSQL and Redis, started by the tests.

mod over_stores;
mod postgres;
mod redis;
