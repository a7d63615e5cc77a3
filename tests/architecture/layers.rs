//! Which module may import which.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{self, Source};

/// Each line may import only lines below it; within a group, left may import right.
const LAYERS: &str = "
leaves      store/cached   store/memory   store/postgres   store/redis   store/sqlite   testing   hooks/throttle   hooks/tracing_events   guide
pages       interaction
facade      server
protocol    endpoint -> authorization -> registration -> grant   endpoint -> resource -> client_auth   resource -> grant   authorization -> client_auth
claim       claim
context     context
proofs      client_auth/dpop
fetch       fetch/key_sets   fetch/documents
hooks       hooks -> error -> store
endpoints   endpoint/table
settings    config
model       model
messages    wire/message -> secret/pkce
vocabulary  scope -> text -> secret -> model/id -> secret/entropy, clock   model/codec -> clock   fetch -> fetch/cache, fetch/flight -> clock   jose -> wire/json   wire -> model/subject   hooks/span
causes      text/causes
";

/// Imported by the crate's root alone.
const LEAVES: &str = "leaves";

/// What files of one folder may share; all other files there must not import each other.
const SHARED: [(&str, &[&str]); 2] = [
    ("endpoint", &["client_request", "registration_request", "table"]),
    (
        "grant",
        &[
            "request",
            "described_token",
            "first_pair",
            "fixtures",
            "issue",
            "jwt",
            "list",
            "live_grants",
            "presented_access",
            "refresh_token",
            "revocation",
        ],
    ),
];

#[test]
fn no_module_imports_one_above_it() {
    let modules = modules();
    let layers = Layers::read();
    let imports = source::imports(&modules);
    assert!(imports.len() > 200, "too few imports were read: {}", imports.len());
    let upward: Vec<_> = imports.iter().filter(|(who, whom)| !layers.allow(who, whom)).collect();
    assert!(upward.is_empty(), "imports against the layers: {upward:#?}");
}

#[test]
fn every_module_has_its_layer() {
    let layers = Layers::read();
    let modules = modules();
    let homeless: Vec<_> = modules.iter().filter(|module| layers.unit(&module.module).is_none()).collect();
    assert!(homeless.is_empty(), "without a layer: {homeless:#?}");
}

#[test]
fn no_two_files_import_each_other_by_any_way_round() {
    let modules = modules();
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (who, whom) in source::imports(&modules) {
        below.entry(who).or_default().insert(whom);
    }
    // A module that imports none of the rest, or that none of the rest imports, is on no circle.
    loop {
        let left: BTreeSet<_> = below.keys().copied().collect();
        below.values_mut().for_each(|whom| whom.retain(|whom| left.contains(whom)));
        let imported: BTreeSet<_> = below.values().flatten().copied().collect();
        below.retain(|who, whom| imported.contains(who) && !whom.is_empty());
        if below.len() == left.len() {
            break;
        }
    }
    assert!(below.is_empty(), "circles among: {below:#?}");
}

#[test]
fn endpoints_and_grants_know_only_what_they_share() {
    let modules = modules();
    for (folder, shared) in SHARED {
        // A part that outgrew one file is a folder.
        let part = |module: &str| {
            let below = module.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'))?;
            Some(below.split('/').next().unwrap_or_default().to_owned())
        };
        let inside = |module: &str| part(module).is_some();
        let is_shared = |whom: &str| part(whom).is_some_and(|part| shared.contains(&part.as_str()));
        let imports = source::imports(&modules);
        let within: Vec<_> = imports.iter().filter(|(who, whom)| inside(who) && inside(whom)).collect();
        assert!(!within.is_empty(), "nothing was read of {folder}");
        let wrong: Vec<_> = within.iter().filter(|(who, whom)| part(who) != part(whom) && !is_shared(whom)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

#[test]
fn leaves_are_imported_by_the_root_alone() {
    let modules = modules();
    let layers = Layers::read();
    let is_leaf = |module: &str| layers.unit(module).is_some_and(|unit| layers.leaves.contains(unit));
    let imports = source::imports(&modules);
    let wrong: Vec<_> =
        imports.iter().filter(|(who, whom)| is_leaf(whom) && layers.unit(who) != layers.unit(whom)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn modules() -> Vec<Source> {
    source::modules(&crate::root().join("src"))
}

struct Layers {
    /// The line of each unit, counted from the top.
    lines: BTreeMap<&'static str, usize>,
    /// What may be imported on the same line.
    sideways: BTreeSet<(&'static str, &'static str)>,
    leaves: BTreeSet<&'static str>,
}

impl Layers {
    fn read() -> Self {
        let mut layers = Self { lines: BTreeMap::new(), sideways: BTreeSet::new(), leaves: BTreeSet::new() };
        for (number, line) in LAYERS.trim().lines().enumerate() {
            let (name, groups) = line.split_once("  ").unwrap();
            for group in groups.split("  ").map(str::trim).filter(|group| !group.is_empty()) {
                let steps: Vec<Vec<_>> = group.split(" -> ").map(|step| step.split(", ").collect()).collect();
                for (place, step) in steps.iter().enumerate() {
                    let right = || steps[place + 1..].iter().flatten();
                    layers.sideways.extend(step.iter().flat_map(|left| right().map(|right| (*left, *right))));
                    layers.lines.extend(step.iter().map(|unit| (*unit, number)));
                    layers.leaves.extend(step.iter().filter(|_| name == LEAVES));
                }
            }
        }
        layers
    }

    /// The longest unit that a module belongs to.
    fn unit(&self, module: &str) -> Option<&'static str> {
        let holds = |unit: &str| module.strip_prefix(unit).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.lines.keys().filter(|unit| holds(unit)).max_by_key(|unit| unit.len()).copied()
    }

    fn allow(&self, who: &str, whom: &str) -> bool {
        let (Some(who), Some(whom)) = (self.unit(who), self.unit(whom)) else { return false };
        who == whom || self.lines[who] < self.lines[whom] || self.sideways.contains(&(who, whom))
    }
}

#[test]
fn the_table_says_who_is_above_whom() {
    let layers = Layers::read();
    for (who, whom) in [
        ("server", "wire/page"),
        ("secret/refresh", "clock"),
        ("store", "model/grant"),
        ("grant/revocation", "claim"),
        ("endpoint/introspect", "resource/access_token"),
        ("endpoint/token", "grant/issue"),
    ] {
        assert!(layers.allow(who, whom), "{who} may import {whom}");
        assert!(!layers.allow(whom, who), "{whom} may not import {who}");
    }
    for (who, whom) in [
        ("registration", "endpoint/token"),
        ("clock", "secret/entropy"),
        ("scope", "wire"),
        ("testing", "store/memory"),
    ] {
        assert!(!layers.allow(who, whom), "{who} may not import {whom}");
    }
}

/// Only one module writes and then finds out whether its own write won.
#[test]
fn only_claims_write_to_stores() {
    let src = crate::root().join("src");
    let exempt = ["claim", "store", "testing"].map(|name| src.join(name));
    let files = source::files_below(&src).into_iter().filter(|file| !exempt.iter().any(|own| file.starts_with(own)));
    let mut read = 0;
    for file in files {
        let text: String = std::fs::read_to_string(&file).unwrap().split_whitespace().collect();
        let library = text.split("#[cfg(test)]").next().unwrap_or_default();
        for store in
            ["tokens", "codes", "registry", "registry()?", "clients", "purges", "pushed_requests", "pushed_requests()?"]
        {
            for call in ["insert", "replace", "confirm"] {
                let found = library.contains(&format!("{store}.{call}("));
                assert!(!found, "{} calls {store}.{call}", file.display());
            }
        }
        read += 1;
    }
    assert!(read > 60, "too few files were read: {read}");
}
