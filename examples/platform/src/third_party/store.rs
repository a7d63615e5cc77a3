//! What must outlive the process, in one file that only its owner may read.
//!
//! A real application keeps this in its database, and the tokens encrypted.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tower_sessions::session::{Id, Record};
use tracing::error;

use super::Registration;
use super::connection::Connection;

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Contents {
    /// The registration pasted into the settings. The one that the application was started with is not kept.
    pub(super) registration: Option<Registration>,
    /// The client id that the application was started with last.
    started_with: Option<String>,
    pub(super) connections: HashMap<String, Connection>,
    pub(super) sessions: HashMap<Id, Record>,
}

pub(super) struct Store {
    file: Option<PathBuf>,
    contents: Mutex<Contents>,
}

impl Store {
    /// Reads the file if there is one. A file that cannot be read is not overwritten.
    pub(super) fn open(file: Option<PathBuf>, started_with: Option<&Registration>) -> io::Result<Self> {
        let mut contents = match &file {
            Some(file) => {
                read(file).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))?
            }
            None => Contents::default(),
        };
        if let Some(new) = started_with {
            // Another client id means another Platform, which does not know the kept connections.
            if contents.started_with.as_ref().is_some_and(|kept| *kept != new.client_id) {
                contents = Contents::default();
            }
            contents.started_with = Some(new.client_id.clone());
            // The secret given at the start is newer.
            contents.registration.take_if(|pasted| pasted.client_id == new.client_id);
        }
        Ok(Self { file, contents: Mutex::new(contents) })
    }

    pub(super) async fn read<T>(&self, look: impl FnOnce(&Contents) -> T) -> T {
        look(&*self.contents.lock().await)
    }

    /// Changes the contents, and writes the file before any other caller reads. If it cannot be written, the change
    /// lasts until the end of the process.
    pub(super) async fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        let mut contents = self.contents.lock().await;
        let outcome = change(&mut contents);
        if let Some(file) = self.file.clone() {
            keep(file, serde_json::to_vec(&*contents).expect("every key is a text")).await;
        }
        outcome
    }
}

async fn keep(file: PathBuf, bytes: Vec<u8>) {
    let written = tokio::task::spawn_blocking(move || replace(&file, &bytes)).await;
    if let Err(error) = written.unwrap_or_else(|error| Err(io::Error::other(error))) {
        error!("connections are not kept: {error}");
    }
}

fn read(file: &Path) -> io::Result<Contents> {
    match fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::default()),
        Err(error) => Err(error),
    }
}

/// If the process ends in the middle, the file is the old one or the new one.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // The mode applies only to a new file, so a leftover must be removed.
    fs::remove_file(&new).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
    let mut opened = options.write(true).create_new(true).open(&new)?;
    opened.write_all(bytes)?;
    opened.sync_all()?;
    fs::rename(&new, file)
}
