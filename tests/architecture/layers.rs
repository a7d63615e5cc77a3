//! Which module may import which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::root;
use crate::source::{self, Source, files_below};

/// The folders of `src`, from the top down: each may import those below it. The documentation shows the same list.
pub(crate) const LAYERS: [&str; 22] = [
    "interaction",
    "server",
    "endpoint",
    "authorization",
    "registration",
    "resource",
    "grant",
    "client_auth",
    "claim",
    "context",
    "fetch",
    "hooks",
    "error",
    "store",
    "config",
    "model",
    "wire",
    "jose",
    "scope",
    "secret",
    "text",
    "base",
];

/// Beside the layers: these may import all of them, and no folder imports these.
pub(crate) const BESIDE: [&str; 2] = ["testing", "guide"];

/// What the core does not know, although it is in a folder that it uses.
const LEAVES: [&str; 7] = [
    "hooks/throttle",
    "hooks/tracing_events",
    "store/cached",
    "store/memory",
    "store/postgres",
    "store/redis",
    "store/sqlite",
];

/// What files of one folder may share; all other files there must not import each other.
const SHARED: [(&str, &[&str]); 2] = [
    ("endpoint", &["client_request", "registration_request"]),
    (
        "grant",
        &[
            "first_pair",
            "id_token",
            "issue",
            "jwt",
            "list",
            "live_grants",
            "presented_access",
            "refresh_token",
            "release",
            "request",
            "revocation",
        ],
    ),
];

#[test]
fn no_module_imports_one_above_it() {
    let modules = modules("src");
    let imports = source::imports(&modules);
    assert!(imports.len() > 200, "too few imports were read: {}", imports.len());
    let upward: Vec<_> = imports.iter().filter(|(who, whom)| !allows(who, whom)).collect();
    assert!(upward.is_empty(), "imports against the layers: {upward:#?}");
}

/// A file that no `mod` line names is compiled by nobody, and its tests never run.
#[test]
fn every_file_is_a_module() {
    let folders = ["src", "tests/protocol", "tests/faults", "tests/model", "tests/support/src", "tests/system/tests"];
    for file in folders.iter().flat_map(|folder| files_below(&root().join(folder))) {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        if ["lib", "main", "build"].contains(&stem) {
            continue;
        }
        let own = file.parent().unwrap();
        let (name, folder) = match stem {
            "mod" => (own.file_name().unwrap().to_str().unwrap(), own.parent().unwrap()),
            stem => (stem, own),
        };
        let parents = ["mod.rs", "lib.rs", "main.rs"].map(|parent| folder.join(parent));
        let is_named = parents.iter().any(|parent| {
            parent != &file && fs::read_to_string(parent).is_ok_and(|text| text.contains(&format!("mod {name};")))
        });
        assert!(is_named, "no module names {}", file.display());
    }
}

#[test]
fn every_folder_has_one_layer() {
    let modules = modules("src");
    let folders: BTreeSet<_> =
        modules.iter().map(|module| folder(&module.module)).filter(|name| *name != "lib").collect();
    let layers: Vec<_> = LAYERS.into_iter().chain(BESIDE).collect();
    assert_eq!(layers.iter().copied().collect::<BTreeSet<_>>(), folders);
    assert_eq!(layers.len(), folders.len(), "a folder is listed twice");
}

#[test]
fn no_two_files_import_each_other_by_any_way_round() {
    for src in ["src", "benches"] {
        assert_has_no_circle(src);
    }
}

fn assert_has_no_circle(src: &str) {
    let modules = modules(src);
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (who, whom) in source::imports(&modules) {
        below.entry(who).or_default().insert(whom);
    }
    assert!(below.len() > 20, "too few files of {src} were read: {below:?}");
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
    assert!(below.is_empty(), "circles among the files of {src}: {below:#?}");
}

#[test]
fn endpoints_and_grants_know_only_what_they_share() {
    let modules = modules("src");
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
    let modules = modules("src");
    let leaf = |module: &str| LEAVES.into_iter().find(|leaf| is_below(leaf, module));
    let imports = source::imports(&modules);
    assert!(imports.iter().any(|(who, _)| leaf(who).is_some()), "no leaf was read");
    let wrong: Vec<_> = imports.iter().filter(|(who, whom)| leaf(whom).is_some() && leaf(who) != leaf(whom)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn modules(src: &str) -> Vec<Source> {
    source::modules(&root().join(src))
}

/// Whether the layers allow an import.
fn allows(who: &str, whom: &str) -> bool {
    let (who, whom) = (folder(who), folder(whom));
    let place = |folder: &str| LAYERS.iter().position(|layer| *layer == folder);
    who == whom || place(whom).is_some_and(|whom| BESIDE.contains(&who) || place(who).is_some_and(|who| who < whom))
}

fn folder(module: &str) -> &str {
    module.split('/').next().unwrap_or_default()
}

fn is_below(folder: &str, module: &str) -> bool {
    module.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[test]
fn a_folder_may_import_those_below_it_alone() {
    for (who, whom) in [
        ("server", "wire/page"),
        ("secret/refresh", "base/clock"),
        ("store", "model/grant"),
        ("grant/revocation", "claim"),
        ("endpoint/introspect", "resource/access_token"),
        ("endpoint/token", "grant/issue"),
        ("testing", "store/memory"),
    ] {
        assert!(allows(who, whom), "{who} may import {whom}");
        assert!(!allows(whom, who), "{whom} may not import {who}");
    }
    assert!(allows("wire", "wire/page") && !allows("wire", "nowhere") && !allows("testing", "guide"));
}

/// Only one module writes and then finds out whether its own write won. `ready` writes a row again as it is, to find
/// out whether the store takes writes.
#[test]
fn only_claims_write_to_stores() {
    let src = root().join("src");
    let exempt = ["claim", "server/ready.rs", "store", "testing"].map(|name| src.join(name));
    let files = files_below(&src).into_iter().filter(|file| !exempt.iter().any(|own| file.starts_with(own)));
    let mut read = 0;
    for file in files {
        let text: String = fs::read_to_string(&file).unwrap().split_whitespace().collect();
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
