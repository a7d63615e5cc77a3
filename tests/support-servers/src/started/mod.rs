//! Programs as their users start them, each in its own process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

pub mod cargo;
pub mod database;

use self::database::Database;

/// A running server. Dropping this value ends the server, removes its database, and fails if the server panicked.
pub struct Started {
    process: Child,
    about: Value,
    database: Option<Database>,
    log: Arc<Mutex<String>>,
}

impl Started {
    /// Starts the platform on a new database.
    pub fn platform(program: impl AsRef<Path>, test: &str, options: &[&str]) -> Self {
        let database = Database::new(test);
        let file = database.path().to_str().unwrap().to_owned();
        let own = ["--third-party-listen", "127.0.0.1:0", "--database", &file];
        let mut started = Self::start(program, &[&own[..], options].concat());
        started.database = Some(database);
        started
    }

    /// Starts a program that takes the options of the servers.
    pub fn start(program: impl AsRef<Path>, options: &[&str]) -> Self {
        let mut process = Command::new(program.as_ref())
            .args(["--listen", "127.0.0.1:0", "--json"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.as_ref().display()));
        let log = Arc::new(Mutex::new(String::new()));
        let (kept, lines) = (log.clone(), BufReader::new(process.stderr.take().unwrap()).split(b'\n'));
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *kept.lock().unwrap() += &format!("{}\n", String::from_utf8_lossy(&line));
            }
        });
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let about = serde_json::from_str(&line);
        let about = about.unwrap_or_else(|_| panic!("it prints one line of JSON: {}", log.lock().unwrap()));
        Self { process, about, database: None, log }
    }

    /// What it has written to its standard error until now.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The platform's database.
    pub fn database(&self) -> &Path {
        self.database.as_ref().expect("it is the platform").path()
    }

    /// The process that serves.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// What the server reports about itself.
    pub fn about(&self, name: &str) -> &str {
        self.about[name].as_str().unwrap_or_else(|| panic!("{name} in {}", self.about))
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.about("issuer"))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // To a client, a task that panicked looks like a closed connection.
        let log = self.log();
        assert!(thread::panicking() || !log.contains("panicked"), "{log}");
    }
}
