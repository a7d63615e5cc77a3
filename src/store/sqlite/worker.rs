//! A thread with a queue of calls. A caller waits for the answer to each.
//!
//! How the threads answer a group of waiting calls: all reads from one snapshot, all writes with one transaction and
//! one sync.
//!
//! After a commit, the next snapshot drops the pages that a connection has cached. One reader pays that cost once for
//! all callers; several readers would each pay it. The writer's own commits do not drop the pages it has cached, so it
//! answers a read that comes while both threads are idle. While the reader is busy, the writer gets no new read: to
//! wake a second thread for one call takes more processor time than a place in the reader's next group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::thread::JoinHandle;

use futures_channel::oneshot;

use crate::base::measure;
use crate::store::sqlite::error::{SqliteError, SqliteProblem};
use crate::store::sqlite::place::Place;
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
        measure::batch("sqlite", "calls", group.len());
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

/// Answers reads from one snapshot. It contains every write acknowledged before it began. The path is checked after the
/// reads: if the file or its log was replaced, no answer is returned.
pub(super) fn read(session: &mut Session<'_>, mut group: Vec<Job>, place: &Place) {
    // A single call needs no transaction.
    let begun = if group.len() > 1 { session.execute("BEGIN") } else { Ok(()) };
    let outcome = begun.map_err(SqliteError::from).and_then(|()| {
        group.iter_mut().for_each(|job| job.run(session));
        place.check()
    });
    session.roll_back();
    match outcome {
        Ok(()) => group.into_iter().for_each(Job::answer),
        Err(error) => group.into_iter().for_each(|job| job.fail(&error)),
    }
}

/// Answers a group: first the reads, which need not wait for the disk. Returns whether there were writes.
pub(super) fn serve(session: &mut Session<'_>, group: Vec<Job>, place: &Place) -> bool {
    let (writes, reads): (Vec<_>, Vec<_>) = group.into_iter().partition(|job| job.access == Access::Write);
    if !reads.is_empty() {
        read(session, reads, place);
    }
    let wrote = !writes.is_empty();
    if wrote {
        write(session, writes, place);
    }
    wrote
}

/// Writes a group and answers all callers, after the commit or after its failure.
///
/// What is acknowledged is in the file that other processes find at the path.
fn write(session: &mut Session<'_>, mut group: Vec<Job>, place: &Place) {
    match commit(session, &mut group, place) {
        Outcome::Committed => group.into_iter().for_each(Job::answer),
        Outcome::Failed(error) => group.into_iter().for_each(|job| job.fail(&error)),
        Outcome::RolledBack => write_singly(session, group, place),
    }
}

enum Outcome {
    Committed,
    Failed(SqliteError),
    /// One of the writes failed in such a way, for example by a panic, that the others were rolled back as well.
    RolledBack,
}

/// Each write succeeds or fails alone; one that fails does not affect the others.
fn commit(session: &mut Session<'_>, group: &mut [Job], place: &Place) -> Outcome {
    if let Err(error) = place.check_file() {
        return Outcome::Failed(error);
    }
    if let Err(error) = session.execute("BEGIN IMMEDIATE") {
        session.roll_back();
        return Outcome::Failed(error.into());
    }
    for job in group {
        job.run(session);
        if !session.is_in_transaction() {
            return Outcome::RolledBack;
        }
    }
    if let Err(error) = session.execute("COMMIT") {
        session.roll_back();
        return Outcome::Failed(error.into());
    }
    // A file that is in place after the commit was in place during it.
    place.check().map_or_else(Outcome::Failed, |()| Outcome::Committed)
}

/// Gives each write its own transaction, so that a failing one fails alone.
fn write_singly(session: &mut Session<'_>, group: Vec<Job>, place: &Place) {
    let mut group = group.into_iter();
    while let Some(mut job) = group.next() {
        match commit(session, std::slice::from_mut(&mut job), place) {
            // A job that was rolled back has the error that caused it.
            Outcome::Committed | Outcome::RolledBack => job.answer(),
            // A lock or a disk that fails one write fails all: waiting for each of them could take hours.
            Outcome::Failed(error) => {
                job.fail(&error);
                group.by_ref().for_each(|job| job.fail(&error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use futures::executor::block_on;
    use futures::future::join_all;
    use rusqlite::Connection;

    use super::*;
    use crate::store::sqlite::error::SqliteProblem;

    async fn run(worker: &Worker, sql: &'static str) -> Result<usize, SqliteError> {
        worker.ask(Access::Write, move |session| session.statement(sql)?.execute([])).await
    }

    async fn ids(worker: &Worker) -> Result<Vec<i64>, SqliteError> {
        let all = "SELECT id FROM child ORDER BY id";
        worker
            .ask(Access::Write, move |session| session.statement(all)?.query_map([], |row| row.get(0))?.collect())
            .await
    }

    async fn count(worker: &Worker) -> Result<i64, SqliteError> {
        let count = "SELECT count(*) FROM child";
        worker.ask(Access::Read, move |session| session.statement(count)?.query_row([], |row| row.get(0))).await
    }

    const TABLES: &str = "CREATE TABLE parent (id INTEGER PRIMARY KEY);
        CREATE TABLE child (id UNIQUE, bytes, parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
        PRAGMA foreign_keys = ON; PRAGMA max_page_count = 20;";

    /// Returns a writer that begins on a signal.
    fn memory(wait: Receiver<()>) -> Worker {
        let worker = Worker::start("test", 16, move |jobs| {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(TABLES).unwrap();
            let mut session = Session::new(&connection);
            wait.recv().unwrap();
            while let Some(group) = jobs.next_group() {
                serve(&mut session, group, &Place::default());
            }
        });
        worker.unwrap()
    }

    /// Runs statements as one group; returns the answer to each and the ids that are then stored.
    fn group(statements: &[&'static str]) -> (Vec<Result<usize, SqliteProblem>>, Vec<i64>) {
        let (go, wait) = sync_channel::<()>(1);
        let worker = memory(wait);
        let asked = join_all(statements.iter().map(|sql| run(&worker, sql)));
        let answers = block_on(async { futures::join!(asked, async { go.send(()).unwrap() }).0 });
        let answers = answers.into_iter().map(|answer| answer.map_err(|error| error.problem())).collect();
        (answers, block_on(ids(&worker)).unwrap())
    }

    const ONE: &str = "INSERT INTO child (id) VALUES (1)";
    const TWO: &str = "INSERT INTO child (id) VALUES (2)";

    #[test]
    fn a_statement_that_fails_leaves_the_others_of_its_group() {
        let (answers, stored) = group(&[ONE, ONE, "SELECT nothing FROM nowhere", TWO]);
        assert_eq!(answers, [Ok(1), Err(SqliteProblem::Refused), Err(SqliteProblem::Refused), Ok(1)]);
        assert_eq!(stored, [1, 2]);
    }

    #[test]
    fn a_full_disk_fails_the_write_that_met_it_and_no_other() {
        let (answers, stored) = group(&[ONE, "INSERT INTO child (id, bytes) VALUES (3, zeroblob(200000))", TWO]);
        assert_eq!(answers, [Ok(1), Err(SqliteProblem::Full), Ok(1)]);
        assert_eq!(stored, [1, 2]);
    }

    #[test]
    fn a_commit_that_fails_fails_everybody_and_stores_nothing() {
        let (answers, stored) = group(&[ONE, "INSERT INTO child (id, parent) VALUES (3, 9)", TWO]);
        assert_eq!(answers, [Err(SqliteProblem::Refused); 3]);
        assert_eq!(stored, Vec::<i64>::new());
    }

    #[test]
    fn who_reads_hears_nothing_of_the_writes_beside_it() {
        let (go, wait) = sync_channel::<()>(1);
        let worker = memory(wait);
        let fails = "INSERT INTO child (id, parent) VALUES (3, 9)";
        let asked = async { futures::join!(run(&worker, ONE), run(&worker, fails), count(&worker)) };
        let (one, fails, counted) = block_on(async { futures::join!(asked, async { go.send(()).unwrap() }).0 });
        assert_eq!((one.is_err(), fails.is_err(), counted.unwrap()), (true, true, 0));
        assert_eq!(block_on(run(&worker, ONE)).unwrap(), 1);
        assert_eq!(block_on(count(&worker)).unwrap(), 1);
    }

    #[test]
    fn a_call_that_panics_fails_alone_and_stores_nothing() {
        let (go, wait) = sync_channel::<()>(1);
        let worker = memory(wait);
        let panics = worker.ask(Access::Write, |session| -> rusqlite::Result<usize> {
            let _ = session.statement("INSERT INTO child (id) VALUES (3)")?.execute([])?;
            panic!("a call that fails");
        });
        let asked = async { futures::join!(run(&worker, ONE), panics, run(&worker, TWO)) };
        let (one, panics, two) = block_on(async { futures::join!(asked, async { go.send(()).unwrap() }).0 });
        assert_eq!((one.unwrap(), two.unwrap()), (1, 1));
        let error = panics.unwrap_err();
        assert_eq!(error.problem(), SqliteProblem::Panicked);
        assert!(!error.is_transient());
        assert_eq!(block_on(ids(&worker)).unwrap(), [1, 2]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_goes_during_a_commit_takes_no_acknowledged_write_with_it() {
        let folder = crate::store::sqlite::file::TemporaryFolder::create().unwrap();
        let path = folder.file();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(TABLES).unwrap();
        let place = Place::of(&path).unwrap();
        let worker = Worker::start("test", 16, move |jobs| {
            let mut session = Session::new(&connection);
            while let Some(group) = jobs.next_group() {
                serve(&mut session, group, &place);
            }
        });
        let worker = worker.unwrap();
        assert_eq!(block_on(run(&worker, ONE)).unwrap(), 1);
        let removes = move |_: &mut Session<'_>| {
            std::fs::remove_file(&path).unwrap();
            Ok(())
        };
        let error = block_on(worker.ask(Access::Write, removes)).unwrap_err();
        assert_eq!(error.problem(), SqliteProblem::Replaced);
    }
}
