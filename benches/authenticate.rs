//! The check of an access token at a resource in the same process.

use std::hint::black_box;

use grantor::wire::Request;

use crate::grants::{self, Grants, Tokens};
use crate::heap;
use crate::measure::{Lap, at_once, in_turns, timed};
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::world::{World, ready};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let times = options.sizes().iter().map(|&size| grants::with(size, |grants| at(size, grants, options, report)));
    let times: Vec<f64> = times.collect();
    if let ([fewest, .., max], true) = (times.as_slice(), options.large) {
        let figure = Figure::new("authenticate/header/10M to 10k", *max, Unit::Nanoseconds);
        report.add(figure.beside("at 10k", *fewest).goal(Goal::AtMost(4.5)));
    }
}

/// Checks live tokens in a shuffled order, and returns the time on one thread.
fn at(size: usize, grants: &Grants, options: &Options, report: &mut Report) -> f64 {
    let count = options.operations() * 10;
    let times = in_turns(
        options.short_rounds(),
        &mut [&mut || ours(grants, count, 1), &mut || floor(grants, count), &mut || ours(grants, count, 2)],
    );
    let size = label(size);
    let ns = |id: String, ns| Figure::new(id, ns, Unit::Nanoseconds);
    report.add(ns(format!("authenticate/header/{size}"), times[0]).beside("floor", times[1]).goal(Goal::AtMost(1.3)));
    let faster = Figure::new(format!("authenticate/two threads/{size}"), times[0] / times[2], Unit::Times);
    report.add(faster.goal(Goal::AtLeast(1.6)));
    let headers = grants.ours.headers.iter().take(100);
    let allocations = heap::allocations(headers.map(|header| authenticate(&grants.world, header)));
    let allocations = Figure::new(format!("authenticate/allocations/{size}"), allocations, Unit::Allocations);
    report.add(allocations.goal(Goal::AtMost(2.0)));
    times[0]
}

fn ours(grants: &Grants, operations: usize, threads: usize) -> Lap {
    let (world, tokens) = (&grants.world, &grants.ours);
    let (count, passes) = split(operations, tokens);
    let headers = tokens.headers.parts(tokens.advance(count), count, threads);
    let time = at_once(headers, |headers| {
        for _ in 0..passes {
            headers.clone().for_each(|header| authenticate(world, header));
        }
    });
    Lap { operations: (count * passes) as u64, time }
}

fn floor(grants: &Grants, operations: usize) -> Lap {
    let (tokens, now) = (&grants.flat, grants.world.now());
    let (count, passes) = split(operations, tokens);
    let headers = tokens.headers.parts(tokens.advance(count), count, 1).into_iter().flatten();
    let ((), time) = timed(|| {
        for _ in 0..passes {
            for header in headers.clone() {
                let token = grants.floor.authenticate(header, now).expect("a valid token");
                assert!(token.expires > now && !token.consent.subject.is_empty());
            }
        }
    });
    Lap { operations: (count * passes) as u64, time }
}

/// As many different tokens as there are, several times if those are too few.
fn split(operations: usize, tokens: &Tokens) -> (usize, usize) {
    let count = operations.min(tokens.headers.len());
    (count, operations / count)
}

/// Not inlined, so that a profiler finds it.
#[inline(never)]
fn authenticate(world: &World, header: &[u8]) {
    let token = ready(world.server.resource().authenticate(&Request::new("GET").header("Authorization", header)));
    let token = token.expect("a valid token");
    assert_eq!(token.client_id().as_str(), world.client.id);
    black_box(token);
}
