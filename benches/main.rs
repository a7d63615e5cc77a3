//! What the operations of the crate cost, beside the same work written out flat.
//!
//! ```sh
//! cargo bench --all-features                  # everything, one table at the end
//! cargo bench --all-features -- refresh       # the areas whose name contains "refresh"
//! ```
//!
//! The figures are written to `target/bench/main.json` too.

use std::path::Path;

mod measure;
mod options;
mod report;
#[cfg(feature = "postgres")]
#[expect(dead_code, reason = "the tests do more with servers than the benches")]
#[path = "../tests/servers/postgres.rs"]
mod servers_postgres;
#[cfg(feature = "redis")]
#[expect(dead_code, reason = "the tests do more with servers than the benches")]
#[path = "../tests/servers/redis.rs"]
mod servers_redis;
mod stores;

use options::Options;
use report::Report;

/// An area: its name, and what measures it.
type Area = (&'static str, fn(&Options, &mut Report));

const AREAS: &[Area] = &[("stores", stores::measure)];

fn main() -> std::io::Result<()> {
    let options = Options::from_arguments();
    let mut report = Report::default();
    for (name, measure) in AREAS {
        if options.wants(name) {
            measure(&options, &mut report);
        }
    }
    println!("{}", report.table());
    report.write_json(Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench/main.json").as_path())
}
