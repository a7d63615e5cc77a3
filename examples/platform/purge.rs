//! Removes what is over; the database would only grow without it.

use std::time::Duration;

use grantor::{AuthorizationServer, Clock as _, SystemClock};
use tracing::error;

use crate::database::{Database, DatabaseError};

const PAUSE: Duration = Duration::from_secs(60);
/// Records looked at in one step.
const STEP: usize = 10_000;

pub(crate) async fn now_and_then(server: AuthorizationServer, database: Database) {
    loop {
        tokio::time::sleep(PAUSE).await;
        if let Err(error) = sessions(&database).await {
            error!("sessions are not removed: {error}");
        }
        loop {
            match server.purge_expired(STEP).await {
                Ok(purge) if !purge.is_finished() => tokio::task::yield_now().await,
                Ok(_) => break,
                Err(error) => break error!("grants are not removed: {error}"),
            }
        }
    }
}

async fn sessions(database: &Database) -> Result<(), DatabaseError> {
    let now = SystemClock.now().seconds();
    let gone = move |connection: &mut rusqlite::Connection| {
        connection.execute("DELETE FROM sessions WHERE expires <= ?1", [now])?;
        connection.execute("DELETE FROM known_browsers WHERE expires <= ?1", [now]).map(drop)
    };
    database.call(gone).await
}
