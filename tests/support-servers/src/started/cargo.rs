//! Cargo, started by a test to build and run something else.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use support::folder::repository;

/// Cargo at the root of the repository, for the target folder of this test, and without the environment variables that
/// describe the test: `ring` watches those, and would be built anew, with all that needs it, each time a test and a
/// shell take turns.
pub fn cargo(command: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    let variables = env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| name.to_str().is_some_and(is_about_the_test)) {
        cargo.env_remove(name);
    }
    cargo.current_dir(repository()).args([command, "--all-features"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    cargo.arg("--target-dir").arg(built().parent().unwrap());
    cargo
}

/// The platform.
pub fn platform() -> PathBuf {
    PROGRAMS.join("platform")
}

/// The MCP server with its authorization server.
pub fn mcp() -> PathBuf {
    PROGRAMS.join("mcp")
}

/// An example of any package.
pub fn example(name: &str) -> PathBuf {
    PROGRAMS.join("examples").join(name)
}

/// Where they are, built once in each process; `cargo test --workspace` has built them already. With an example among
/// them, the dependencies have the features that they have for tests.
static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(|| {
    let targets = [
        "--bin",
        "platform",
        "--bin",
        "mcp",
        "--example",
        "axum",
        "--example",
        "actix",
        "--example",
        "getting_started",
        "--example",
        "minimal",
    ];
    let output = cargo("build")
        .args(["--quiet", "--workspace"])
        .args(targets)
        .output()
        .expect("cargo is there: it started this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    built().to_owned()
});

/// The folder of this test's profile, such as `target/debug`.
fn built() -> &'static Path {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = env::current_exe().unwrap();
        // target/debug/deps/program
        program.ancestors().nth(2).expect("cargo has built this program").to_owned()
    });
    &BUILT
}

fn is_about_the_test(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| variable.starts_with(start))
}
