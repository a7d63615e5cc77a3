//! Over HTTP: `cargo bench --manifest-path benches/peers/Cargo.toml --bench http`, see the library's documentation.

use std::path::Path;

use peers::http::{Effort, Figures, Options, report, serve};
use peers::table::publish;

fn main() {
    if let Some(options) = Options::from_args() {
        return serve(&options);
    }
    let quick = std::env::args().any(|arg| arg == "--quick");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target");
    let figures = Figures::measure(if quick { Effort::QUICK } else { Effort::FULL }, target);
    let (text, json) = report(&figures);
    publish(&text, &json, &target.join("peers_http.json"));
}
