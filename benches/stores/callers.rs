//! Callers at once, as the tasks of a server are.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

/// How long each call took, by round, in milliseconds.
#[derive(Clone, Default)]
pub(crate) struct Latencies(Arc<Mutex<Vec<Vec<f64>>>>);

impl Latencies {
    /// Takes what was measured, without the first round, which warms up.
    pub(crate) fn take(&self) -> Vec<f64> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().skip(1).flatten().collect()
    }

    fn add_round(&self, took: impl Iterator<Item = Duration>) {
        self.0.lock().unwrap().push(took.map(|took| took.as_secs_f64() * 1e3).collect());
    }
}

/// Callers that call again and again, and how often each.
#[derive(Clone, Copy)]
pub(crate) struct Callers {
    pub(crate) count: u32,
    pub(crate) calls: u32,
}

impl Callers {
    /// Returns `count` callers, which make about `calls` calls together.
    pub(crate) fn sharing(count: u32, calls: u32) -> Self {
        Self { count, calls: calls.div_ceil(count) }
    }

    pub(crate) fn all_calls(self) -> u64 {
        u64::from(self.count) * u64::from(self.calls)
    }

    /// Every caller makes its calls one after the other. Returns the number of all calls. `call` gets the caller and
    /// the number of its call.
    #[expect(clippy::disallowed_methods, reason = "a bench measures the time that passes")]
    pub(crate) fn run<F>(self, runtime: &Runtime, latencies: &Latencies, call: impl Fn(u32, u32) -> F) -> u64
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let call = &call;
        let tasks: Vec<_> = (0..self.count)
            .map(|caller| {
                let calls: Vec<F> = (0..self.calls).map(|number| call(caller, number)).collect();
                runtime.spawn(async move {
                    let mut took = Vec::with_capacity(calls.len());
                    for call in calls {
                        let begun = Instant::now();
                        call.await;
                        took.push(begun.elapsed());
                    }
                    took
                })
            })
            .collect();
        let took: Vec<_> = tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).collect();
        latencies.add_round(took.into_iter().flatten());
        self.all_calls()
    }
}
