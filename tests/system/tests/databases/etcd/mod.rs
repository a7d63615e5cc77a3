//! A store on etcd, over three members that are started and ended here: `cargo test --workspace --all-features --test
//! databases etcd -- --ignored`. It is small enough to be copied, and what the guide `writing_a_store` says of etcd.

mod cluster;
mod killed;
mod kit;
mod row;
pub(crate) mod store;
