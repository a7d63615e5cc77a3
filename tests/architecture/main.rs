//! The shape of the crate: which module imports which, what the default features depend on, what is public, and which
//! rules have a test.

mod dependencies;
mod layers;
mod public_api;
mod public_types;
mod readmes;
mod source;
mod test_index;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use self::test_index::Test;

/// Frameworks, HTTP and runtimes: with default features, the library depends on none of them.
const FORBIDDEN: [&str; 11] =
    ["actix-web", "async-std", "axum", "futures", "http", "hyper", "reqwest", "smol", "tokio", "tower", "warp"];

#[test]
fn the_default_features_bring_no_framework_no_http_and_no_runtime() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let packages: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(packages.contains("grantor") && packages.contains("serde"), "{packages:?}");
    assert!(packages.len() <= 51, "grantor and at most 50 others: {packages:?}");
    let found: Vec<_> = FORBIDDEN.iter().filter(|name| packages.contains(**name)).collect();
    assert!(found.is_empty(), "default features depend on {found:?}");
    let of_frameworks: Vec<_> = packages
        .iter()
        .filter(|name| ["actix", "axum", "hyper", "tokio"].iter().any(|of| name.starts_with(of)))
        .collect();
    assert!(of_frameworks.is_empty(), "default features depend on {of_frameworks:?}");
}

/// With `WRITE_GUIDES` set, the table is written instead of compared.
#[test]
fn the_guide_to_conformance_has_the_ids_of_all_tests() {
    let mut tests_of: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Test { name, ids } in test_index::all() {
        for id in ids {
            tests_of.entry(id).or_default().insert(format!("`{name}`"));
        }
    }
    let rows = tests_of.iter().map(|(id, tests)| {
        let tests: Vec<_> = tests.iter().map(String::as_str).collect();
        format!("| {id} | {} |", tests.join("<br>"))
    });
    let rows: Vec<_> = ["| id | tests |".to_owned(), "|---|---|".to_owned()].into_iter().chain(rows).collect();
    let path = root().join("src/guide/conformance.md");
    let guide = fs::read_to_string(&path).unwrap();
    let (intro, _) = guide.split_once("| id |").unwrap();
    if std::env::var_os("WRITE_GUIDES").is_some() {
        fs::write(&path, format!("{intro}{}\n", rows.join("\n"))).unwrap();
        return;
    }
    let expected: BTreeSet<_> = rows.iter().map(String::as_str).collect();
    let written: BTreeSet<_> = guide[intro.len()..].lines().collect();
    let (missing, wrong) = (&expected - &written, &written - &expected);
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "of the tests, but not in src/guide/conformance.md: {missing:#?}\nthere, but not of the tests: {wrong:#?}"
    );
}

#[test]
fn every_claim_of_readme_and_security_guide_names_tests_that_are_there() {
    let tests: BTreeSet<_> = test_index::all().into_iter().map(|test| test.name).collect();
    let (promises, guide) = (section("README.md", "What it promises"), read("src/guide/security.md"));
    let is_there = |code: &&str| tests.contains(*code);
    // Behind the first line, which explains the names.
    let promises: Vec<_> = promises.split("\n* ").skip(1).collect();
    let codes = promises.iter().copied().chain([&*guide]).flat_map(|text| text.split('`').skip(1).step_by(2));
    let missing: Vec<_> = codes.filter(|code| code.contains("::") && !is_there(code)).collect();
    assert!(missing.is_empty(), "there are no such tests: {missing:#?}");
    let claims: Vec<_> = promises.iter().map(|promise| (*promise).to_owned()).chain(claims_of_guide(&guide)).collect();
    assert!(claims.len() > 80, "{claims:#?}");
    for claim in claims {
        assert!(claim.split('`').skip(1).step_by(2).any(|code| is_there(&code)), "no test is named: {claim}");
    }
}

/// The paragraphs of the argument, and the rows of the tables.
fn claims_of_guide(guide: &str) -> Vec<String> {
    let argument = section("src/guide/security.md", "The argument");
    // Against whom the crate defends, and what it does not do.
    let are_none = ["**What is defended.**", "**What is not claimed.**"];
    let argument = argument.split("\n\n").filter(|text| text.starts_with("**"));
    let argument = argument.filter(|text| !are_none.iter().any(|start| text.starts_with(start)));
    let rows = guide.lines().filter(|line| line.starts_with("| ")).filter(|row| {
        let is_heading =
            ["| threat |", "| compared |", "| who has |", "| bound |"].iter().any(|start| row.starts_with(start));
        !is_heading && !row.contains(" ns | ")
    });
    argument.chain(rows).map(str::to_owned).collect()
}

fn section(path: &str, heading: &str) -> String {
    let text = read(path);
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("{path}: {heading}"));
    section.split("\n## ").next().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
