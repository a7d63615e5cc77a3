//! The database file.

use std::error::Error;
use std::path::{Path, PathBuf};

use demo::random_id;
use grantor::SqliteStore;

/// A store, and its temporary folder, if any, which is removed on drop.
pub(crate) struct Database {
    pub(crate) store: SqliteStore,
    _folder: Option<TemporaryFolder>,
}

impl Database {
    /// Opens that file, or one in a new temporary folder.
    pub(crate) fn open(file: Option<&Path>) -> Result<Self, Box<dyn Error>> {
        let folder = if file.is_none() { Some(TemporaryFolder::create()?) } else { None };
        let own = folder.as_ref().map(|folder| folder.0.join("mcp.sqlite"));
        let file = file.or(own.as_deref()).ok_or("there is no file")?;
        let store = SqliteStore::open(file).map_err(|error| format!("{error} (--database chooses another file)"))?;
        Ok(Self { store, _folder: folder })
    }
}

struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn create() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("grantor-mcp-{}", random_id()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // An error does not matter: the folder is in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
