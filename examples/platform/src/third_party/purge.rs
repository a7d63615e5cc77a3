//! Removes sessions that are over, and withdraws the connections that nobody finds without them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Application;
use super::connection::{Connection, now};
use super::session::connection_of;
use super::store::Contents;

const PAUSE: Duration = Duration::from_secs(600);

/// Goes on for as long as the application is there.
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
    let connections = application.store.change(take_over).await;
    // What Platform does not withdraw now is over there when its refresh token is.
    let _ = application.withdraw(application.registration().await.ok(), connections).await;
}

/// Takes out the sessions that are over with their connections.
fn take_over(contents: &mut Contents) -> Vec<Connection> {
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
