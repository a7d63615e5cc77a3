//! Folders for files that a test makes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder `tmp` of the target folder, which cargo makes for tests and benches.
pub fn scratch() -> PathBuf {
    let program = env::current_exe().unwrap();
    // target/debug/deps/program
    let target = program.ancestors().nth(3).expect("cargo has built this program");
    let scratch = target.join("tmp");
    fs::create_dir_all(&scratch).unwrap();
    scratch
}

/// The root of the repository.
pub fn repository() -> &'static Path {
    // tests/support
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this package lies two folders deep")
}

/// A folder that is removed with everything in it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = scratch().join(format!("{name}-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self) -> PathBuf {
        self.0.join("store.sqlite")
    }

    /// The names in it, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
