//! The sessions. A session with a connection outlives the process. Anyone can begin one without a connection, so those
//! are only in memory, and do not make the file grow.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::Duration;
use tower_sessions::cookie::SameSite;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::Result;
use tower_sessions::{Expiry, SessionManagerLayer, SessionStore};

use super::connection::now;
use super::session::connection_of;
use super::store::Store;

/// The maximum number of sessions without a connection. Beyond it, those that end first are removed.
const MAX_UNCONNECTED: usize = 10_000;

/// The cookie that carries the session of a browser that began something.
pub(super) fn layer(store: &Arc<Store>, own: &str) -> SessionManagerLayer<Sessions> {
    let is_secure = own.starts_with("https:");
    // The name differs from Platform's: browsers send cookies to every port of a host. Over TLS, the prefix keeps
    // other hosts and plain HTTP from setting it.
    let name = if is_secure { "__Host-release_notes_session" } else { "release_notes_session" };
    SessionManagerLayer::new(Sessions { store: store.clone(), unconnected: Arc::default() })
        .with_name(name)
        .with_same_site(SameSite::Lax)
        .with_secure(is_secure)
        .with_expiry(Expiry::OnInactivity(Duration::HOUR))
}

#[derive(Clone)]
pub(super) struct Sessions {
    store: Arc<Store>,
    unconnected: Arc<Mutex<HashMap<Id, Record>>>,
}

#[async_trait::async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        // 128 random bits: two sessions never have the same id.
        self.save(record).await
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let record = record.clone();
        if connection_of(&record).is_some() {
            self.unconnected().remove(&record.id);
            self.store.change(|contents| contents.sessions.insert(record.id, record)).await;
        } else {
            self.remove_from_file(&record.id).await;
            self.keep(record);
        }
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let unconnected = self.unconnected().get(id).cloned();
        let found = match unconnected {
            Some(record) => Some(record),
            None => self.store.read(|contents| contents.sessions.get(id).cloned()).await,
        };
        Ok(found.filter(|record| record.expiry_date > now()))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.unconnected().remove(id);
        self.remove_from_file(id).await;
        Ok(())
    }
}

impl Sessions {
    fn unconnected(&self) -> MutexGuard<'_, HashMap<Id, Record>> {
        self.unconnected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, record: Record) {
        let mut unconnected = self.unconnected();
        if unconnected.len() >= MAX_UNCONNECTED {
            let now = now();
            unconnected.retain(|_, record| record.expiry_date > now);
        }
        if unconnected.len() >= MAX_UNCONNECTED {
            let first = unconnected.values().min_by_key(|record| record.expiry_date).map(|record| record.id);
            first.and_then(|id| unconnected.remove(&id));
        }
        unconnected.insert(record.id, record);
    }

    /// Writes the file only if the session is in it.
    async fn remove_from_file(&self, id: &Id) {
        if self.store.read(|contents| contents.sessions.contains_key(id)).await {
            self.store.change(|contents| contents.sessions.remove(id)).await;
        }
    }
}

/// Omits the contents: session ids and tokens.
impl fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sessions")
    }
}
