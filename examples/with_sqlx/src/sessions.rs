//! A store of tower-sessions in SQLite: a table with a row for each session.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::SqlitePool;
use time::OffsetDateTime;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};

/// The sessions of a database.
#[derive(Clone, Debug)]
pub(crate) struct Sessions(SqlitePool);

impl Sessions {
    /// Creates the table if it is missing.
    pub(crate) async fn new(pool: SqlitePool) -> sqlx::Result<Self> {
        let table =
            "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, expires INTEGER NOT NULL, record TEXT NOT NULL)";
        sqlx::query(table).execute(&pool).await?;
        Ok(Self(pool))
    }

    /// Removes expired sessions, once a minute. It never returns.
    pub(crate) async fn purge(self) {
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            let query = sqlx::query("DELETE FROM sessions WHERE expires <= ?");
            let now = OffsetDateTime::now_utc().unix_timestamp();
            if let Err(error) = query.bind(now).execute(&self.0).await {
                tracing::warn!(%error, "expired sessions are still there");
            }
        }
    }

    /// Runs a statement with the id, the expiry and the contents of a session, and returns how many rows it changed.
    async fn write(&self, statement: &'static str, record: &Record) -> Result<u64> {
        let contents = serde_json::to_string(record).map_err(|error| Error::Encode(error.to_string()))?;
        let query = sqlx::query(statement).bind(record.id.to_string()).bind(record.expiry_date.unix_timestamp());
        Ok(query.bind(contents).execute(&self.0).await.map_err(failed)?.rows_affected())
    }
}

#[async_trait]
impl SessionStore for Sessions {
    /// Unlike `save`, never overwrites another session that has the same id.
    async fn create(&self, record: &mut Record) -> Result<()> {
        while self.write("INSERT OR IGNORE INTO sessions (id, expires, record) VALUES (?, ?, ?)", record).await? == 0 {
            record.id = Id::default();
        }
        Ok(())
    }

    async fn save(&self, record: &Record) -> Result<()> {
        self.write("INSERT OR REPLACE INTO sessions (id, expires, record) VALUES (?, ?, ?)", record).await.map(drop)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let query = sqlx::query_scalar("SELECT record FROM sessions WHERE id = ? AND expires > ?").bind(id.to_string());
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let found: Option<String> = query.bind(now).fetch_optional(&self.0).await.map_err(failed)?;
        let record = found.map(|record| serde_json::from_str(&record)).transpose();
        record.map_err(|error| Error::Decode(error.to_string()))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let query = sqlx::query("DELETE FROM sessions WHERE id = ?").bind(id.to_string());
        query.execute(&self.0).await.map_err(failed).map(drop)
    }
}

fn failed(error: sqlx::Error) -> Error {
    Error::Backend(error.to_string())
}
