//! Reads. All callers share one connection, and do not wait for each other's answers.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_postgres::Row;

use crate::store::postgres::error::{self, PostgresError, PostgresProblem};
use crate::store::postgres::keeper::State;
use crate::store::postgres::link::Link;
use crate::store::postgres::statements::{Parameter, Read, query};

/// How often a read is sent if its connection is lost.
const ATTEMPTS: u32 = 2;

/// Returns the rows of one statement, none if the rows of the table are on no list. The statement is sent once more if the
/// connection is lost.
pub(super) async fn rows(
    states: &watch::Receiver<State>,
    read: Read,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, PostgresError> {
    let mut states = states.clone();
    let mut attempt = 1;
    loop {
        let link = up(&mut states).await?;
        let Ok(_place) = link.places.try_acquire() else { return Err(PostgresProblem::QueueFull.into()) };
        let Some(statement) = link.reads.of(read) else { return Ok(Vec::new()) };
        match query(&link.reader, statement, parameters).await {
            Ok(rows) => return Ok(rows),
            Err(error) if error::ends_connection(&error) => {
                link.watch.lost.notify_one();
                if attempt == ATTEMPTS {
                    return Err(error.into());
                }
                attempt += 1;
                replaced(&mut states, &link).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn up(states: &mut watch::Receiver<State>) -> Result<Arc<Link>, PostgresError> {
    let opening = |state: &State| matches!(state, State::Opening);
    let Ok(state) = states.wait_for(|state| !opening(state)).await.map(|state| state.clone()) else {
        return Err(PostgresProblem::Stopped.into());
    };
    match state {
        State::Up(link) => Ok(link),
        State::Down(failure) => Err(failure),
        State::Opening => Err(PostgresProblem::Unanswered.into()),
    }
}

/// Waits until that link is no longer the one in use.
async fn replaced(states: &mut watch::Receiver<State>, link: &Arc<Link>) -> Result<(), PostgresError> {
    let other = |state: &State| !matches!(state, State::Up(own) if Arc::ptr_eq(own, link));
    states.wait_for(other).await.map(|_| ()).map_err(|_| PostgresProblem::Stopped.into())
}
