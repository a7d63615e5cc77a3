//! What the published packages depend on, as Cargo resolves it for Linux: licences, sources, compilers, duplicates.
//!
//! Advisories are not checked here: they are in a separate repository, which `cargo deny` or `cargo audit` would fetch.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::root;

/// Licences that only require their text to be included. `CDLA-Permissive-2.0` is for data: Mozilla's root
/// certificates.
const LICENCES: [&str; 9] = [
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// Crates that `grantor` has in two versions with all features, and the crate that needs the older one.
const TWICE: [&str; 5] = [
    "base64",            // tokio-postgres
    "const-oid",         // tokio-postgres-rustls
    "fallible-iterator", // tokio-postgres
    "getrandom",         // ring
    "syn",               // zeroize_derive, der_derive
];

/// A package of the graph.
struct Package {
    name: String,
    version: String,
    licence: String,
    source: Option<String>,
    rust_version: Option<String>,
}

#[test]
fn every_dependency_has_an_accepted_licence() {
    for Package { name, licence, .. } in below_published() {
        assert!(is_accepted(&licence), "{name}: {licence:?}; accepted are {LICENCES:?}");
    }
    assert!(is_accepted("MIT/Apache-2.0") && is_accepted("(MIT OR GPL-3.0) AND Unicode-3.0"));
    assert!(!is_accepted("GPL-3.0") && !is_accepted("MIT AND GPL-3.0") && !is_accepted(""));
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let of_us: BTreeSet<_> = published(&metadata()).into_iter().map(|(_, name)| name).collect();
    for Package { name, source, .. } in below_published() {
        let is_crates_io = source.as_deref() == Some("registry+https://github.com/rust-lang/crates.io-index");
        assert!(is_crates_io || source.is_none() && of_us.contains(&name), "{name} comes from {source:?}");
    }
}

/// `.ci/run` builds the library itself with that version.
#[test]
fn every_dependency_builds_with_the_stated_rust() {
    let stated = version(env!("CARGO_PKG_RUST_VERSION"));
    for Package { name, rust_version, .. } in below_published() {
        let Some(needed) = rust_version else { continue };
        assert!(version(&needed) <= stated, "{name} needs Rust {needed}");
    }
}

#[test]
fn no_crate_is_there_twice_but_the_listed_ones() {
    let metadata = metadata();
    let library = published(&metadata).into_iter().filter(|(_, name)| name == "grantor").map(|(id, _)| id).collect();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Package { name, version, .. } in packages_below(&metadata, library) {
        versions.entry(name).or_default().insert(version);
    }
    let twice: BTreeSet<_> =
        versions.iter().filter(|(_, versions)| versions.len() > 1).map(|(name, _)| name.as_str()).collect();
    assert_eq!(twice, TWICE.into(), "{versions:?}");
}

/// Whether one licence of each group that an expression joins by AND is accepted.
fn is_accepted(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|group| {
        let mut choices = group.trim_matches(['(', ')', ' ']).split(" OR ").map(str::trim);
        choices.any(|choice| LICENCES.contains(&choice))
    })
}

/// `1.95` and `1.95.0` are equal.
fn version(text: &str) -> Vec<u32> {
    let mut parts: Vec<_> = text.split('.').map(|part| part.parse().unwrap()).collect();
    parts.resize(3, 0);
    parts
}

/// By the lock file of the workspace, and by that of `libfuzzer`, in which Cargo chose the newest versions: the
/// platform holds one crate of the workspace at an older version.
fn below_published() -> Vec<Package> {
    let resolved = [metadata(), metadata_of("tests/fuzz/libfuzzer")];
    let packages: Vec<_> = resolved.iter().flat_map(below_published_by).collect();
    for name in ["idna_mapping", "icu_normalizer"] {
        assert!(packages.iter().any(|package| package.name == name), "{name} is in neither");
    }
    packages
}

fn below_published_by(metadata: &Value) -> Vec<Package> {
    let published = published(metadata).into_iter().map(|(id, _)| id).collect();
    let packages = packages_below(metadata, published);
    assert!(packages.len() > 50);
    packages
}

fn metadata() -> Value {
    metadata_of("")
}

/// What Cargo resolves for the manifest in a folder of the repository.
fn metadata_of(folder: &str) -> Value {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root().join(folder))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    serde_json::from_slice(&metadata.stdout).unwrap()
}

/// Ids and names of the packages of this repository that can be published.
fn published(metadata: &Value) -> Vec<(String, String)> {
    let packages = list(&metadata["packages"]).iter().filter(|package| package["source"].is_null());
    let packages = packages.filter(|package| package["publish"].is_null());
    packages.map(|package| (text(&package["id"]), text(&package["name"]))).collect()
}

/// Those packages and all that they are built from; what only tests need is left out.
fn packages_below(metadata: &Value, mut waiting: Vec<String>) -> Vec<Package> {
    let nodes: BTreeMap<_, _> =
        list(&metadata["resolve"]["nodes"]).iter().map(|node| (text(&node["id"]), node)).collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let built = list(&nodes[&id]["deps"])
            .iter()
            .filter(|dependency| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev"));
        let built: Vec<_> = built.map(|dependency| text(&dependency["pkg"])).collect();
        if reached.insert(id) {
            waiting.extend(built);
        }
    }
    let packages = list(&metadata["packages"]).iter().filter(|package| reached.contains(&text(&package["id"])));
    let optional = |value: &Value| value.as_str().map(str::to_owned);
    packages
        .map(|package| Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: optional(&package["license"]).unwrap_or_default(),
            source: optional(&package["source"]),
            rust_version: optional(&package["rust_version"]),
        })
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
