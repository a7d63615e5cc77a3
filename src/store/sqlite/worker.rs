//! A thread with a queue of calls. A caller waits for the answer to each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;

use crate::store::sqlite::error::{SqliteError, SqliteProblem};
use crate::store::sqlite::session::Session;

/// The most calls that share one transaction, so that none waits long for the others.
pub(super) const GROUP: usize = 256;

/// A thread that finishes its queue and ends when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Option<SyncSender<Job>>,
    is_idle: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(super) fn start(
        name: &str,
        queue: usize,
        work: impl FnOnce(&Jobs) + Send + 'static,
    ) -> Result<Self, SqliteError> {
        let (sender, receiver) = sync_channel(queue);
        let is_idle = Arc::new(AtomicBool::new(false));
        let jobs = Jobs { queue: receiver, is_idle: is_idle.clone() };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&jobs))?;
        Ok(Self { queue: Some(sender), is_idle, thread: Some(thread) })
    }

    /// Returns whether the thread has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::Relaxed)
    }

    /// Returns whether the thread has nothing to do; `true` to one caller at a time.
    pub(super) fn take_idle(&self) -> bool {
        self.is_idle.swap(false, Ordering::Relaxed)
    }

    /// Has the call run in a transaction, and returns its answer. It may be run again in another transaction.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        access: Access,
        call: impl Fn(&mut Session<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let (answer, answered) = oneshot::channel();
        let call = Box::new(Asked { call, answer, result: None });
        let queue = self.queue.as_ref().ok_or(SqliteProblem::Stopped)?;
        // No read that comes later is to wait behind this call.
        self.is_idle.store(false, Ordering::Relaxed);
        queue.try_send(Job { access, call }).map_err(|error| match error {
            TrySendError::Full(_) => SqliteProblem::QueueFull,
            TrySendError::Disconnected(_) => SqliteProblem::Stopped,
        })?;
        answered.await.unwrap_or_else(|_| Err(SqliteProblem::Stopped.into()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else { return };
        // A future that is woken by an answer may drop the store in the thread that sent the answer.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}

/// The receiving end of the queue.
pub(super) struct Jobs {
    queue: Receiver<Job>,
    is_idle: Arc<AtomicBool>,
}

impl Jobs {
    /// Waits for a call and returns it with those queued behind it; `None` when the queue is closed.
    pub(super) fn next_group(&self) -> Option<Vec<Job>> {
        let first = match self.queue.try_recv() {
            Ok(first) => first,
            Err(_) => self.wait()?,
        };
        let mut group = vec![first];
        group.extend(self.queue.try_iter().take(GROUP - 1));
        Some(group)
    }

    fn wait(&self) -> Option<Job> {
        self.is_idle.store(true, Ordering::Relaxed);
        let first = self.queue.recv().ok();
        self.is_idle.store(false, Ordering::Relaxed);
        first
    }
}

/// Whether a call may change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A call and the caller that waits for it.
pub(super) struct Job {
    pub(super) access: Access,
    call: Box<dyn Waiting>,
}

impl Job {
    /// Runs the call and keeps the result. A failure may have ended the transaction.
    pub(super) fn run(&mut self, session: &mut Session<'_>) {
        self.call.run(session);
    }

    /// Gives the result to the caller, if it still waits.
    pub(super) fn answer(self) {
        self.finish(None);
    }

    /// Answers the caller that the call failed.
    pub(super) fn fail(self, error: &SqliteError) {
        self.finish(Some(error));
    }

    fn finish(self, error: Option<&SqliteError>) {
        // Waking a future runs code of its executor. If that panics, the other callers must not be affected.
        let _ = catch_unwind(AssertUnwindSafe(|| self.call.finish(error)));
    }
}

trait Waiting: Send {
    fn run(&mut self, session: &mut Session<'_>);
    fn finish(self: Box<Self>, error: Option<&SqliteError>);
}

struct Asked<C, T> {
    call: C,
    answer: oneshot::Sender<Result<T, SqliteError>>,
    result: Option<Result<T, SqliteError>>,
}

impl<T: Send, C: Fn(&mut Session<'_>) -> rusqlite::Result<T> + Send> Waiting for Asked<C, T> {
    fn run(&mut self, session: &mut Session<'_>) {
        let done = catch_unwind(AssertUnwindSafe(|| (self.call)(session)));
        self.result = Some(match done {
            Ok(result) => result.map_err(SqliteError::from),
            Err(_) => {
                // This undoes what was written before the panic, and what the others of the group wrote.
                session.roll_back();
                Err(SqliteProblem::Panicked.into())
            }
        });
    }

    fn finish(self: Box<Self>, error: Option<&SqliteError>) {
        let result = match error {
            Some(error) => Err(error.clone()),
            None => self.result.unwrap_or_else(|| Err(SqliteProblem::Stopped.into())),
        };
        // The caller's future may have been dropped.
        let _ = self.answer.send(result);
    }
}
