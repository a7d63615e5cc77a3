//! Moving the write-ahead log into the file, beside the writer.
//!
//! A checkpoint in the middle of a commit would stop everybody for tens of milliseconds, so a thread of
//! its own makes them. While it waits for the disk the writer goes on, so it copies again and again what
//! came meanwhile, each time less. A log begins anew only when all of it is copied: the writer copies the
//! last pages itself, between two groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use crate::store::sqlite::error::SqliteError;
use crate::store::sqlite::session::Session;

/// Pages of the log from which on it is copied: the more at once, the more often a page was overwritten
/// in the log and is copied once.
const LONG: i64 = 4096;
/// Pages after which it is tried again.
const MORE: i64 = 256;
/// Pages that the writer copies itself.
const SHORT_REST: i64 = 512;
/// Times that the thread copies in a row.
const PASSES: usize = 16;
/// How long it waits where a reader holds it up.
const FOR_READERS: Duration = Duration::from_millis(1);

/// Copies as far as readers and other processes let it.
const COPY: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// Copies nothing and tells how things are.
const LOOK: &str = "PRAGMA wal_checkpoint(NOOP)";

/// The thread that copies, and when it is asked to.
pub(super) struct Checkpoints {
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    is_copying: Arc<AtomicBool>,
    /// The length of the log from which on something is to be done.
    next: i64,
}

impl Checkpoints {
    pub(super) fn start(connection: Connection) -> Result<Self, SqliteError> {
        let (requests, asked) = sync_channel(1);
        let is_copying = Arc::new(AtomicBool::new(false));
        let copying = is_copying.clone();
        let copy = move || {
            let mut session = Session::new(&connection);
            while asked.recv().is_ok() {
                // If it fails, the log is longer for a while; whoever writes will hear of it.
                let _ = copy_all(&mut session);
                copying.store(false, Ordering::Release);
            }
        };
        let thread = thread::Builder::new().name("grantor-sqlite-checkpoint".to_owned()).spawn(copy)?;
        Ok(Self { requests: Some(requests), thread: Some(thread), is_copying, next: LONG })
    }

    /// Looks after the log when a group was written.
    pub(super) fn after_commit(&mut self, session: &mut Session<'_>) {
        let Ok(log_now) = log(session, LOOK) else { return };
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
            // One request at a time is out, so there is room.
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
        let log_now = log(session, LOOK)?;
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
