//! The bodies of the fuzz targets, built once for all of them; see `Cargo.toml` on how to run one.

#[expect(dead_code, reason = "what a corpus has to reach is for the ordinary test")]
#[path = "../fuzzing/mod.rs"]
mod fuzzing;

/// Runs one input through a target.
///
/// # Panics
///
/// If a rule is broken.
pub fn check(target: &str, input: &[u8]) {
    let target = fuzzing::TARGETS.iter().find(|own| own.name == target).expect("a target of that name");
    (target.check)(input);
}
