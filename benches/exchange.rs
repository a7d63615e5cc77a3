//! The token endpoint: a code becomes the first pair of tokens.
//!
//! Random bytes come from the system's generator, since drawing them is part of the operation.

use grantor::wire::Endpoint;

use crate::grants::{self, Grants};
use crate::heap;
use crate::measure::{Lap, at_once, in_turns, timed};
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::texts::Texts;
use crate::world::{self, START, World};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for &size in options.sizes() {
        grants::with(size, |grants| at(size, grants, options, report));
    }
}

/// Form credentials, PKCE S256, no redirect URI; the codes are made before the round and the grants removed
/// after it.
fn at(size: usize, grants: &Grants, options: &Options, report: &mut Report) {
    let count = options.operations();
    let times = in_turns(
        options.short_rounds(),
        &mut [&mut || ours(&grants.world, count, 1), &mut || floor(grants, count), &mut || {
            ours(&grants.world, count, 2)
        }],
    );
    let size = label(size);
    let ns = |id: String, ns| Figure::new(id, ns, Unit::Nanoseconds);
    report.add(ns(format!("exchange/form/{size}"), times[0]).beside("floor", times[1]).goal(Goal::AtMost(1.4)));
    let faster = Figure::new(format!("exchange/two threads/{size}"), times[0] / times[2], Unit::Times);
    report.add(faster.goal(Goal::AtLeast(1.6)));
    let allocations = Figure::new(format!("exchange/allocations/{size}"), allocations(grants), Unit::Allocations);
    report.add(allocations.goal(Goal::AtMost(12.0)));
}

fn ours(world: &World, count: usize, threads: usize) -> Lap {
    world.put_away(|| {
        let forms = forms(world, count);
        let time = at_once(forms.parts(0, count, threads), |forms| {
            for form in forms {
                exchange(world, form);
            }
        });
        Lap { operations: count as u64, time }
    })
}

/// Not inlined, so that a profiler finds it.
#[inline(never)]
fn exchange(world: &World, form: &[u8]) {
    let response = world.post(Endpoint::Token, form);
    assert_eq!(response.status(), 200);
}

fn forms(world: &World, count: usize) -> Texts {
    let query = world::query(&world.client);
    Texts::new((0..count).map(|number| world.exchange_form(query.as_bytes(), &world::subject(number))))
}

fn floor(grants: &Grants, count: usize) -> Lap {
    let Grants { world, floor, .. } = grants;
    let query = world::query(&world.client);
    let forms = Texts::new((0..count).map(|number| {
        let subject = world::subject(number);
        let location = floor.authorize(query.as_bytes(), subject.as_str(), START).expect("a valid request");
        world::exchange_form(&world.client, world::code_of(&location))
    }));
    let ((), time) = timed(|| {
        for form in forms.iter() {
            assert!(floor.exchange(form, START).is_some());
        }
    });
    forms.iter().for_each(|form| floor.remove(world::code_of(str::from_utf8(form).expect("ASCII"))));
    Lap { operations: count as u64, time }
}

fn allocations(grants: &Grants) -> f64 {
    let world = &grants.world;
    world.put_away(|| {
        let forms = forms(world, 100);
        heap::allocations(forms.iter().map(|form| exchange(world, form)))
    })
}
