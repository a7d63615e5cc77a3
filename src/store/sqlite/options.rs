//! How a file is opened.

use std::time::Duration;

use crate::record::WRITE_BOUND;
use crate::store::sqlite::worker::GROUP;

const LONGEST_QUEUE: usize = 65_536;
const LONGEST_BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const _: () =
    assert!(longest_wait().as_secs() < WRITE_BOUND.as_secs(), "the last write of a full queue would come too late");
/// What SQLite counts in kibibytes with 32 bits, on every machine.
const LARGEST_CACHE: usize = 1 << 31;

/// Settings with which a [`SqliteStore`](crate::SqliteStore) is opened; the defaults suit most servers.
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteOptions {
    pub(super) queue: usize,
    pub(super) cache: usize,
    pub(super) busy_timeout: Duration,
    pub(super) must_exist: bool,
}

impl SqliteOptions {
    /// The defaults: 4096 calls, 16 MiB, 5 seconds, and a file that is made if it is missing.
    pub const fn new() -> Self {
        Self { queue: 4096, cache: 16 << 20, busy_timeout: Duration::from_secs(5), must_exist: false }
    }

    /// Sets how many reads and how many writes may wait, 1 to 65536; one more is a transient error at once.
    pub fn queue_limit(self, calls: usize) -> Self {
        Self { queue: calls.clamp(1, LONGEST_QUEUE), ..self }
    }

    /// Sets the bytes of memory that the writer has for pages of the file, beside what the operating
    /// system keeps of it; at most 2 GiB.
    pub fn cache_bytes(self, bytes: usize) -> Self {
        Self { cache: bytes.min(LARGEST_CACHE), ..self }
    }

    /// Sets how long a write waits for another process that is writing, at most 10 seconds.
    pub fn busy_timeout(self, timeout: Duration) -> Self {
        Self { busy_timeout: timeout.min(LONGEST_BUSY_TIMEOUT), ..self }
    }

    /// Refuses a path at which there is no file, such as in an administrator's command.
    pub const fn must_exist(self) -> Self {
        Self { must_exist: true, ..self }
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The wait of the last write in the longest queue, if each group waits as long as it may for other
/// processes, the one that is being written too.
const fn longest_wait() -> Duration {
    let mut wait = LONGEST_BUSY_TIMEOUT;
    let mut ahead = LONGEST_QUEUE;
    while ahead > 0 {
        wait = wait.saturating_add(LONGEST_BUSY_TIMEOUT);
        ahead = ahead.saturating_sub(GROUP);
    }
    wait
}
