//! A folder for the files of a store, and what the disk itself can do.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The size of the file in bytes. Writes start over at its end, so it does not grow. Neither does a log in use.
const ROOM: u64 = 16 << 20;

/// A file whose existing bytes are overwritten.
pub(crate) struct Disk {
    file: File,
    bytes: Vec<u8>,
    place: u64,
}

impl Disk {
    /// Creates a file in the folder. Each write has `bytes` bytes.
    pub(crate) fn new(folder: &Path, bytes: usize) -> Self {
        let mut file = File::create(folder.join("disk")).unwrap();
        file.write_all(&vec![0; ROOM as usize]).unwrap();
        file.sync_all().unwrap();
        Self { file, bytes: vec![7; bytes], place: 0 }
    }

    /// Writes and syncs `times` times.
    pub(crate) fn sync(&mut self, times: u32) {
        for _ in 0..times {
            let length = self.bytes.len() as u64;
            if self.place + length > ROOM {
                self.place = 0;
            }
            self.file.seek(SeekFrom::Start(self.place)).unwrap();
            self.file.write_all(&self.bytes).unwrap();
            self.file.sync_data().unwrap();
            self.place += length;
        }
    }
}

/// A folder that is removed with the bench.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: impl Display) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stores-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error does not matter: the folder is in the build's folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
