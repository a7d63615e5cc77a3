//! The settings of a SQLite store.

use std::time::Duration;

use crate::model::WRITE_BOUND;
use crate::store::sqlite::worker::GROUP;

const LONGEST_QUEUE: usize = 65_536;
const LONGEST_BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const _: () =
    assert!(longest_wait().as_secs() < WRITE_BOUND.as_secs(), "the last write of a full queue would come too late");
/// A cache of this size can be set on every machine; SQLite counts it in kibibytes with 32 bits.
const LARGEST_CACHE: usize = 1 << 31;

/// Settings for opening a [`SqliteStore`](crate::SqliteStore). The defaults suit most servers.
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteOptions {
    pub(super) queue: usize,
    pub(super) cache: usize,
    pub(super) busy_timeout: Duration,
    pub(super) must_exist: bool,
}

impl SqliteOptions {
    /// Creates the default settings: 4096 calls, 16 MiB, 5 seconds, and a file that is created if it is missing.
    pub const fn new() -> Self {
        Self { queue: 4096, cache: 16 << 20, busy_timeout: Duration::from_secs(5), must_exist: false }
    }

    /// Sets how many reads and how many writes may wait, 1 to 65536. Any further call fails at once with a transient
    /// error.
    pub fn queue_limit(self, calls: usize) -> Self {
        Self { queue: calls.clamp(1, LONGEST_QUEUE), ..self }
    }

    /// Sets the size of the writer's page cache in bytes, at most 2 GiB. The operating system caches the file as well.
    pub fn cache_bytes(self, bytes: usize) -> Self {
        Self { cache: bytes.min(LARGEST_CACHE), ..self }
    }

    /// Sets how long a write waits for another process that is writing, at most 10 seconds.
    pub fn busy_timeout(self, timeout: Duration) -> Self {
        Self { busy_timeout: timeout.min(LONGEST_BUSY_TIMEOUT), ..self }
    }

    /// Refuses a path without a file, for example in an administrator's command.
    pub const fn must_exist(self) -> Self {
        Self { must_exist: true, ..self }
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns how long the last write in the longest queue waits, if each group, including the one in progress, waits as
/// long as it may for other processes.
const fn longest_wait() -> Duration {
    let mut wait = LONGEST_BUSY_TIMEOUT;
    let mut ahead = LONGEST_QUEUE;
    while ahead > 0 {
        wait = wait.saturating_add(LONGEST_BUSY_TIMEOUT);
        ahead = ahead.saturating_sub(GROUP);
    }
    wait
}
