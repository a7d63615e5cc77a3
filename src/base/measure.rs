//! What the feature `metrics` measures: each figure is one function, with its name, its labels and its help text.
//! Without the feature, nothing is measured, and the calls cost nothing.
//!
//! Every label is a fixed word of this crate. Nothing that a request contains becomes one, neither a client nor a user
//! nor an address, so that no caller decides how many series there are.
//!
//! The crate `metrics` and not OpenTelemetry: it adds three crates, its recorders reach Prometheus, StatsD and
//! OpenTelemetry, and a service that wants only one of them needs no SDK. With the API of `opentelemetry`, at release
//! 0.33 when this was written, every user of this library would need the SDK and an exporter of the same release; its
//! exporter for Prometheus was declared discontinued once, and released again.

#[cfg(feature = "metrics")]
pub use self::switch::describe_metrics;
pub(crate) use self::switch::*;

/// How a request was answered, as a word.
#[cfg(feature = "metrics")]
const fn outcome(status: u16) -> &'static str {
    match status {
        ..400 => "answered",
        400..500 => "refused",
        _ => "failed",
    }
}

#[cfg(feature = "metrics")]
mod switch {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

    use super::outcome;

    /// Whether [`describe_metrics`] was called. The macros of `metrics` allocate a key for each figure, even if no
    /// recorder is installed.
    static IS_ON: AtomicBool = AtomicBool::new(false);

    /// Returns whether anything is measured.
    pub(crate) fn is_on() -> bool {
        IS_ON.load(Ordering::Relaxed)
    }

    fn when_on(record: impl FnOnce()) {
        if is_on() {
            record();
        }
    }

    /// When something began, if anything is measured.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Stopwatch(Option<Instant>);

    impl Stopwatch {
        #[expect(clippy::disallowed_methods, reason = "a duration, which decides nothing")]
        pub(crate) fn start() -> Self {
            Self(is_on().then(Instant::now))
        }

        /// Returns the seconds since then; `None` if nothing is measured.
        fn seconds(self) -> Option<f64> {
            self.0.map(|begun| begun.elapsed().as_secs_f64())
        }
    }

    pub(crate) fn request(begun: Stopwatch, request: &'static str, status: u16) {
        let Some(seconds) = begun.seconds() else { return };
        let outcome = outcome(status);
        histogram!("grantor_request_seconds", "request" => request, "outcome" => outcome).record(seconds);
    }

    pub(crate) fn refusal(request: &'static str, reason: &'static str) {
        when_on(|| counter!("grantor_refusals_total", "request" => request, "reason" => reason).increment(1));
    }

    pub(crate) fn event(event: &'static str, severity: &'static str) {
        when_on(|| counter!("grantor_events_total", "event" => event, "severity" => severity).increment(1));
    }

    pub(crate) fn call(begun: Stopwatch, table: &'static str, call: &'static str) {
        let Some(seconds) = begun.seconds() else { return };
        histogram!("grantor_store_seconds", "table" => table, "call" => call).record(seconds);
    }

    pub(crate) fn failed_call(table: &'static str, call: &'static str, failure: &'static str) {
        when_on(|| {
            counter!("grantor_store_failures_total", "table" => table, "call" => call, "failure" => failure)
                .increment(1)
        });
    }

    pub(crate) fn purged(begun: Stopwatch, rows: usize, is_finished: bool) {
        let Some(seconds) = begun.seconds() else { return };
        counter!("grantor_purged_rows_total").increment(rows.try_into().unwrap_or(u64::MAX));
        histogram!("grantor_purge_seconds").record(seconds);
        gauge!("grantor_purge_backlog").set(if is_finished { 0.0 } else { 1.0 });
    }

    pub(crate) fn locked_out(bound: &'static str, callers: usize) {
        when_on(|| gauge!("grantor_locked_out", "bound" => bound).set(number(callers)));
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn batch(store: &'static str, calls: &'static str, size: usize) {
        when_on(|| histogram!("grantor_store_batch", "store" => store, "calls" => calls).record(number(size)));
    }

    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn waiting(store: &'static str, calls: &'static str, count: usize) {
        when_on(|| gauge!("grantor_store_waiting", "store" => store, "calls" => calls).set(number(count)));
    }

    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn connected(store: &'static str) {
        when_on(|| counter!("grantor_store_connections_total", "store" => store).increment(1));
    }

    fn number(count: usize) -> f64 {
        u32::try_from(count).unwrap_or(u32::MAX).into()
    }

    /// Switches the figures on, and gives each its help text, at the recorder of this process or, within
    /// `metrics::with_local_recorder`, of this thread. Call it once, after the recorder was installed and before a
    /// server is built. Without it nothing is measured.
    ///
    /// The [guide](crate::guide::operating#metrics) lists the figures.
    pub fn describe_metrics() {
        IS_ON.store(true, Ordering::Relaxed);
        describe_histogram!("grantor_request_seconds", "Seconds that a request of the server, or a check, took.");
        describe_counter!("grantor_refusals_total", "Requests that were refused or failed, by their reason.");
        describe_counter!("grantor_events_total", "Events by name and severity.");
        describe_histogram!("grantor_store_seconds", "Seconds that a call of a store took.");
        describe_counter!(
            "grantor_store_failures_total",
            "Calls of a store that failed or that nobody awaits any more."
        );
        describe_histogram!("grantor_store_batch", "Calls that shared one statement or transaction.");
        describe_gauge!("grantor_store_waiting", "Calls that wait for a connection, or are in progress.");
        describe_counter!("grantor_store_connections_total", "Connections that were made, the first ones included.");
        describe_counter!("grantor_purged_rows_total", "Records that the purge removed.");
        describe_histogram!("grantor_purge_seconds", "Seconds that a step of the purge took.");
        describe_gauge!("grantor_purge_backlog", "1 while the last step of the purge left expired records.");
        describe_gauge!("grantor_locked_out", "Callers that the throttle refuses, as of the last attempt.");
    }
}

#[cfg(not(feature = "metrics"))]
mod switch {
    pub(crate) const fn is_on() -> bool {
        false
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Stopwatch;

    impl Stopwatch {
        pub(crate) const fn start() -> Self {
            Self
        }
    }

    #[cfg(feature = "tracing")]
    pub(crate) const fn request(_: Stopwatch, _: &'static str, _: u16) {}

    pub(crate) const fn refusal(_: &'static str, _: &'static str) {}

    pub(crate) const fn event(_: &'static str, _: &'static str) {}

    pub(crate) const fn call(_: Stopwatch, _: &'static str, _: &'static str) {}

    pub(crate) const fn failed_call(_: &'static str, _: &'static str, _: &'static str) {}

    pub(crate) const fn purged(_: Stopwatch, _: usize, _: bool) {}

    pub(crate) const fn locked_out(_: &'static str, _: usize) {}

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) const fn batch(_: &'static str, _: &'static str, _: usize) {}

    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) const fn waiting(_: &'static str, _: &'static str, _: usize) {}

    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) const fn connected(_: &'static str) {}
}
