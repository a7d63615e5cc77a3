//! How the threads answer a group of waiting calls: all reads from one snapshot, all writes with one transaction and
//! one sync.
//!
//! After a commit, the next snapshot drops the pages that a connection has cached. One reader pays that cost once for
//! all callers; several readers would each pay it. The writer's own commits do not drop the pages it has cached, so it
//! answers a read that comes while both threads are idle. While the reader is busy, the writer gets no new read: to
//! wake a second thread for one call takes more processor time than a place in the reader's next group.

use crate::store::sqlite::error::SqliteError;
use crate::store::sqlite::place::Place;
use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::{Access, Job};

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
    use crate::store::sqlite::worker::Worker;

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
