//! Cargo, started by a test to build and run something else.

use std::env;
use std::process::Command;

/// Cargo at the root of the package, without what the test was told about itself: `ring` watches that, and
/// would be built anew, with all that needs it, each time a test and a shell take turns.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    let told = env::vars_os().map(|(name, _)| name);
    for name in told.filter(|name| name.to_str().is_some_and(is_about_the_test)) {
        command.env_remove(name);
    }
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn is_about_the_test(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| variable.starts_with(start))
}
