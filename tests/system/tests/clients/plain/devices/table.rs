//! The results as a table: client × server × kind of client.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;

use support::folder::repository;
use support_servers::judges;
use system::Thin;

const HEAD: &str = "| client | server | registered as | seen |\n|---|---|---|---|\n";

static ROWS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Prints a row, and writes all rows until now to `target/judges/devices.md`.
pub(super) fn add(client: &str, server: Thin, kind: &str, seen: &str) {
    let row = format!("| {client} | {} | {} | {seen} |\n", server.name(), kind.to_lowercase());
    print!("{row}");
    let mut rows = ROWS.lock().unwrap();
    rows.insert(row);
    let folder = repository().join("target/judges");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("devices.md"), rows.iter().fold(HEAD.to_owned(), |table, row| table + row.as_str())).unwrap();
}

/// The package of that name, with the version in `Cargo.lock`.
pub(super) fn locked(package: &str) -> String {
    let lock = fs::read_to_string(repository().join("Cargo.lock")).unwrap();
    let (_, rest) = lock.split_once(&format!("name = \"{package}\"\nversion = \"")).expect("it is locked");
    format!("{package}@{}", rest.split('"').next().unwrap_or_default())
}

/// The package of that name, with its version in the list of what `.ci/judges` installs.
pub(super) fn installed(folder: &str, package: &str) -> String {
    let installed = fs::read_to_string(judges::folder(folder).join("installed")).unwrap();
    let is_own = |line: &&str| line.strip_prefix(package).is_some_and(|version| version.starts_with(['@', '=']));
    let own = installed.split_whitespace().find(is_own);
    own.unwrap_or_else(|| panic!("no {package} in {installed}")).to_owned()
}
