//! The purge.

use std::time::Duration;

use grantor::AuthorizationServer;
use grantor::server::PurgeError;

/// Records examined in one step.
const STEP: usize = 1000;

/// Removes what has expired, once a minute of the server's clock. Without it, the store would only grow.
pub async fn forever(server: AuthorizationServer, minute: Duration) {
    loop {
        tokio::time::sleep(minute).await;
        let (removed, outcome) = once(&server).await;
        if let Err(error) = outcome {
            eprintln!("purge: {error}");
        }
        // tests/system/tests/servers/soak reads this line.
        if removed > 0 {
            eprintln!("purge: {removed} records removed");
        }
    }
}

/// Removes expired records. Returns how many were removed, and what stopped it.
pub async fn once(server: &AuthorizationServer) -> (usize, Result<(), PurgeError>) {
    let mut removed = 0;
    loop {
        match server.purge_expired(STEP).await {
            Ok(purge) => {
                removed += purge.removed();
                if purge.is_finished() {
                    return (removed, Ok(()));
                }
                tokio::task::yield_now().await;
            }
            Err(error) => return (removed, Err(error)),
        }
    }
}
