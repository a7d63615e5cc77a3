//! Keeps the figures of the library, and writes them in the text format of Prometheus.
//!
//! A service has the exporter of its collector, such as the crate `metrics-exporter-prometheus`. This one shows all of
//! what such an exporter does with `--metrics`, without its 25 crates.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

/// The upper bounds of durations.
const SECONDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0];
/// The upper bounds of sizes.
const SIZES: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0];

/// A recorder of the crate `metrics`. Clones share what they have recorded.
#[derive(Clone, Default)]
pub(crate) struct Figures(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    helps: BTreeMap<String, String>,
    /// By name, then by labels.
    families: BTreeMap<String, BTreeMap<String, Arc<Series>>>,
}

/// One series: a name with its labels.
struct Series {
    kind: Kind,
    value: Mutex<Value>,
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram(&'static [f64]),
}

#[derive(Default)]
struct Value {
    /// The value of a counter or a gauge; the sum of a histogram.
    sum: f64,
    count: u64,
    /// How many recorded values are at most each bound.
    below: Vec<u64>,
}

impl Figures {
    /// Returns everything that was recorded, as Prometheus reads it.
    pub(crate) fn text(&self) -> String {
        let state = locked(&self.0);
        let mut text = String::new();
        for (name, family) in &state.families {
            let Some(first) = family.values().next() else { continue };
            let kind = match first.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram(_) => "histogram",
            };
            if let Some(help) = state.helps.get(name) {
                let _ = writeln!(text, "# HELP {name} {help}");
            }
            let _ = writeln!(text, "# TYPE {name} {kind}");
            for (labels, series) in family {
                let value = locked(&series.value);
                let Kind::Histogram(bounds) = series.kind else {
                    let _ = writeln!(text, "{name}{} {}", braced(&[labels]), value.sum);
                    continue;
                };
                let bounds = bounds.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
                for (bound, below) in bounds.zip(value.below.iter().chain([&value.count])) {
                    let _ = writeln!(text, "{name}_bucket{} {below}", braced(&[labels, &format!("le=\"{bound}\"")]));
                }
                let _ = writeln!(text, "{name}_sum{} {}", braced(&[labels]), value.sum);
                let _ = writeln!(text, "{name}_count{} {}", braced(&[labels]), value.count);
            }
        }
        text
    }

    fn series(&self, key: &Key, kind: Kind) -> Arc<Series> {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels = key.labels().map(|label| format!("{}=\"{}\"", label.key(), escaped(label.value())));
        let labels = labels.collect::<Vec<_>>().join(",");
        let mut state = locked(&self.0);
        let family = state.families.entry(key.name().to_owned()).or_default();
        Arc::clone(family.entry(labels).or_insert_with(|| Arc::new(Series { kind, value: Mutex::default() })))
    }

    fn describe(&self, name: &KeyName, help: &SharedString) {
        locked(&self.0).helps.insert(name.as_str().to_owned(), help.to_string());
    }
}

/// Labels in braces, or nothing.
fn braced(labels: &[&str]) -> String {
    let labels: Vec<_> = labels.iter().copied().filter(|own| !own.is_empty()).collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder for Figures {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key, Kind::Counter))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.series(key, Kind::Gauge))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let bounds: &[f64] = if key.name().ends_with("_seconds") { &SECONDS } else { &SIZES };
        Histogram::from_arc(self.series(key, Kind::Histogram(bounds)))
    }
}

impl CounterFn for Series {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn increment(&self, by: u64) {
        locked(&self.value).sum += by as f64;
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn absolute(&self, value: u64) {
        locked(&self.value).sum = value as f64;
    }
}

impl GaugeFn for Series {
    fn increment(&self, by: f64) {
        locked(&self.value).sum += by;
    }

    fn decrement(&self, by: f64) {
        locked(&self.value).sum -= by;
    }

    fn set(&self, value: f64) {
        locked(&self.value).sum = value;
    }
}

impl HistogramFn for Series {
    fn record(&self, recorded: f64) {
        let Kind::Histogram(bounds) = self.kind else { return };
        let mut value = locked(&self.value);
        value.sum += recorded;
        value.count += 1;
        value.below.resize(bounds.len(), 0);
        for (below, bound) in value.below.iter_mut().zip(bounds) {
            *below += u64::from(recorded <= *bound);
        }
    }
}
