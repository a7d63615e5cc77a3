//! What is printed: a row a minute, and a summary for each server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::soak::histogram::Histogram;
use crate::soak::load::Load;
use crate::soak::server::{Server, Size};
use crate::soak::tally::Tally;

pub(crate) const HEADING: &str =
    "minute server    requests  faults  p50 ms  p99 ms  max ms  memory KiB  threads  files   purged";

/// A server with all that was seen of it.
pub(crate) struct Report<'a> {
    pub(crate) server: &'a Server,
    pub(crate) tally: Arc<Tally>,
    /// Before the first request.
    start: Size,
    /// One each second.
    pub(crate) sizes: Vec<Size>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(server: &'a Server, load: &Load) -> Self {
        Self { server, tally: load.tally.clone(), start: server.size(), sizes: Vec::new() }
    }

    pub(crate) fn sample(&mut self) {
        self.sizes.push(self.server.size());
    }

    /// The samples of one quarter of the time.
    pub(crate) fn quarter(&self, number: usize) -> &[Size] {
        let count = self.sizes.len();
        &self.sizes[count * number / 4..count * (number + 1) / 4]
    }

    /// The mean of a quarter, in KiB.
    pub(crate) fn memory(&self, quarter: usize) -> u64 {
        let sizes = self.quarter(quarter);
        let sum: u64 = sizes.iter().map(|size| size.resident_kib).sum();
        sum / u64::try_from(sizes.len().max(1)).unwrap()
    }

    pub(crate) fn row(&self, minute: u64) -> String {
        let seen = self.tally.seen();
        let histogram = usize::try_from(minute).ok().and_then(|minute| seen.minutes.get(minute));
        let histogram = histogram.cloned().unwrap_or_else(Histogram::new);
        let Size { resident_kib, threads, open_files } = self.sizes.last().copied().unwrap_or(self.start);
        let [p50, p99, max] = milliseconds(&histogram);
        format!(
            "{minute:6} {:9} {:8} {:7} {p50} {p99} {max} {resident_kib:11} {threads:8} {open_files:6} {:8}",
            self.server.example.name(),
            histogram.count(),
            seen.fault_count,
            self.server.said().purged,
        )
    }
}

fn milliseconds(histogram: &Histogram) -> [String; 3] {
    let latencies = [histogram.quantile(500), histogram.quantile(990), histogram.max()];
    latencies.map(|latency: Duration| format!("{:7.2}", latency.as_secs_f64() * 1e3))
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.tally.seen();
        let (name, count) = (self.server.example.name(), seen.request_count());
        writeln!(f, "{name}: {count} requests, {} faults, {} flows given up", seen.fault_count, seen.given_up)?;
        for (kind, count) in &seen.requests {
            writeln!(f, "  {kind:26} {count:8}")?;
        }
        for (number, histogram) in seen.quarters.iter().enumerate() {
            let [p50, p99, max] = milliseconds(&histogram.clone().unwrap_or_else(Histogram::new));
            let (memory, number) = (self.memory(number), number + 1);
            writeln!(f, "  quarter {number}: p50 {p50} ms, p99 {p99} ms, max {max} ms, memory {memory} KiB")?;
        }
        let (start, end) = (self.start, self.sizes.last().copied().unwrap_or(self.start));
        writeln!(f, "  at the start {start:?}")?;
        writeln!(f, "  at the end   {end:?}")?;
        write!(f, "  records made {}, purged {}", seen.records_until(usize::MAX), self.server.said().purged)
    }
}
