//! A database for the platform.

use std::path::{Path, PathBuf};

use support::folder::scratch;

/// A new file, which is removed with this value, as is everything that the platform keeps beside it.
#[derive(Debug)]
pub struct Database(PathBuf);

impl Database {
    pub fn new(test: &str) -> Self {
        let file = format!("{test}-{}.sqlite", std::process::id());
        let database = Self(scratch().join(file));
        database.remove();
        database
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn remove(&self) {
        for ending in ["", "-wal", "-shm", "-release-notes.json", "-signing-key.pk8", "-derivation-key"] {
            let _ = std::fs::remove_file(format!("{}{ending}", self.0.display()));
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.remove();
    }
}
