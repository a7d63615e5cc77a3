//! The examples as their users start them, each in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

mod cargo;
mod database;

use self::database::Database;

/// A running example; it ends, and its database goes, with this value, which also fails if the example panicked
/// anywhere.
pub(crate) struct Example {
    process: Child,
    about: Value,
    database: Option<Database>,
    log: Arc<Mutex<String>>,
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
        Self::platform_with(test, &[])
    }

    /// The same with more on its command line.
    pub(crate) fn platform_with(test: &str, options: &[&str]) -> Self {
        let database = Database::new(test);
        let file = database.path().to_str().unwrap().to_owned();
        let own = ["--third-party-listen", "127.0.0.1:0", "--database", &file];
        Self::run(&[&["--all-features", "--example", "platform", "--"], &own[..], options].concat(), Some(database))
    }

    fn run(arguments: &[&str], database: Option<Database>) -> Self {
        let mut process = cargo::cargo()
            .args(["run", "--quiet"])
            .args(arguments)
            .args(["--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo is there: it started this test");
        let log = listen(process.stderr.take().unwrap());
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let about = serde_json::from_str(&line);
        let about = about.unwrap_or_else(|_| panic!("the example prints one line of JSON: {}", log.lock().unwrap()));
        Self { process, about, database, log }
    }

    /// What it has written to its standard error until now.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The platform's database.
    pub(crate) fn database(&self) -> &Path {
        self.database.as_ref().expect("it is the platform").path()
    }

    /// The process that serves.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
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
        // A client takes a task that panicked for a connection that was closed.
        let log = self.log();
        assert!(thread::panicking() || !log.contains("panicked"), "{log}");
    }
}

/// Keeps what is read until the other end closes.
fn listen(stderr: ChildStderr) -> Arc<Mutex<String>> {
    let log = Arc::new(Mutex::new(String::new()));
    let kept = log.clone();
    thread::spawn(move || {
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            *kept.lock().unwrap() += &format!("{}\n", String::from_utf8_lossy(&line));
        }
    });
    log
}
