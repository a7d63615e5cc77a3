//! What the operations of the crate cost, beside the same work written out flat.
//!
//! ```sh
//! cargo bench --all-features                  # everything, one table at the end
//! cargo bench --all-features -- refresh       # the areas whose name contains "refresh"
//! ```
//!
//! The figures are written to `target/bench/main.json` too, those of a short run to `main.short.json`.
//! `src/guide/performance.md` says what they mean, and `results` has those of earlier runs.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

#[cfg(feature = "jose")]
mod apart;
mod authenticate;
mod dispatch;
mod exchange;
mod floor;
mod grant_types;
mod grants;
mod heap;
mod introspect;
mod machine;
mod measure;
mod memory;
mod options;
mod params;
mod pauses;
mod proof;
mod redirect_uri;
mod refresh;
mod registration;
mod report;
mod revoke;
mod secret;
#[cfg(feature = "jose")]
mod signatures;
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
    // First, because other areas refresh the grants that all of them share.
    ("memory", memory::measure),
    ("whole_flow", whole_flow::measure),
    ("exchange", exchange::measure),
    ("refresh", refresh::measure),
    ("authenticate", authenticate::measure),
    ("revoke", revoke::measure),
    ("introspect", introspect::measure),
    ("registration", registration::measure),
    #[cfg(feature = "jose")]
    ("signatures", signatures::measure),
    #[cfg(feature = "jose")]
    ("apart", apart::measure),
    ("pauses", pauses::measure),
    ("grant_types", grant_types::measure),
    ("stores/sqlite", stores::sqlite::measure),
    #[cfg(feature = "postgres")]
    ("stores/postgres", stores::postgres::measure),
    #[cfg(feature = "redis")]
    ("stores/redis", stores::redis::measure),
];

fn main() -> io::Result<ExitCode> {
    let names: Vec<_> = AREAS.iter().map(|(name, _)| *name).collect();
    let options = match Options::from_arguments(&names) {
        Ok(Some(options)) => options,
        Ok(None) => return Ok(ExitCode::SUCCESS),
        Err(text) => {
            eprintln!("{text}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut report = Report::default();
    report.remark(machine::remark());
    let mut exit_code = ExitCode::SUCCESS;
    for (name, measure) in AREAS.iter().filter(|(name, _)| options.wants(name)) {
        // A panic must not lose the figures of the other areas.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| measure(&options, &mut report))) {
            report.remark(format!("{name} failed, so some of its figures are missing: {}", message(&*panic)));
            exit_code = ExitCode::FAILURE;
        }
    }
    if options.short {
        report.remark("A short run, which shows that everything works; its times say nothing.");
    }
    println!("{}", report.table());
    let file = if options.short { "main.short.json" } else { "main.json" };
    report.write_json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench").join(file))?;
    Ok(exit_code)
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
