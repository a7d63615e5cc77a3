//! Removes expired records. Without it, the database would only grow.

use std::time::Duration;

use grantor::server::PurgeError;
use grantor::{AuthorizationServer, Clock as _, SystemClock};
use tracing::{error, info};

use crate::database::{Database, DatabaseError};

/// Removes them once a minute of the server's clock.
pub(crate) async fn now_and_then(server: AuthorizationServer, database: Database, minute: Duration) {
    loop {
        tokio::time::sleep(minute).await;
        if let Err(error) = sessions(&database).await {
            error!("sessions are not removed: {error}");
        }
        let (removed, outcome) = demo::purge::once(&server).await;
        match outcome {
            Ok(()) => {}
            Err(error @ PurgeError::ClockAhead { .. }) => {
                error!("{error} (--confirm-clock calls it once, at the start)");
            }
            Err(error) => error!("grants are not removed: {error}"),
        }
        // tests/system/tests/servers/soak reads this line.
        if removed > 0 {
            info!("purge: {removed} records removed");
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
