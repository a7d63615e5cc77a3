//! The results as a table: client × revision × way of registering.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;

use support::folder::repository;

const HEAD: &str = "| client | revision | registered | seen |\n|---|---|---|---|\n";

static ROWS: Mutex<BTreeMap<[String; 3], String>> = Mutex::new(BTreeMap::new());

/// Prints a row, and writes all rows until now to `target/judges/table.md`.
pub(crate) fn add(client: &str, revision: &str, way: &str, seen: &str) {
    let mut rows = ROWS.lock().unwrap();
    rows.insert([client, revision, way].map(str::to_owned), seen.to_owned());
    println!("| {client} | {revision} | {way} | {seen} |");
    let rows =
        rows.iter().map(|([client, revision, way], seen)| format!("| {client} | {revision} | {way} | {seen} |\n"));
    fs::write(
        repository().join("target/judges/table.md"),
        rows.fold(HEAD.to_owned(), |table, row| table + row.as_str()),
    )
    .unwrap();
}
