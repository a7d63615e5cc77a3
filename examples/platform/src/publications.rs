//! The time of each application's first approval, for its consent page.

use grantor::{ClientId, Clock as _, SystemClock, Timestamp};
use rusqlite::OptionalExtension as _;
use tracing::warn;

use crate::database::{Database, DatabaseError};

/// Records that an application was approved now, unless it was approved before.
///
/// A failure is only logged: the approval remains valid.
pub(crate) async fn note(database: &Database, id: &ClientId) {
    let row = (id.to_string(), SystemClock.now().seconds());
    let insert = "INSERT OR IGNORE INTO publications VALUES (?1, ?2)";
    let written = database.call(move |connection| connection.execute(insert, row).map(drop)).await;
    if let Err(error) = written {
        warn!(client = %id, "the first approval is not recorded: {error}");
    }
}

/// Returns when the application was first approved.
pub(crate) async fn since(database: &Database, id: &ClientId) -> Result<Option<Timestamp>, DatabaseError> {
    let id = id.to_string();
    let query = "SELECT since FROM publications WHERE client_id = ?1";
    let read = |connection: &mut rusqlite::Connection| connection.query_row(query, [id], |row| row.get(0)).optional();
    Ok(database.call(read).await?.map(Timestamp::from_seconds))
}
