//! What users may rely on: every public item as rustdoc knows it, in a file under version control.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use public_api::Builder;
use support_servers::started::cargo::cargo;

use crate::root;

const LISTING: &str = "tests/data/public-api.txt";

/// With `WRITE_PUBLIC_API` set, the listing is written instead of compared.
#[test]
#[ignore = "runs rustdoc, as CI does"]
fn the_public_api_is_the_listed_one() {
    let items = public_items();
    let foreign = foreign_types(&items);
    let list = |what: BTreeSet<String>| what.into_iter().collect::<Vec<_>>().join("\n");
    let found = format!("Types of other crates:\n\n{}\n\nItems:\n\n{items}", list(foreign));
    let path = root().join(LISTING);
    if env::var_os("WRITE_PUBLIC_API").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let listed = fs::read_to_string(&path).unwrap();
    let (found, listed) = (found.lines().collect(), listed.lines().collect());
    let less =
        |all: &BTreeSet<&str>, others| all.difference(others).map(|line| format!("{line}\n")).collect::<String>();
    let (new, gone) = (less(&found, &listed), less(&listed, &found));
    assert!(new.is_empty() && gone.is_empty(), "in the API, but not in {LISTING}:\n{new}\nin {LISTING} alone:\n{gone}");
}

/// One line for each item, derived ones included; those that the compiler adds to every type are left out.
fn public_items() -> String {
    let rustdoc = cargo("rustdoc")
        .args(["--quiet", "--locked", "--package", "grantor", "--lib"])
        .args(["--", "-Zunstable-options", "--output-format", "json"])
        .env("RUSTDOC", root().join(".ci/rustdoc"))
        .status();
    assert!(rustdoc.unwrap().success());
    let json = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("doc").join("grantor.json");
    let api = Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_trait_impls(true).build().unwrap();
    api.to_string()
}

/// The paths among the items that begin with the name of another crate.
fn foreign_types(items: &str) -> BTreeSet<String> {
    let paths = items.split(|character: char| !character.is_alphanumeric() && !['_', ':'].contains(&character));
    let paths = paths.map(|path| path.trim_matches(':')).filter(|path| path.contains("::"));
    let is_own =
        |path: &str| ["alloc", "core", "grantor", "std"].contains(&path.split("::").next().unwrap_or_default());
    let is_crate = |path: &str| path.starts_with(char::is_lowercase);
    paths.filter(|path| is_crate(path) && !is_own(path)).map(str::to_owned).collect()
}
