//! The platform's own tables: accounts, sessions, logos of forms that are being filled in, and
//! what the resource API serves.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, TransactionBehavior};

/// The version of the tables below.
const VERSION: u32 = 2;

const TABLES: &str = "
    CREATE TABLE platform_version (version INTEGER NOT NULL) STRICT;
    CREATE TABLE accounts (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, role TEXT NOT NULL, password_hash TEXT NOT NULL
    ) STRICT;
    CREATE TABLE sessions (id_digest BLOB PRIMARY KEY, data TEXT NOT NULL, expires INTEGER NOT NULL) STRICT;
    CREATE TABLE known_browsers (
        token_digest BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts, expires INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE demo_application (client_id TEXT NOT NULL) STRICT;
    CREATE TABLE repositories (
        owner TEXT NOT NULL REFERENCES accounts, name TEXT NOT NULL, description TEXT NOT NULL, public INTEGER NOT NULL,
        PRIMARY KEY (owner, name)
    ) STRICT;
    CREATE TABLE issues (
        owner TEXT NOT NULL, repository TEXT NOT NULL, number INTEGER NOT NULL, title TEXT NOT NULL,
        PRIMARY KEY (owner, repository, number), FOREIGN KEY (owner, repository) REFERENCES repositories (owner, name)
    ) STRICT;
    CREATE TABLE drafts (
        id TEXT PRIMARY KEY, owner TEXT NOT NULL, logo BLOB NOT NULL, created INTEGER NOT NULL
    ) STRICT;
";

/// A connection to the file of the store, besides the store's own.
#[derive(Clone, Debug)]
pub(crate) struct Database(Arc<Mutex<Connection>>);

impl Database {
    pub(crate) fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        create_tables(&mut connection)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Runs `work` on a thread that may wait for the disk.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let connection = self.0.clone();
        // Boxed, so that the runtime's code for blocking tasks is compiled for each result and not for each closure.
        let task: Box<dyn FnOnce() -> rusqlite::Result<T> + Send> =
            Box::new(move || work(&mut connection.lock().unwrap_or_else(PoisonError::into_inner)));
        let done = tokio::task::spawn_blocking(task).await;
        done.map_err(DatabaseError::from_join)?.map_err(|error| DatabaseError(error.into()))
    }
}

/// Creates the tables in a file that has none of them. Refuses tables of another version.
fn create_tables(connection: &mut Connection) -> Result<(), Box<dyn Error>> {
    connection.execute_batch("PRAGMA journal_mode = WAL")?;
    // If two processes start with one new file, only one of them fills it.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_there = |table: &str| transaction.table_exists(None, table);
    let found = if is_there("platform_version")? {
        Some(transaction.query_row("SELECT version FROM platform_version", [], |row| row.get(0))?)
    } else {
        // Tables without a version are of an unknown one.
        is_there("accounts")?.then_some(0)
    };
    match found {
        Some(VERSION) => {}
        None => {
            transaction.execute_batch(TABLES)?;
            transaction.execute("INSERT INTO platform_version VALUES (?1)", [VERSION])?;
        }
        Some(_) => return Err("the file is from another version of this example; delete it to start over".into()),
    }
    Ok(transaction.commit()?)
}

/// A failure of the database, which is not shown to users.
#[derive(Debug, thiserror::Error)]
#[error("the platform's database failed: {0}")]
pub(crate) struct DatabaseError(Box<dyn Error + Send + Sync>);

impl DatabaseError {
    /// The thread that did the work panicked, or the process ends.
    pub(crate) fn from_join(error: tokio::task::JoinError) -> Self {
        Self(error.into())
    }
}
