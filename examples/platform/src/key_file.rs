//! Secret keys of the service, each in a file beside the database. The first start makes them, so that they are the
//! same after a restart.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::beside;

/// Returns the key in the file with that ending. If there is no such file, it gets what `make` returns.
pub(crate) fn read_or_make(
    database: &Path,
    ending: &str,
    make: impl FnOnce() -> io::Result<Vec<u8>>,
) -> Result<Vec<u8>, String> {
    let file = beside(database, ending);
    let key = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make().and_then(|key| write(&file, key)),
        read => read,
    };
    key.map_err(|error| format!("the key in {}: {error}", file.display()))
}

/// Writes a file that only this user may read.
fn write(file: &Path, key: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(file)?.write_all(&key)?;
    Ok(key)
}
