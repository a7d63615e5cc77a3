//! What the disk itself can do.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Octets over which the writes go round, so that the file does not grow, as a log in use does not.
const ROOM: u64 = 16 << 20;

/// A file whose octets are there already and are written over.
pub(crate) struct Disk {
    file: File,
    octets: Vec<u8>,
    place: u64,
}

impl Disk {
    /// A new file in the folder, into which so many octets are written at once.
    pub(crate) fn new(folder: &Path, octets: usize) -> Self {
        let mut file = File::create(folder.join("disk")).unwrap();
        file.write_all(&vec![0; ROOM as usize]).unwrap();
        file.sync_all().unwrap();
        Self { file, octets: vec![7; octets], place: 0 }
    }

    /// Writes and syncs so many times.
    pub(crate) fn sync(&mut self, times: u32) {
        for _ in 0..times {
            let length = self.octets.len() as u64;
            if self.place + length > ROOM {
                self.place = 0;
            }
            self.file.seek(SeekFrom::Start(self.place)).unwrap();
            self.file.write_all(&self.octets).unwrap();
            self.file.sync_data().unwrap();
            self.place += length;
        }
    }
}
