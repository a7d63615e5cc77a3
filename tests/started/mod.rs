//! The examples as their users start them, each in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

mod cargo;

/// A running example; it ends, and its database goes, with this value.
pub(crate) struct Example {
    process: Child,
    about: Value,
    database: Option<PathBuf>,
}

impl Example {
    /// Starts one of the thin examples; cargo builds it first, without features.
    pub(crate) fn start(name: &str) -> Self {
        Self::start_with(name, &[])
    }

    /// The same with more on its command line.
    pub(crate) fn start_with(name: &str, options: &[&str]) -> Self {
        Self::run(&[&["--example", name, "--"], options].concat(), None)
    }

    /// Starts the platform on a new database.
    pub(crate) fn platform(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let database = folder.join(format!("{test}-{}.sqlite", std::process::id()));
        remove(&database);
        let file = database.to_str().unwrap().to_owned();
        let own = ["--third-party-listen", "127.0.0.1:0", "--database", &file];
        Self::run(&[&["--all-features", "--example", "platform", "--"], &own[..]].concat(), Some(database))
    }

    fn run(arguments: &[&str], database: Option<PathBuf>) -> Self {
        let mut process = cargo::cargo()
            .args(["run", "--quiet"])
            .args(arguments)
            .args(["--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("cargo is there: it started this test");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let about = serde_json::from_str(&line).expect("the example prints one line of JSON");
        Self { process, about, database }
    }

    /// What the example says of itself.
    pub(crate) fn about(&self, name: &str) -> &str {
        self.says(name).unwrap_or_else(|| panic!("{name} in {}", self.about))
    }

    /// The same, where not every example says it.
    pub(crate) fn says(&self, name: &str) -> Option<&str> {
        self.about[name].as_str()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.about("issuer"))
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // Cargo has become the example: this ends the server itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(database) = &self.database {
            remove(database);
        }
    }
}

fn remove(database: &Path) {
    for ending in ["", "-wal", "-shm", "-release-notes.json"] {
        let _ = std::fs::remove_file(format!("{}{ending}", database.display()));
    }
}
