//! What the command line and the environment ask for.

use std::env;

/// Which areas to measure, and how long.
pub(crate) struct Options {
    wanted: Vec<String>,
    /// One short round of everything: `cargo test --benches` only shows that it works.
    pub(crate) short: bool,
    /// Also with ten million grants (`GRANTOR_BENCH_LARGE=1`; needs about 5 GB of memory).
    pub(crate) large: bool,
}

impl Options {
    /// Cargo calls benches with `--bench`, and tests without it.
    pub(crate) fn from_arguments() -> Self {
        let (flags, wanted): (Vec<String>, Vec<String>) =
            env::args().skip(1).partition(|argument| argument.starts_with("--"));
        Self {
            wanted,
            short: !flags.iter().any(|flag| flag == "--bench"),
            large: env::var_os("GRANTOR_BENCH_LARGE").is_some_and(|value| value == "1"),
        }
    }

    /// Whether an area of this name is to be measured.
    pub(crate) fn wants(&self, area: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| area.contains(wanted.as_str()))
    }

    /// Measured rounds of each contender.
    pub(crate) fn rounds(&self) -> usize {
        if self.short { 1 } else { 7 }
    }
}
