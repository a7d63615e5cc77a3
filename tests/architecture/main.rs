//! The shape of the crate: which module imports which, what the default features depend on, what is public, and which
//! rules have a test.

mod dependencies;
mod layers;
mod public_api;
mod public_types;
mod source;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

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
fn every_id_has_a_row_in_the_guide_and_every_row_a_test() {
    let tested = ids_in_tests();
    if std::env::var_os("WRITE_GUIDES").is_some() {
        write_table(&tested);
    }
    let listed = ids_in_guide();
    assert!(!tested.is_empty() && !listed.is_empty());
    let unlisted: Vec<_> = tested.iter().filter(|(id, _)| !listed.contains(*id)).collect();
    let untested: Vec<_> = listed.iter().filter(|id| !tested.contains_key(*id)).collect();
    assert!(
        unlisted.is_empty() && untested.is_empty(),
        "tested, but not in src/guide/conformance.md: {unlisted:#?}\nin src/guide/conformance.md, but not tested: {untested:#?}"
    );
}

/// The ids in the first doc line of each test, with the tests that have them.
fn ids_in_tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut ids: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let folders = [
        "tests/protocol",
        "tests/system/tests",
        "examples/fetch/tests",
        "examples/mcp/tests",
        "examples/platform/tests",
    ];
    let folders = folders.map(|folder| root().join(folder));
    for file in folders.iter().flat_map(|folder| source::files_below(folder)) {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate() {
            let is_first = number == 0 || !lines[number - 1].starts_with("///");
            let Some(doc) = line.strip_prefix("///").filter(|_| is_first) else { continue };
            let found: Vec<_> = doc.split(',').map(str::trim).collect();
            // Cases of other projects have their own names, with a `#`.
            let (found, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|id| is_id(id));
            let mistaken = others.iter().any(|other| !other.contains('#'));
            assert!(found.is_empty() || !mistaken, "{}: ids and other words in {line:?}", file.display());
            let name = lines[number..].iter().find_map(|line| line.split_once("fn ").map(|(_, rest)| rest));
            let name = name.and_then(|rest| rest.split(['(', '<']).next()).unwrap_or_default();
            for id in found {
                ids.entry(id.to_owned()).or_default().insert(format!("{}::{name}", module(&file)));
            }
        }
    }
    ids
}

/// `tests/protocol/rfc6749_client/mod.rs` is the module `rfc6749_client`. Modules of other binaries begin with the name
/// of the binary.
fn module(file: &Path) -> String {
    let path = file.strip_prefix(root()).unwrap().with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let below = parts.iter().rposition(|part| part == "tests").expect("a file of tests") + 1;
    let named = parts[below..].iter().filter(|part| !["main", "mod", "protocol"].contains(&part.as_str()));
    named.map(String::as_str).collect::<Vec<_>>().join("::")
}

fn write_table(tested: &BTreeMap<String, BTreeSet<String>>) {
    let path = root().join("src/guide/conformance.md");
    let guide = fs::read_to_string(&path).unwrap();
    let (intro, _) = guide.split_once("| id |").unwrap();
    let mut text = format!("{intro}| id | tests |\n|---|---|\n");
    for (id, tests) in tested {
        let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
        text.push_str(&format!("| {id} | {} |\n", tests.join("<br>")));
    }
    fs::write(path, text).unwrap();
}

/// The first column of the table.
fn ids_in_guide() -> BTreeSet<String> {
    let guide = fs::read_to_string(root().join("src/guide/conformance.md")).unwrap();
    let mut ids = BTreeSet::new();
    for row in guide.lines().filter_map(|line| line.strip_prefix('|')) {
        let id = row.split('|').next().unwrap_or_default().trim().trim_matches('`');
        if is_id(id) {
            assert!(ids.insert(id.to_owned()), "{id} has two rows");
        }
    }
    ids
}

#[test]
fn every_test_that_the_guide_to_security_names_is_there() {
    let tests: BTreeSet<_> = ["tests", "examples/fetch/tests", "examples/mcp/tests", "examples/platform/tests"]
        .iter()
        .flat_map(|folder| tests_below(&root().join(folder)))
        .collect();
    let guide = fs::read_to_string(root().join("src/guide/security.md")).unwrap();
    let named = guide.split('`').skip(1).step_by(2).filter(|code| code.contains("::"));
    let named: BTreeSet<_> = named.collect();
    assert!(named.len() > 50, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "src/guide/security.md names tests that are not there: {missing:#?}");
    for row in guide.lines().filter(|line| line.starts_with("| ")) {
        let is_heading = ["| threat |", "| compared |", "| who has |"].iter().any(|start| row.starts_with(start));
        let names_a_test = row.split('`').skip(1).step_by(2).any(|code| tests.contains(code));
        assert!(is_heading || row.contains(" ns | ") || names_a_test, "no test is named: {row}");
    }
}

/// All functions with an attribute that makes them tests, as `module::name`.
fn tests_below(folder: &Path) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for file in source::files_below(folder) {
        let text = fs::read_to_string(&file).unwrap();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            match name.and_then(|rest| rest.split(['(', '<']).next()) {
                Some(name) if is_test => _ = tests.insert(format!("{}::{name}", module(&file))),
                _ if line.starts_with("#[test]") || line.starts_with("#[tokio::test") => is_test = true,
                _ => {}
            }
            is_test &= line.starts_with('#') || line.starts_with("//");
        }
    }
    tests
}

/// Such as SVC-2.1-01, 6749-4.1.2.1-02, HTTP-04, MCP-0618-05 and CVE-2020-15223.
fn is_id(text: &str) -> bool {
    let mut parts = text.split('-');
    let source = parts.next().unwrap_or_default();
    let rest: Vec<_> = parts.collect();
    let named = |part: &str| {
        !part.is_empty() && part.chars().all(|own| own.is_ascii_uppercase() || own.is_ascii_digit() || own == '.')
    };
    let number = |part: &str| part.len() >= 2 && part.chars().all(|own| own.is_ascii_digit());
    named(source)
        && !rest.is_empty()
        && rest.iter().all(|part| named(part))
        && rest.last().is_some_and(|last| number(last))
}

#[test]
fn an_id_is_told_from_a_word() {
    for id in ["SVC-2.1-01", "6749-4.1.2.1-02", "HTTP-04", "MCP-0618-05", "21-5.1-01", "8252-7.3-01", "CVE-2020-15223"]
    {
        assert!(is_id(id), "{id}");
    }
    for word in ["", "RFC", "RFC 6749", "D-4", "the", "SVC-", "-01", "SVC--01", "svc-2.1-01", "SHA-256 of it"] {
        assert!(!is_id(word), "{word}");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
