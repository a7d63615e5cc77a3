//! An example in a process of its own, and what the system and the example itself say of it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::cargo::cargo;
use crate::database::Database;

/// How many times as fast as the system's the clocks of the servers go.
pub(crate) const CLOCK_SPEED: u32 = 60;
/// Seconds of the server's clock.
pub(crate) const TOKEN_LIFETIME: u32 = 1800;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Example {
    Axum,
    Actix,
    Platform,
}

impl Example {
    pub(crate) const ALL: [Self; 3] = [Self::Axum, Self::Actix, Self::Platform];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Axum => "axum",
            Self::Actix => "actix",
            Self::Platform => "platform",
        }
    }
}

/// A running example; it ends, and its database goes, with this value.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) example: Example,
    process: Child,
    about: Value,
    _database: Option<Database>,
    said: Arc<Mutex<Said>>,
}

/// What its log said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) purged: u64,
    /// Lines that should not be there.
    pub(crate) complaints: Vec<String>,
}

/// How large it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) resident_kib: u64,
    pub(crate) threads: u64,
    pub(crate) open_files: u64,
}

impl Server {
    /// Starts the example; cargo builds it first, as this test was built.
    pub(crate) fn start(example: Example) -> Self {
        let database = (example == Example::Platform).then(|| Database::new("soak"));
        let mut process = command(example, database.as_ref().map(Database::path))
            .spawn()
            .expect("cargo is there: it started this test");
        let said = Arc::new(Mutex::new(Said::default()));
        let log = BufReader::new(process.stderr.take().unwrap());
        let listener = said.clone();
        thread::spawn(move || {
            log.lines().map_while(Result::ok).for_each(|line| listener.lock().unwrap().hear(example, line));
        });
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let about = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no start: {:?}", said.lock().unwrap()));
        Self { example, process, about, _database: database, said }
    }

    /// What it says of itself.
    pub(crate) fn about(&self, name: &str) -> &str {
        self.about[name].as_str().unwrap_or_else(|| panic!("{name} in {}", self.about))
    }

    pub(crate) fn said(&self) -> Said {
        self.said.lock().unwrap().clone()
    }

    /// Cargo has become the example, so the numbers are those of the server itself.
    pub(crate) fn size(&self) -> Size {
        let folder = PathBuf::from(format!("/proc/{}", self.process.id()));
        let status = fs::read_to_string(folder.join("status")).expect("the server is running");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            number.unwrap_or_else(|| panic!("{name} in {status}"))
        };
        let open_files = fs::read_dir(folder.join("fd")).expect("the server is running").count();
        Size {
            resident_kib: number("VmRSS:"),
            threads: number("Threads:"),
            open_files: u64::try_from(open_files).unwrap(),
        }
    }
}

impl Said {
    fn hear(&mut self, example: Example, line: String) {
        let purged = line.rsplit_once("purge: ").and_then(|(_, rest)| rest.strip_suffix(" records removed"));
        if let Some(purged) = purged.and_then(|count| count.parse::<u64>().ok()) {
            self.purged += purged;
        } else if example != Example::Platform || line.contains("ERROR") || line.contains("panicked") {
            self.complaints.push(line);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(example: Example, database: Option<&Path>) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--example", example.name()]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    if database.is_some() {
        command.arg("--all-features");
    }
    command.args(["--", "--listen", "127.0.0.1:0", "--json"]);
    command.args(["--clock-speed", &CLOCK_SPEED.to_string()]);
    command.args(["--access-token-lifetime", &TOKEN_LIFETIME.to_string()]);
    command.args(["--refresh-token-lifetime", &TOKEN_LIFETIME.to_string()]);
    if let Some(file) = database {
        command.args(["--third-party-listen", "127.0.0.1:0", "--database"]).arg(file);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
