//! Everything that any crate logs, at every level and under every target.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once};

use log::{LevelFilter, Log};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static LINES: Mutex<String> = Mutex::new(String::new());

/// Begins to keep what is logged, by all tests of the process.
pub(crate) fn keep() {
    static KEPT: Once = Once::new();
    KEPT.call_once(|| {
        tracing::subscriber::set_global_default(Lines).unwrap();
        log::set_logger(&Lines).unwrap();
        log::set_max_level(LevelFilter::Trace);
    });
}

pub(crate) fn so_far() -> String {
    LINES.lock().unwrap().clone()
}

/// Keeps each line as `target LEVEL text`.
#[derive(Debug)]
struct Lines;

struct Line(String);

impl Drop for Line {
    fn drop(&mut self) {
        self.0.push('\n');
        LINES.lock().unwrap().push_str(&self.0);
    }
}

impl Line {
    fn of(metadata: &Metadata<'_>) -> Self {
        Self(format!("{} {} {}", metadata.target(), metadata.level(), metadata.name()))
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Line::of(event.metadata()));
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Line::of(span.metadata()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Line("a span".to_owned()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        drop(Line(format!("{} {} {}", record.target(), record.level(), record.args())));
    }

    fn flush(&self) {}
}
