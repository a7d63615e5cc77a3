//! The revocation endpoint.
//!
//! Random bytes come from the system's generator; a revocation draws none.

use grantor::wire::Endpoint;

use crate::grants::{self, Grants};
use crate::heap;
use crate::measure::{Lap, at_once, in_turns};
use crate::options::{Options, label};
use crate::report::{Figure, Report, Unit};
use crate::texts::Texts;
use crate::world::{self, World};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for &size in options.sizes() {
        grants::with(size, |grants| at(size, grants, options, report));
    }
}

/// Form credentials. An access token is revoked alone, a refresh token with its grant. A token that was never issued,
/// here one with the id of another, costs no write.
fn at(size: usize, grants: &Grants, options: &Options, report: &mut Report) {
    let count = options.operations();
    let (access, refresh, unknown) = (Presented::Access, Presented::Refresh, Presented::Unknown);
    let times = in_turns(
        options.short_rounds(),
        &mut [&mut || round(grants, access, count), &mut || round(grants, refresh, count), &mut || {
            round(grants, unknown, count)
        }],
    );
    let size = label(size);
    for (case, time) in ["access token", "refresh token", "unknown token"].into_iter().zip(times) {
        report.add(Figure::new(format!("revoke/{case}/{size}"), time, Unit::Nanoseconds));
    }
    let world = &grants.world;
    let allocations = world.put_away(|| {
        let forms = forms(grants, refresh, 100);
        heap::allocations(forms.iter().map(|form| revoke(world, form)))
    });
    report.add(Figure::new(format!("revoke/allocations/{size}"), allocations, Unit::Allocations));
}

#[derive(Clone, Copy)]
enum Presented {
    Access,
    Refresh,
    Unknown,
}

fn round(grants: &Grants, presented: Presented, count: usize) -> Lap {
    let world = &grants.world;
    world.put_away(|| {
        let forms = forms(grants, presented, count);
        let time = at_once(forms.parts(0, count, 1), |forms| forms.for_each(|form| revoke(world, form)));
        Lap { operations: count as u64, time }
    })
}

/// Tokens of grants that are made for it.
fn forms(grants: &Grants, presented: Presented, count: usize) -> Texts {
    let Grants { world, ours, .. } = grants;
    let query = world::query(&world.client);
    let forms = (0..count).map(|number| {
        let form = world.exchange_form(query.as_bytes(), &world::subject(number));
        let response = world.post(Endpoint::Token, form.as_bytes());
        let token = match presented {
            Presented::Access => ours.layout.access(response.body()).to_vec(),
            Presented::Refresh => ours.layout.refresh(response.body()).to_vec(),
            Presented::Unknown => with_another_secret(ours.layout.access(response.body())),
        };
        world::token_form(&world.client, str::from_utf8(&token).expect("ASCII"))
    });
    Texts::new(forms)
}

fn with_another_secret(token: &[u8]) -> Vec<u8> {
    let mut token = token.to_vec();
    token[b"at_".len() + 22..].rotate_left(1);
    token
}

fn revoke(world: &World, form: &[u8]) {
    let response = world.post(Endpoint::Revocation, form);
    assert_eq!((response.status(), response.body()), (200, b"".as_slice()));
}
