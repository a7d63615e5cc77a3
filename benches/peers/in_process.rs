//! In one process: `cargo bench --manifest-path benches/peers/Cargo.toml`, see the library's documentation.

use std::path::Path;

use peers::in_process::{Effort, Figures, report};
use peers::table::publish;

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let figures = Figures::measure(if quick { Effort::QUICK } else { Effort::FULL });
    let (text, json) = report(&figures);
    publish(&text, &json, &Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers_in_process.json"));
}
