//! What the operations of the crate cost, beside the same work written out flat.
//!
//! ```sh
//! cargo bench --all-features                  # everything, one table at the end
//! cargo bench --all-features -- refresh       # the areas whose name contains "refresh"
//! ```
//!
//! The figures are written to `target/bench/main.json` too. `src/guide/performance.md` says what they mean.

use std::path::Path;

mod authenticate;
mod dispatch;
mod exchange;
mod floor;
mod grants;
mod heap;
mod introspect;
mod machine;
mod measure;
mod memory;
mod options;
mod params;
mod pauses;
mod redirect_uri;
mod refresh;
mod registration;
mod report;
mod revoke;
mod secret;
#[cfg(feature = "postgres")]
#[expect(dead_code, reason = "the tests do more with servers than the benches")]
#[path = "../tests/servers/postgres.rs"]
mod servers_postgres;
#[cfg(feature = "redis")]
#[expect(dead_code, reason = "the tests do more with servers than the benches")]
#[path = "../tests/servers/redis.rs"]
mod servers_redis;
mod stores;
mod texts;
mod whole_flow;
mod world;

use options::Options;
use report::Report;

/// An area: its name, and what measures it.
type Area = (&'static str, fn(&Options, &mut Report));

const AREAS: &[Area] = &[
    ("redirect_uri", redirect_uri::measure),
    ("params", params::measure),
    ("secret", secret::measure),
    ("dispatch", dispatch::measure),
    // Before any other area refreshes the grants that are made once for all.
    ("memory", memory::measure),
    ("whole_flow", whole_flow::measure),
    ("exchange", exchange::measure),
    ("refresh", refresh::measure),
    ("authenticate", authenticate::measure),
    ("revoke", revoke::measure),
    ("introspect", introspect::measure),
    ("registration", registration::measure),
    ("pauses", pauses::measure),
    ("stores/sqlite", stores::sqlite::measure),
    #[cfg(feature = "postgres")]
    ("stores/postgres", stores::postgres::measure),
    #[cfg(feature = "redis")]
    ("stores/redis", stores::redis::measure),
];

fn main() -> std::io::Result<()> {
    let options = Options::from_arguments();
    let mut report = Report::default();
    report.remark(machine::remark());
    for (name, measure) in AREAS {
        if options.wants(name) {
            measure(&options, &mut report);
        }
    }
    if options.short {
        report.remark("A short run, which shows that everything works; its times say nothing.");
    }
    println!("{}", report.table());
    report.write_json(Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench/main.json").as_path())
}
