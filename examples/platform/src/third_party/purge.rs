//! Removes expired sessions, and withdraws the connections that belong to them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Application;
use super::connection::{Connection, now};
use super::session::connection_of;
use super::store::Contents;

const PAUSE: Duration = Duration::from_secs(600);

/// Runs until the application is dropped.
pub(super) async fn now_and_then(application: Weak<Application>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let Some(application) = application.upgrade() else { return };
        once(&application).await;
    }
}

async fn once(application: &Arc<Application>) {
    let is_over = |contents: &Contents| contents.sessions.values().any(|session| session.expiry_date <= now());
    if !application.store.read(is_over).await {
        return;
    }
    let connections = application.store.change(take_expired).await;
    // What Platform does not withdraw now ends there when the refresh token expires.
    let _ = application.withdraw(application.registration().await.ok(), connections).await;
}

/// Removes the expired sessions, and returns their connections.
fn take_expired(contents: &mut Contents) -> Vec<Connection> {
    let now = now();
    let Contents { connections, sessions, .. } = contents;
    let mut taken = Vec::new();
    sessions.retain(|_, session| {
        let goes_on = session.expiry_date > now;
        if !goes_on {
            taken.extend(connection_of(session).and_then(|key| connections.remove(key)));
        }
        goes_on
    });
    taken
}
