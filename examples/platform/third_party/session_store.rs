//! The sessions, among what outlives the process: a connection is found through one.

use std::fmt;
use std::sync::Arc;

use time::Duration;
use tower_sessions::cookie::SameSite;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::Result;
use tower_sessions::{Expiry, SessionManagerLayer, SessionStore};

use super::connection::now;
use super::store::Store;

/// The cookie that carries the session of a browser that began something.
pub(super) fn layer(store: &Arc<Store>, own: &str) -> SessionManagerLayer<Sessions> {
    // The name differs from Platform's: browsers send cookies to every port of a host.
    SessionManagerLayer::new(Sessions(store.clone()))
        .with_name("release_notes_session")
        .with_same_site(SameSite::Lax)
        .with_secure(own.starts_with("https:"))
        .with_expiry(Expiry::OnInactivity(Duration::HOUR))
}

#[derive(Clone)]
pub(super) struct Sessions(Arc<Store>);

#[async_trait::async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        // 128 random bits: a second session of the same id does not happen.
        self.save(record).await
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let record = record.clone();
        self.0.change(|contents| contents.sessions.insert(record.id, record)).await;
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let found = self.0.read(|contents| contents.sessions.get(id).cloned()).await;
        Ok(found.filter(|record| record.expiry_date > now()))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.0.change(|contents| contents.sessions.remove(id)).await;
        Ok(())
    }
}

/// Without what is kept: session ids and tokens.
impl fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sessions")
    }
}
