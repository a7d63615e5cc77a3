//! The thread that reads: all waiting callers are answered from one snapshot.
//!
//! After a commit, the next snapshot drops the pages that a connection has cached. One reader pays that cost once for
//! all callers; several readers would each pay it.

use crate::store::sqlite::error::SqliteError;
use crate::store::sqlite::place::Place;
use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::Job;

/// Answers a group of calls, all made before the snapshot. The snapshot contains all writes acknowledged before, since
/// it is of the file that everyone else writes. The place is checked last, so that no answer comes from a file or a log
/// that others have removed.
pub(super) fn read(session: &mut Session<'_>, mut group: Vec<Job>, place: &Place) {
    let outcome = run(session, &mut group).and_then(|()| place.check());
    session.roll_back();
    match outcome {
        Ok(()) => group.into_iter().for_each(Job::answer),
        Err(error) => group.into_iter().for_each(|job| job.fail(&error)),
    }
}

/// A single call needs no transaction.
fn run(session: &mut Session<'_>, group: &mut [Job]) -> Result<(), SqliteError> {
    if group.len() > 1 {
        session.execute("BEGIN")?;
    }
    group.iter_mut().for_each(|job| job.run(session));
    Ok(())
}
