//! The token endpoint: a refresh token becomes the next pair of tokens.
//!
//! Random bytes come from the system's generator, since drawing them is part of the operation.

use std::cell::RefCell;
use std::time::Duration;

use grantor::wire::Endpoint;

use crate::floor::Floor;
use crate::grants::{self, Grants, Tokens};
use crate::heap;
use crate::measure::{Lap, at_once, in_turns, timed};
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::world::{Layout, World};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for &size in options.sizes() {
        grants::with(size, |grants| at(size, grants, options, report));
    }
}

/// Form credentials. Each round uses the newest tokens of grants that no round has used for 360 seconds. So a record
/// has at most one stale pair, which the refresh removes.
fn at(size: usize, grants: &mut Grants, options: &Options, report: &mut Report) {
    let count = options.operations();
    let Grants { world, floor, ours, flat, .. } = grants;
    let ours = RefCell::new(ours);
    let times = in_turns(
        options.short_rounds(),
        &mut [
            &mut || round(world, &mut ours.borrow_mut(), count, 1),
            &mut || round_of_floor(world, floor, flat, count),
            &mut || round(world, &mut ours.borrow_mut(), count, 2),
        ],
    );
    let size = label(size);
    let ns = |id: String, ns| Figure::new(id, ns, Unit::Nanoseconds);
    report.add(ns(format!("refresh/form/{size}"), times[0]).beside("floor", times[1]).goal(Goal::AtMost(1.5)));
    let faster = Figure::new(format!("refresh/two threads/{size}"), times[0] / times[2], Unit::Times);
    report.add(faster.goal(Goal::AtLeast(1.6)));
    let allocations = allocations(world, &mut ours.borrow_mut());
    let allocations = Figure::new(format!("refresh/allocations/{size}"), allocations, Unit::Allocations);
    report.add(allocations.goal(Goal::AtMost(10.0)));
}

fn round(world: &World, tokens: &mut Tokens, count: usize, threads: usize) -> Lap {
    world.clock.advance(Duration::from_secs(400));
    let first = tokens.advance(count);
    let Tokens { headers, refreshes, layout, .. } = tokens;
    let headers = headers.parts_mut(first, count, threads);
    let parts = headers.into_iter().zip(refreshes.parts_mut(first, count, threads)).collect();
    let time = at_once(parts, |(headers, forms)| {
        headers.zip(forms).for_each(|(header, form)| refresh(world, layout, header, form));
    });
    Lap { operations: count as u64, time }
}

/// Takes over both tokens of the answer, as a client does. Not inlined, so that a profiler finds it.
#[inline(never)]
fn refresh(world: &World, layout: &Layout, header: &mut [u8], form: &mut [u8]) {
    let response = world.post(Endpoint::Token, form);
    assert_eq!(response.status(), 200);
    layout.take_over(response.body(), header, form);
}

fn round_of_floor(world: &World, floor: &Floor, tokens: &mut Tokens, count: usize) -> Lap {
    world.clock.advance(Duration::from_secs(400));
    let (first, now) = (tokens.advance(count), world.now());
    let Tokens { headers, refreshes, layout, .. } = tokens;
    let headers = headers.parts_mut(first, count, 1).into_iter().flatten();
    let forms = refreshes.parts_mut(first, count, 1).into_iter().flatten();
    let ((), time) = timed(|| {
        for (header, form) in headers.zip(forms) {
            let answer = floor.refresh(form, now).expect("a valid refresh token");
            layout.take_over(&answer, header, form);
        }
    });
    Lap { operations: count as u64, time }
}

fn allocations(world: &World, tokens: &mut Tokens) -> f64 {
    world.clock.advance(Duration::from_secs(400));
    let first = tokens.advance(100);
    let Tokens { headers, refreshes, layout, .. } = tokens;
    let headers = headers.parts_mut(first, 100, 1).into_iter().flatten();
    let forms = refreshes.parts_mut(first, 100, 1).into_iter().flatten();
    heap::allocations(headers.zip(forms).map(|(header, form)| refresh(world, layout, header, form)))
}
