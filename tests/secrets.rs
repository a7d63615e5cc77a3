//! Secrets stand in the one answer that carries each, and nowhere else: not in logs, events, errors, `Debug`
//! output, other answers, or anything that a store keeps.
//!
//! PostgreSQL and Redis are started and ended here: `cargo test --all-features --test secrets -- --ignored`.

#[path = "secrets/connections.rs"]
mod connections;
#[path = "secrets/exposure.rs"]
mod exposure;
#[path = "secrets/flow.rs"]
mod flow;
#[path = "sqlite/folder.rs"]
mod folder;
#[path = "secrets/forms.rs"]
mod forms;
#[path = "secrets/logs.rs"]
mod logs;
#[path = "secrets/misplaced.rs"]
mod misplaced;
#[expect(dead_code, reason = "other tests do more with it")]
#[path = "servers/postgres.rs"]
mod postgres;
#[expect(dead_code, reason = "other tests do more with it")]
#[path = "servers/redis.rs"]
mod redis;
#[path = "secrets/stores.rs"]
mod stores;
#[path = "secrets/types.rs"]
mod types;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;
