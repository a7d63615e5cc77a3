//! Options from the command line and the environment.

use std::env;

const USAGE: &str = "\
cargo bench --all-features [-- [AREA ...]]   measure the areas whose names contain one of the words, or all
  --list                                     print the areas
  -h, --help                                 print this
GRANTOR_BENCH_LARGE=1                        measure with ten million grants too
GRANTOR_BENCH_SERVERS=1                      measure stores on servers of their own too";

/// Which areas to measure, and how long.
pub(crate) struct Options {
    wanted: Vec<String>,
    /// One short round of everything: `cargo test --benches` only shows that it works.
    pub(crate) short: bool,
    /// Also with ten million grants (`GRANTOR_BENCH_LARGE=1`).
    pub(crate) large: bool,
}

impl Options {
    /// Cargo calls benches with `--bench`, and tests without it. `None` if the arguments ask for a text, which is
    /// printed.
    ///
    /// # Errors
    ///
    /// A text that names an argument that fits no area.
    pub(crate) fn from_arguments(areas: &[&str]) -> Result<Option<Self>, String> {
        let (flags, wanted): (Vec<String>, Vec<String>) =
            env::args().skip(1).partition(|argument| argument.starts_with('-'));
        if flags.iter().any(|flag| matches!(flag.as_str(), "-h" | "--help")) {
            println!("{USAGE}\n\nAreas: {}", areas.join(", "));
            return Ok(None);
        }
        if flags.iter().any(|flag| flag == "--list") {
            areas.iter().for_each(|area| println!("{area}: benchmark"));
            return Ok(None);
        }
        if let Some(unknown) = wanted.iter().find(|wanted| !areas.iter().any(|area| area.contains(wanted.as_str()))) {
            return Err(format!("no area's name contains {unknown:?}; there are {}", areas.join(", ")));
        }
        Ok(Some(Self {
            wanted,
            short: !flags.iter().any(|flag| flag == "--bench"),
            large: env::var_os("GRANTOR_BENCH_LARGE").is_some_and(|value| value == "1"),
        }))
    }

    /// Whether an area of this name is to be measured.
    pub(crate) fn wants(&self, area: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| area.contains(wanted.as_str()))
    }

    /// Whether stores are measured on servers of their own: in the short form only with `GRANTOR_BENCH_SERVERS`.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn starts_servers(&self) -> bool {
        !self.short || env::var_os("GRANTOR_BENCH_SERVERS").is_some()
    }

    /// Measured rounds of each contender, if a round takes at most some hundredths of a second.
    pub(crate) fn short_rounds(&self) -> usize {
        if self.short { 1 } else { 21 }
    }

    /// The table sizes that operations are measured with, in grants, the smallest first.
    pub(crate) fn sizes(&self) -> &'static [usize] {
        match (self.short, self.large) {
            (true, _) => &[400],
            (false, false) => &[10_000, 1_000_000],
            (false, true) => &[10_000, 1_000_000, 10_000_000],
        }
    }

    /// The largest of these sizes.
    pub(crate) fn largest(&self) -> usize {
        self.sizes().iter().copied().max().unwrap_or_default()
    }

    /// Operations of a round, if each takes about a microsecond.
    pub(crate) fn operations(&self) -> usize {
        if self.short { 100 } else { 10_000 }
    }
}

/// A count of grants as the ids of figures have it: 10k, 1M.
pub(crate) fn label(size: usize) -> String {
    match size {
        1_000_000.. => format!("{}M", size / 1_000_000),
        1_000.. => format!("{}k", size / 1_000),
        _ => size.to_string(),
    }
}
