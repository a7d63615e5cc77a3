//! The one thread that writes: everybody who waits shares one transaction and one sync.

use crate::store::sqlite::error::SqliteError;
use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::Job;

/// Writes a group and answers everybody, after the commit or after it failed.
pub(super) fn write(session: &mut Session<'_>, mut group: Vec<Job>) {
    match commit(session, &mut group) {
        Outcome::Committed => group.into_iter().for_each(Job::answer),
        Outcome::Failed(error) => group.into_iter().for_each(|job| job.fail(&error)),
        Outcome::RolledBack => write_singly(session, group),
    }
}

enum Outcome {
    Committed,
    Failed(SqliteError),
    /// One of the writes met trouble, such as a full disk, for which SQLite gave the others up as well.
    RolledBack,
}

/// Each write is judged on its own; one that fails leaves the others as they are.
fn commit(session: &mut Session<'_>, group: &mut [Job]) -> Outcome {
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
    match session.execute("COMMIT") {
        Ok(()) => Outcome::Committed,
        Err(error) => {
            session.roll_back();
            Outcome::Failed(error.into())
        }
    }
}

/// Gives each write a transaction of its own, so that the one in trouble fails alone.
fn write_singly(session: &mut Session<'_>, group: Vec<Job>) {
    for mut job in group {
        match commit(session, std::slice::from_mut(&mut job)) {
            // What was rolled back holds the error for which it was.
            Outcome::Committed | Outcome::RolledBack => job.answer(),
            Outcome::Failed(error) => job.fail(&error),
        }
    }
}
