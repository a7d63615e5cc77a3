//! A map in shards, hashed by the random bytes of the ids themselves.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard};

const SHARDS: usize = 1024;

type Rows<R> = HashMap<[u8; 16], R, BuildHasherDefault<IdHasher>>;

pub(super) struct Table<R>(Box<[Mutex<Rows<R>>]>);

impl<R> Table<R> {
    pub(super) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    pub(super) fn shard(&self, id: &[u8; 16]) -> MutexGuard<'_, Rows<R>> {
        let number = usize::from(u16::from_le_bytes([id[14], id[15]])) % SHARDS;
        self.0[number].lock().expect("no thread panics")
    }
}

#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = u64::from_le_bytes(bytes[4..12].try_into().expect("an id"));
    }

    /// The length prefix of the bytes is always the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
