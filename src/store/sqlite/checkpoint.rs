//! Copies the write-ahead log into the file while the writer continues.
//!
//! A checkpoint in the middle of a commit would stop all writes for tens of milliseconds, so a separate thread makes
//! them. While the thread waits for the disk, the writer continues. So the thread repeatedly copies what was added in
//! the meantime, each time less. The log restarts only when all of it is copied: the writer copies the last pages
//! itself, between two groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use crate::store::sqlite::error::SqliteError;
use crate::store::sqlite::file;
use crate::store::sqlite::session::Session;

/// How many pages the log must have before it is copied. In a longer log, more pages were written several times but are
/// copied once.
const LONG: i64 = 4096;
/// Further pages after which the copy is tried again.
const MORE: i64 = 256;
/// How many pages the writer copies itself, at most.
const SHORT_REST: i64 = 512;
/// How often the thread copies in a row.
const PASSES: usize = 16;
/// How long it waits if a reader blocks it.
const FOR_READERS: Duration = Duration::from_millis(1);

/// Copies as far as readers and other processes allow.
const COPY: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// Copies nothing and returns the state of the log.
const STATE: &str = "PRAGMA wal_checkpoint(NOOP)";

/// The thread that copies, and when it must.
pub(super) struct Checkpoints {
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    is_copying: Arc<AtomicBool>,
    /// The length that the log must reach before the next copy.
    next: i64,
}

impl Checkpoints {
    pub(super) fn start(connection: Connection, busy_timeout: Duration) -> Result<Self, SqliteError> {
        let (requests, asked) = sync_channel(1);
        let is_copying = Arc::new(AtomicBool::new(false));
        let copying = is_copying.clone();
        let copy = move || {
            file::wait_for_locks(busy_timeout);
            let mut session = Session::new(&connection);
            while asked.recv().is_ok() {
                // If it fails, the log is longer for a while; a later write reports the failure.
                let _ = copy_all(&mut session);
                copying.store(false, Ordering::Release);
            }
        };
        let thread = thread::Builder::new().name("grantor-sqlite-checkpoint".to_owned()).spawn(copy)?;
        Ok(Self { requests: Some(requests), thread: Some(thread), is_copying, next: LONG })
    }

    /// Has the log copied if it is long enough, after a group was written.
    pub(super) fn after_commit(&mut self, session: &mut Session<'_>) {
        let Ok(log_now) = log(session, STATE) else { return };
        if log_now.pages < LONG {
            self.next = LONG;
        }
        if log_now.pages < self.next || self.is_copying.load(Ordering::Acquire) {
            return;
        }
        self.next = log_now.pages + MORE;
        if log_now.rest() <= SHORT_REST {
            let _ = log(session, COPY);
        } else if let Some(requests) = &self.requests {
            self.is_copying.store(true, Ordering::Release);
            // At most one request is pending, so there is room.
            let _ = requests.try_send(());
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn copy_all(session: &mut Session<'_>) -> rusqlite::Result<()> {
    let mut copied = 0;
    for _ in 0..PASSES {
        log(session, COPY)?;
        let log_now = log(session, STATE)?;
        if log_now.rest() == 0 {
            break;
        }
        if log_now.copied == copied {
            thread::sleep(FOR_READERS);
        }
        copied = log_now.copied;
    }
    Ok(())
}

/// Pages in the log, and how many of them are in the file as well.
struct Log {
    pages: i64,
    copied: i64,
}

impl Log {
    const fn rest(&self) -> i64 {
        self.pages.saturating_sub(self.copied)
    }
}

fn log(session: &mut Session<'_>, sql: &'static str) -> rusqlite::Result<Log> {
    session.statement(sql)?.query_row([], |row| Ok(Log { pages: row.get(1)?, copied: row.get(2)? }))
}
