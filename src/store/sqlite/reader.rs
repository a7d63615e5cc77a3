//! The one thread that reads: everybody who waits is answered from one snapshot.
//!
//! After a commit the next snapshot drops the pages that a connection has cached. One reader pays that
//! once for everybody, several would pay it each.

use crate::store::sqlite::error::SqliteError;
use crate::store::sqlite::place::Place;
use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::Job;

/// Answers a group, all of which asked before the snapshot is taken: what was acknowledged before is in it,
/// since it is of the file that everybody else writes.
pub(super) fn read(session: &mut Session<'_>, group: Vec<Job>, place: &Place) {
    if let Err(error) = begin(session, &group, place) {
        session.roll_back();
        return group.into_iter().for_each(|job| job.fail(&error));
    }
    for mut job in group {
        job.run(session);
        job.answer();
    }
    session.roll_back();
}

/// A call alone needs no transaction.
fn begin(session: &mut Session<'_>, group: &[Job], place: &Place) -> Result<(), SqliteError> {
    place.check_file()?;
    if group.len() > 1 {
        session.execute("BEGIN")?;
    }
    Ok(())
}
