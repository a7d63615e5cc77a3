//! One round of the purge, step by step.

use grantor::{AuthorizationServer, PurgeError};

/// Records examined in one step.
const STEP: usize = 10_000;

/// Removes expired records. Returns how many were removed, and what stopped it.
pub(crate) async fn once(server: &AuthorizationServer) -> (usize, Result<(), PurgeError>) {
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
