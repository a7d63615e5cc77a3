//! A database for the platform.

use std::path::{Path, PathBuf};

/// A new file, which goes with this value, and with it what the platform keeps beside it.
#[derive(Debug)]
pub(crate) struct Database(PathBuf);

impl Database {
    pub(crate) fn new(test: &str) -> Self {
        let file = format!("{test}-{}.sqlite", std::process::id());
        let database = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(file));
        database.remove();
        database
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn remove(&self) {
        for ending in ["", "-wal", "-shm", "-release-notes.json"] {
            let _ = std::fs::remove_file(format!("{}{ending}", self.0.display()));
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.remove();
    }
}
