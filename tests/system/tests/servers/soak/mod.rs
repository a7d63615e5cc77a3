//! The examples under mixed load for a long time, with the purge running: no answer but the expected one, memory,
//! threads and open files constant, latencies stable.
//!
//! `RUST_TEST_THREADS=2 cargo test --workspace --all-features --test servers soak:: -- --ignored --nocapture` is the
//! short form of ten seconds. The long one: `GRANTOR_SOAK_SECONDS=1800 RUST_TEST_THREADS=2 cargo test --release
//! --workspace --all-features --test servers soak:: -- --ignored --nocapture`. All three servers run side by side. Each
//! gets `GRANTOR_SOAK_RATE` requests a second, 100 by default and no fewer than 20. The short form ends before anything
//! may be purged: only the long one checks the purge, and the p99 by quarters.
//!
//! A record is kept for at least an hour after its end, so nothing would be purged in half an hour: the servers'
//! clocks go 60 times as fast, with tokens that last half an hour, which is 30 s here. Every record is gone 120 s
//! after its last use, and from then on a server holds as many as it removes.

mod application;
mod checks;
mod connection;
mod flow;
mod histogram;
mod load;
mod report;
mod server;
mod steps;
mod tally;

use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::soak::load::{Load, User};
use crate::soak::report::Report;
use crate::soak::server::{Example, Server};

/// How long, and how much.
#[derive(Clone, Copy, Debug)]
struct Settings {
    length: Duration,
    /// Requests a second for each server.
    rate: u32,
}

impl Settings {
    fn from_environment() -> Self {
        let number = |name: &str, default: u32| match std::env::var(name) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")),
            Err(_) => default,
        };
        let length = Duration::from_secs(number("GRANTOR_SOAK_SECONDS", 10).into());
        let rate = number("GRANTOR_SOAK_RATE", 100);
        assert!(rate >= 20, "codes last ten seconds here: slower flows outlive them");
        Self { length, rate }
    }
}

#[test]
#[ignore = "takes ten seconds in its short form, and builds the examples"]
fn the_examples_stay_as_they_are_under_mixed_load() {
    let settings = Settings::from_environment();
    let servers = Example::ALL.map(Server::start);
    let users = servers.each_ref().map(User::of);
    let begun = Instant::now();
    let loads: Vec<_> =
        servers.iter().zip(users).map(|(server, users)| Load::start(server, users, settings, begun)).collect();
    let mut reports: Vec<_> = servers.iter().zip(&loads).map(|(server, load)| Report::new(server, load)).collect();
    println!("{}", report::HEADING);
    for second in 1..=settings.length.as_secs() {
        thread::sleep((begun + Duration::from_secs(second)).saturating_duration_since(Instant::now()));
        for report in &mut reports {
            report.sample();
            if second % 60 == 0 || second == settings.length.as_secs() {
                println!("{}", report.row((second - 1) / 60));
            }
        }
    }
    loads.iter().for_each(Load::wait);
    let mut faults = Vec::new();
    for report in &reports {
        println!("\n{report}");
        faults.extend(checks::faults(report, settings));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
