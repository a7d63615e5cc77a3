//! Boxed futures of a trait object against a plain call: what stores behind `Arc<dyn …>` cost.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use async_trait::async_trait;

use crate::measure::{Contender, interleaved};
use crate::options::Options;
use crate::report::{Figure, Report, Unit};
use crate::world::ready;

/// A store of one look-up, in both ways.
pub(crate) fn measure(options: &Options, report: &mut Report) {
    let rows = Rows((0..1000).map(|key| (key, Arc::from("row"))).collect());
    let boxed: Arc<dyn Find> = Arc::new(Rows(rows.0.clone()));
    let count = options.operations() as u64 * 10;
    let mut call_boxed = || {
        for key in 0..count {
            assert!(ready(boxed.find(black_box(key % 1000))).is_some());
        }
        count
    };
    let mut call_plainly = || {
        for key in 0..count {
            assert!(ready(rows.find_plainly(black_box(key % 1000))).is_some());
        }
        count
    };
    let times = interleaved(
        options.short_rounds(),
        &mut [
            Contender { name: "boxed", round: &mut call_boxed },
            Contender { name: "plain", round: &mut call_plainly },
        ],
    );
    report.add(Figure::new("dispatch/find/boxed", times[0], Unit::Nanoseconds).beside("plain", times[1]));
}

#[async_trait]
trait Find: Send + Sync {
    async fn find(&self, key: u64) -> Option<Arc<str>>;
}

struct Rows(HashMap<u64, Arc<str>>);

impl Rows {
    async fn find_plainly(&self, key: u64) -> Option<Arc<str>> {
        self.0.get(&key).cloned()
    }
}

#[async_trait]
impl Find for Rows {
    async fn find(&self, key: u64) -> Option<Arc<str>> {
        self.0.get(&key).cloned()
    }
}
