//! The introspection endpoint.

use grantor::wire::Endpoint;

use crate::grants::{self, Grants};
use crate::heap;
use crate::measure::{Lap, at_once, in_turns};
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::texts::Texts;
use crate::world::{self, World};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for &size in options.sizes() {
        grants::with(size, |grants| at(size, grants, options, report));
    }
}

/// Live access tokens of the asking client, form credentials.
fn at(size: usize, grants: &Grants, options: &Options, report: &mut Report) {
    let Grants { world, ours, .. } = grants;
    let forms = ours.headers.iter().map(|header| {
        let token = str::from_utf8(&header[b"Bearer ".len()..]).expect("ASCII");
        world::token_form(&world.client, token)
    });
    let forms = Texts::new(forms);
    let count = options.operations();
    let times = in_turns(
        options.short_rounds(),
        &mut [&mut || round(grants, &forms, count, 1), &mut || round(grants, &forms, count, 2)],
    );
    let size = label(size);
    report.add(Figure::new(format!("introspect/form/{size}"), times[0], Unit::Nanoseconds));
    let faster = Figure::new(format!("introspect/two threads/{size}"), times[0] / times[1], Unit::Times);
    report.add(faster.goal(Goal::AtLeast(1.6)));
    let allocations = heap::allocations(forms.iter().take(100).map(|form| introspect(world, form)));
    report.add(Figure::new(format!("introspect/allocations/{size}"), allocations, Unit::Allocations));
}

fn round(grants: &Grants, forms: &Texts, count: usize, threads: usize) -> Lap {
    let Grants { world, ours, .. } = grants;
    let forms = forms.parts(ours.advance(count), count, threads);
    let time = at_once(forms, |forms| forms.for_each(|form| introspect(world, form)));
    Lap { operations: count as u64, time }
}

fn introspect(world: &World, form: &[u8]) {
    let response = world.post(Endpoint::Introspection, form);
    assert_eq!(response.status(), 200);
    assert!(response.body().starts_with(b"{\"active\":true"));
}
