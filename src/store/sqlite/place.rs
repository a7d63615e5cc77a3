//! Whether a path still leads to the file that was opened.
//!
//! A file that is removed or renamed is written on by whoever has it open, and goes when that one ends:
//! what is acknowledged meanwhile would be lost. So would what is in a log that was removed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::store::sqlite::error::{SqliteError, SqliteProblem};

/// Files that are open, by their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    files: Vec<(PathBuf, Identity)>,
}

impl Place {
    /// The file at the path, which somebody has open: otherwise its number may be given to another one.
    pub(super) fn of(path: &Path) -> Result<Self, SqliteError> {
        let mut place = Self::default();
        place.add(path.to_owned())?;
        Ok(place)
    }

    /// Adds what is beside the file at the path, which a connection has open: the log, and the log's index.
    pub(super) fn add_log(&mut self, path: &Path) -> Result<(), SqliteError> {
        self.add(log_of(path)?)?;
        self.add(beside(path, "-shm")?)
    }

    /// Fails if one of the paths leads to another file, or to none.
    pub(super) fn check(&self) -> Result<(), SqliteError> {
        self.files.iter().try_for_each(is_there)
    }

    /// The same of the file alone, for a third of the cost.
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

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What no two files have in common while both are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Identity {
    /// Asks for the number alone. When a file's times were read, the next write to it counts as another
    /// time, and the sync after that has to write them as well; so it was with every commit.
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

    /// Elsewhere a file that is open is neither removed nor renamed.
    #[cfg(not(unix))]
    fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|_| Self {})
    }
}
