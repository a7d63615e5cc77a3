//! Whether a path still leads to the file that was opened.
//!
//! A process still writes to a file that was removed or renamed while open, and the file disappears when the process
//! ends: writes acknowledged in the meantime would be lost. So would the contents of a log that was removed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::sqlite::error::{SqliteError, SqliteProblem};

/// Files that are open, by their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    files: Vec<(PathBuf, Identity)>,
}

impl Place {
    /// Returns the place of the file at the path. The file must be open, since its number may be reused otherwise.
    pub(super) fn of(path: &Path) -> Result<Self, SqliteError> {
        let mut place = Self::default();
        place.add(path.to_owned())?;
        Ok(place)
    }

    /// Adds the log of the file at the path and the log's index, which a connection must have open.
    pub(super) fn add_log(&mut self, path: &Path) -> Result<(), SqliteError> {
        self.add(log_of(path)?)?;
        self.add(beside(path, "-shm")?)
    }

    /// Fails if one of the paths leads to another file, or to none.
    pub(super) fn check(&self) -> Result<(), SqliteError> {
        self.files.iter().try_for_each(is_there)
    }

    /// Checks only the file itself, for a third of the cost.
    pub(super) fn check_file(&self) -> Result<(), SqliteError> {
        self.files.first().map_or(Ok(()), is_there)
    }

    fn add(&mut self, path: PathBuf) -> Result<(), SqliteError> {
        let identity = Identity::of(&path)?;
        self.files.push((path, identity));
        Ok(())
    }
}

/// Returns the path of the log of the file at `path`.
pub(super) fn log_of(path: &Path) -> io::Result<PathBuf> {
    beside(path, "-wal")
}

fn beside(path: &Path, ending: &str) -> io::Result<PathBuf> {
    // SQLite resolves links, too.
    let mut name = OsString::from(fs::canonicalize(path)?);
    name.push(ending);
    Ok(name.into())
}

fn is_there((path, opened): &(PathBuf, Identity)) -> Result<(), SqliteError> {
    match Identity::of(path) {
        Ok(found) if found == *opened => Ok(()),
        Ok(_) => Err(SqliteProblem::Replaced.into()),
        Err(error) if is_missing(&error) => Err(SqliteProblem::Replaced.into()),
        Err(error) => Err(error.into()),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What identifies a file among all open files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Identity {
    /// Reads only the number. If a file's times are read, the next write changes them, and the sync after that must
    /// write them as well. This would slow down every commit.
    #[cfg(target_os = "linux")]
    fn of(path: &Path) -> io::Result<Self> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
        use rustix::io::Errno;

        match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
            Ok(found) => Ok(Self { device: makedev(found.stx_dev_major, found.stx_dev_minor), inode: found.stx_ino }),
            Err(Errno::NOSYS) => Self::with_times(path),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn of(path: &Path) -> io::Result<Self> {
        Self::with_times(path)
    }

    #[cfg(unix)]
    fn with_times(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;

        let found = fs::metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }

    /// On other systems, an open file cannot be removed or renamed.
    #[cfg(not(unix))]
    fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|_| Self {})
    }
}
