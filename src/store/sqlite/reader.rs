//! The one thread that reads: everybody who waits is answered from one snapshot.
//!
//! After a commit the next snapshot drops the pages that a connection has cached. One reader pays that
//! once for everybody, several would pay it each.

use crate::store::sqlite::error::SqliteError;
use crate::store::sqlite::place::Place;
use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::Job;

/// Answers a group, all of which asked before the snapshot is taken: what was acknowledged before is in it,
/// since it is of the file that everybody else writes. That is looked at last, so that nothing is answered
/// from a file or a log that others have put aside.
pub(super) fn read(session: &mut Session<'_>, mut group: Vec<Job>, place: &Place) {
    let outcome = run(session, &mut group).and_then(|()| place.check());
    session.roll_back();
    match outcome {
        Ok(()) => group.into_iter().for_each(Job::answer),
        Err(error) => group.into_iter().for_each(|job| job.fail(&error)),
    }
}

/// A call alone needs no transaction.
fn run(session: &mut Session<'_>, group: &mut [Job]) -> Result<(), SqliteError> {
    if group.len() > 1 {
        session.execute("BEGIN")?;
    }
    group.iter_mut().for_each(|job| job.run(session));
    Ok(())
}
