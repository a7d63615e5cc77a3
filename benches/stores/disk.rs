//! What the disk itself can do.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

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
