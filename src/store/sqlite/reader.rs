//! The one thread that reads: everybody who waits is answered from one snapshot.
//!
//! After a commit the next snapshot drops the pages that a connection has cached. One reader pays that
//! once for everybody, several would pay it each.

use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::Job;

/// Answers a group, all of which asked before the snapshot is taken: what was acknowledged before is in it.
pub(super) fn read(session: &mut Session<'_>, group: Vec<Job>) {
    let shares = group.len() > 1;
    if let Err(error) = if shares { session.execute("BEGIN") } else { Ok(()) } {
        session.roll_back();
        let error = error.into();
        return group.into_iter().for_each(|job| job.fail(&error));
    }
    for mut job in group {
        job.run(session);
        job.answer();
    }
    session.roll_back();
}
