//! An example in its own process, and what the system and the example itself report about it.

use std::fs;
use std::path::PathBuf;

use support_servers::started::{Started, cargo};

/// How many times as fast as the system's the clocks of the servers go.
pub(crate) const CLOCK_SPEED: u32 = 60;
/// Seconds of the server's clock.
pub(crate) const TOKEN_LIFETIME: u32 = 1800;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Example {
    Axum,
    Actix,
    Platform,
}

impl Example {
    pub(crate) const ALL: [Self; 3] = [Self::Axum, Self::Actix, Self::Platform];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Axum => "axum",
            Self::Actix => "actix",
            Self::Platform => "platform",
        }
    }
}

/// A running example. Dropping this value ends it and removes its database.
pub(crate) struct Server {
    pub(crate) example: Example,
    started: Started,
}

/// What its log said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) purged: u64,
    /// Lines that should not be there.
    pub(crate) complaints: Vec<String>,
}

/// How large it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) resident_kib: u64,
    pub(crate) threads: u64,
    pub(crate) open_files: u64,
}

impl Server {
    /// Starts the example; cargo builds it first, as this test was built.
    pub(crate) fn start(example: Example) -> Self {
        let (speed, lifetime) = (CLOCK_SPEED.to_string(), TOKEN_LIFETIME.to_string());
        let lifetimes = ["--access-token-lifetime", &lifetime, "--refresh-token-lifetime", &lifetime];
        let options = [&["--clock-speed", &speed][..], &lifetimes].concat();
        let started = match example {
            Example::Axum | Example::Actix => Started::start(cargo::example(example.name()), &options),
            Example::Platform => Started::platform(cargo::platform(), "soak", &options),
        };
        Self { example, started }
    }

    /// What it reports about itself.
    pub(crate) fn about(&self, name: &str) -> &str {
        self.started.about(name)
    }

    pub(crate) fn said(&self) -> Said {
        let mut said = Said::default();
        self.started.log().lines().for_each(|line| said.hear(self.example, line));
        said
    }

    pub(crate) fn size(&self) -> Size {
        let folder = PathBuf::from(format!("/proc/{}", self.started.process()));
        let status = fs::read_to_string(folder.join("status")).expect("the server is running");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            number.unwrap_or_else(|| panic!("{name} in {status}"))
        };
        let open_files = fs::read_dir(folder.join("fd")).expect("the server is running").count();
        Size {
            resident_kib: number("VmRSS:"),
            threads: number("Threads:"),
            open_files: u64::try_from(open_files).unwrap(),
        }
    }
}

impl Said {
    fn hear(&mut self, example: Example, line: &str) {
        let purged = line.rsplit_once("purge: ").and_then(|(_, rest)| rest.strip_suffix(" records removed"));
        if let Some(purged) = purged.and_then(|count| count.parse::<u64>().ok()) {
            self.purged += purged;
        } else if example != Example::Platform || line.contains("ERROR") || line.contains("panicked") {
            self.complaints.push(line.to_owned());
        }
    }
}
