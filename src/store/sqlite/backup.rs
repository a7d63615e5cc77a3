//! A consistent copy of a file that is still being written.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::store::sqlite::error::{SqliteError, SqliteProblem};
use crate::store::sqlite::file::{self, Database};

/// Bytes of memory for the pages of the source, each of which is read once.
const CACHE: usize = 1 << 20;

/// Copies the current state to `path`, which appears when it is complete.
pub(super) fn write(database: &Database, path: &Path) -> Result<(), SqliteError> {
    let path = std::path::absolute(path)?;
    if path.try_exists()? {
        return Err(SqliteProblem::Exists.into());
    }
    let partial = partial(&path);
    file::create(&partial).map_err(|error| file::explained(error.into(), &partial))?;
    let written = copy(database, &partial).and_then(|()| finish(&partial, &path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

fn copy(database: &Database, to: &Path) -> Result<(), SqliteError> {
    let source = database.connect(CACHE).map_err(|error| error.of(&database.path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = Connection::open_with_flags(to, flags)?;
    // All pages in one step are one snapshot. With several steps, every write in between would restart the copy.
    let step = Backup::new(&source, &mut copy)?.step(-1)?;
    if step != StepResult::Done {
        return Err(SqliteProblem::Busy.into());
    }
    copy.close().map_err(|(_, error)| error.into())
}

fn finish(partial: &Path, path: &Path) -> Result<(), SqliteError> {
    // `hard_link` fails if the target exists, while a rename would overwrite it.
    fs::hard_link(partial, path)?;
    fs::remove_file(partial)?;
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn partial(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    name.into()
}
