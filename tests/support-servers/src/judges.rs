//! Third-party clients and tools, as `.ci/judges` has installed them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use support::folder::repository;

/// The folder of that line in `tests/system/tests/clients/open/versions`.
pub fn folder(name: &str) -> PathBuf {
    let folder = repository().join("target/judges").join(name);
    assert!(folder.join("installed").exists(), "{} is not installed: run .ci/judges", folder.display());
    folder
}

/// The folder with the scripts for a TypeScript SDK. Node looks for packages above a script's folder, so the scripts
/// are copied next to the SDK.
pub fn typescript(name: &str) -> PathBuf {
    let sdk = if name == "typescript-2" { "typescript_2.mjs" } else { "typescript_1.mjs" };
    let own = ["provider.mjs", "typescript.mjs", "browser.mjs"].map(|script| (script, script));
    copied_as(name, &sources(), own.into_iter().chain([(sdk, "sdk.mjs")]))
}

/// The folder with these scripts next to the packages of that line.
pub fn copied(name: &str, from: &Path, scripts: &[&str]) -> PathBuf {
    copied_as(name, from, scripts.iter().map(|script| (*script, *script)))
}

/// Copies each script once in this process, under the second name.
pub fn copied_as<'s>(name: &str, sources: &Path, own: impl Iterator<Item = (&'s str, &'s str)>) -> PathBuf {
    static COPIED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let scripts = folder(name).join("scripts");
    let mut copied = COPIED.lock().unwrap();
    if copied.insert(format!("{name} {}", sources.display())) {
        for (from, to) in own {
            let to = scripts.join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(sources.join(from), to).unwrap();
        }
    }
    scripts
}

/// The folder of the scripts in the repository.
pub fn sources() -> PathBuf {
    repository().join("tests/system/tests/clients/open")
}
