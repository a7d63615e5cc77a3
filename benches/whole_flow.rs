//! From the authorization request to the first pair of tokens: authorize, hold, decide, exchange.
//!
//! Random bytes come from the system's generator, since drawing them is part of the operation.

use grantor::wire::Endpoint;

use crate::grants::{self, Grants};
use crate::heap;
use crate::measure::{Lap, at_once, in_turns, timed};
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::world::{self, START, World};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for &size in options.sizes() {
        grants::with(size, |grants| at(size, grants, options, report));
    }
}

/// All seven parameters, consent to everything; the user's part takes no time. The floor writes one row
/// where the library writes two, since it has no consent page to protect.
fn at(size: usize, grants: &Grants, options: &Options, report: &mut Report) {
    let count = options.operations() / 2;
    let world = &grants.world;
    let times = in_turns(
        options.short_rounds(),
        &mut [&mut || ours(world, count, 1), &mut || floor(grants, count), &mut || ours(world, count, 2)],
    );
    let size = label(size);
    let whole = Figure::new(format!("whole_flow/form/{size}"), times[0], Unit::Nanoseconds);
    report.add(whole.beside("floor", times[1]));
    let faster = Figure::new(format!("whole_flow/two threads/{size}"), times[0] / times[2], Unit::Times);
    report.add(faster.goal(Goal::AtLeast(1.6)));
    let query = world::query(&world.client);
    let allocations =
        world.put_away(|| heap::allocations((0..100).map(|number| flow(world, query.as_bytes(), number))));
    report.add(Figure::new(format!("whole_flow/allocations/{size}"), allocations, Unit::Allocations));
}

fn ours(world: &World, count: usize, threads: usize) -> Lap {
    let query = world::query(&world.client);
    let parts = (0..threads).map(|thread| count / threads * thread..count / threads * (thread + 1));
    let time = world.put_away(|| {
        at_once(parts.collect(), |numbers| numbers.for_each(|number| flow(world, query.as_bytes(), number)))
    });
    Lap { operations: count as u64, time }
}

/// Includes the client's own work: it reads the code and writes the form.
fn flow(world: &World, query: &[u8], number: usize) {
    let form = world.exchange_form(query, &world::subject(number));
    let response = world.post(Endpoint::Token, form.as_bytes());
    assert_eq!(response.status(), 200);
}

fn floor(grants: &Grants, count: usize) -> Lap {
    let Grants { world, floor, .. } = grants;
    let query = world::query(&world.client);
    let mut codes = Vec::with_capacity(count);
    let ((), time) = timed(|| {
        for number in 0..count {
            let subject = world::subject(number);
            let location = floor.authorize(query.as_bytes(), subject.as_str(), START).expect("a valid request");
            let form = world::exchange_form(&world.client, world::code_of(&location));
            assert!(floor.exchange(form.as_bytes(), START).is_some());
            codes.push(location);
        }
    });
    codes.iter().for_each(|location| floor.remove(world::code_of(location)));
    Lap { operations: count as u64, time }
}
