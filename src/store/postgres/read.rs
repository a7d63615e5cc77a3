//! Reads: all callers share one connection, on which questions do not wait for each other's answers.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_postgres::{Row, Statement};

use crate::codec::DecodeError;
use crate::store::StoreError;
use crate::store::postgres::columns::Id;
use crate::store::postgres::error::{self, PostgresError, PostgresProblem};
use crate::store::postgres::keeper::State;
use crate::store::postgres::link::Link;
use crate::store::postgres::parameters::Parameter;
use crate::store::postgres::query::query;
use crate::store::postgres::statements::Reads;
use crate::store::record::Record;

/// How often a read is sent whose connection was lost.
const ATTEMPTS: u32 = 2;

/// Answers the rows of one statement; it is sent once more if the connection is lost meanwhile.
pub(super) async fn rows(
    states: &watch::Receiver<State>,
    statement: fn(&Reads) -> &Statement,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, PostgresError> {
    let mut states = states.clone();
    let mut attempt = 1;
    loop {
        let link = up(&mut states).await?;
        let Ok(_place) = link.places.try_acquire() else { return Err(PostgresProblem::QueueFull.into()) };
        match query(&link.reader, statement(&link.reads), parameters).await {
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

/// Reads the first column of each row as told.
pub(super) fn decoded<T>(
    rows: &[Row],
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
) -> Result<Vec<Arc<T>>, StoreError> {
    rows.iter().map(|row| Ok(Arc::new(decode(octets(row)?)?))).collect()
}

/// Reads the record of each row of a list, which has its id as the second column.
pub(super) fn records<R: Record>(rows: &[Row]) -> Result<Vec<Arc<R>>, StoreError> {
    let one = |row: &Row| {
        let Id(id) = row.try_get(1).map_err(PostgresError::from)?;
        record(&id, row)
    };
    rows.iter().map(one).collect()
}

/// Reads the record of that id, and names it if it cannot be read.
pub(super) fn record<R: Record>(id: &[u8; 16], row: &Row) -> Result<Arc<R>, StoreError> {
    R::decode(octets(row)?).map(Arc::new).map_err(|error| StoreError::unreadable(id, error))
}

fn octets(row: &Row) -> Result<&[u8], PostgresError> {
    Ok(row.try_get(0)?)
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
