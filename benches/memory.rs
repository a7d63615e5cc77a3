//! Heap of a live grant in the memory store, including all indexes and the free space of the tables.

use std::time::Duration;

use grantor::wire::Endpoint;

use crate::grants::{self, Grants};
use crate::heap;
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};

/// Divides the heap that many grants use by their number. Each grant has a subject of 13 characters, three scopes, and
/// one pair of tokens. The rows of the codes are removed first.
pub(crate) fn measure(options: &Options, report: &mut Report) {
    for &size in options.sizes() {
        grants::with(size, |grants| of(size, grants, report));
    }
}

fn of(size: usize, grants: &mut Grants, report: &mut Report) {
    let one_pair = grants.heap.bytes as f64 / size as f64;
    let blocks = grants.heap.blocks as f64 / size as f64;
    let stale = one_pair + of_a_stale_pair(grants);
    let figure = |case: &str, bytes| Figure::new(format!("memory/{case}/{}", label(size)), bytes, Unit::Bytes);
    // The goals are for many grants. With few, the free space of the tables has more weight.
    let figure = |case: &str, bytes, goal| match size {
        1_000_000.. => figure(case, bytes).goal(Goal::AtMost(goal)),
        _ => figure(case, bytes),
    };
    report.add(figure("one pair", one_pair, 400.0));
    report.add(figure("with a stale pair", stale, 480.0));
    report.add(Figure::new(format!("memory/one pair in blocks/{}", label(size)), blocks, Unit::Bytes));
}

/// Returns how much a grant grows with its first refresh.
fn of_a_stale_pair(grants: &mut Grants) -> f64 {
    let Grants { world, ours, .. } = grants;
    world.clock.advance(Duration::from_secs(400));
    let count = ours.headers.len();
    let mut growth = 0;
    let headers = ours.headers.parts_mut(0, count, 1).into_iter().flatten();
    let forms = ours.refreshes.parts_mut(0, count, 1).into_iter().flatten();
    for (header, form) in headers.zip(forms) {
        let ((), heap) = heap::of(|| {
            let response = world.post(Endpoint::Token, form);
            assert_eq!(response.status(), 200);
            ours.layout.take_over(response.body(), header, form);
        });
        growth += heap.bytes;
    }
    growth as f64 / count as f64
}
