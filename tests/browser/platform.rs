//! The platform example as its operator starts it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::browser::target;

/// The example in a process of its own, on a database of its own.
pub(crate) struct Platform {
    process: Child,
    about: Value,
    database: PathBuf,
}

impl Platform {
    pub(crate) fn start(name: &str) -> Self {
        let folder = target().join("browser");
        std::fs::create_dir_all(&folder).unwrap();
        let database = folder.join(format!("{name}-{}.sqlite", std::process::id()));
        let mut process = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--all-features", "--example", "platform", "--", "--json"])
            .args(["--listen", "127.0.0.1:0", "--third-party-listen", "127.0.0.1:0", "--database"])
            .arg(&database)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("cargo is there: it started this test");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let about = serde_json::from_str(&line).expect("the example prints one line of JSON");
        Self { process, about, database }
    }

    pub(crate) fn about(&self, name: &str) -> &str {
        self.about[name].as_str().unwrap_or_else(|| panic!("{name} in {}", self.about))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.about("issuer"))
    }

    pub(crate) fn third_party(&self, path: &str) -> String {
        format!("{}{path}", self.about("third_party"))
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for ending in ["", "-wal", "-shm", "-release-notes.json"] {
            let _ = std::fs::remove_file(format!("{}{ending}", self.database.display()));
        }
    }
}
