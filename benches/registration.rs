//! Registration: a form is checked, submitted, approved; a secret is rotated.
//!
//! Ids and secrets come from a deterministic generator.

use grantor::testing::SeededEntropy;
use grantor::{Approval, ClientId, Config, Registrar, Subject};

use crate::measure::{Lap, in_turns, timed};
use crate::options::Options;
use crate::report::{Figure, Report, Unit};
use crate::world::{self, World, ready};

/// Each round begins with one client.
pub(crate) fn measure(options: &Options, report: &mut Report) {
    let count = options.operations() / 10;
    let times = in_turns(
        options.short_rounds(),
        &mut [&mut || check(count), &mut || submit(count), &mut || approve(count), &mut || rotate(count)],
    );
    for (case, time) in ["form/check", "form/submit", "review/approve", "secret/rotate"].into_iter().zip(times) {
        report.add(Figure::new(format!("registration/{case}"), time, Unit::Nanoseconds));
    }
}

/// The rules for every field, nothing written.
fn check(count: usize) -> Lap {
    let config = Config::platform("https://auth.example");
    let form = world::form();
    let ((), time) = timed(|| {
        for _ in 0..count {
            assert!(form.check(&config.registration.form, &config.scopes, &config.redirect_uris).is_ok());
        }
    });
    Lap { operations: count as u64, time }
}

/// The same, and one write with the logo.
fn submit(count: usize) -> Lap {
    let world = World::new(SeededEntropy::new(7));
    let registrar = world.server.registrar().expect("the memory store takes registrations");
    let forms: Vec<_> = (0..count).map(|number| (applicant(number), world::form(), Some(world::logo()))).collect();
    let ((), time) = timed(|| {
        for (applicant, form, logo) in forms {
            assert!(ready(registrar.submit(applicant, form, logo)).is_ok());
        }
    });
    Lap { operations: count as u64, time }
}

/// One read and one write.
fn approve(count: usize) -> Lap {
    let (world, ids) = submitted(count);
    let registrar = world.server.registrar().expect("the memory store takes registrations");
    let submitted: Vec<_> = ids.iter().map(|id| (id, version(&registrar, id))).collect();
    let ((), time) = timed(|| {
        for (id, version) in submitted {
            assert!(ready(registrar.approve(id, version, Approval::default())).is_ok());
        }
    });
    Lap { operations: count as u64, time }
}

/// One read and one write. The previous secret stays valid.
fn rotate(count: usize) -> Lap {
    let (world, ids) = submitted(count);
    let registrar = world.server.registrar().expect("the memory store takes registrations");
    for id in &ids {
        assert!(ready(registrar.approve(id, version(&registrar, id), Approval::default())).is_ok());
    }
    let owned = ids.iter().enumerate().map(|(number, id)| (id, applicant(number), version(&registrar, id)));
    let owned: Vec<_> = owned.collect();
    let ((), time) = timed(|| {
        for (id, owner, version) in &owned {
            assert!(ready(registrar.rotate_secret(id, owner, *version)).is_ok());
        }
    });
    Lap { operations: count as u64, time }
}

fn version(registrar: &Registrar, id: &ClientId) -> u32 {
    ready(registrar.application(id)).expect("it was submitted").version()
}

fn submitted(count: usize) -> (World, Vec<ClientId>) {
    let world = World::new(SeededEntropy::new(7));
    let registrar = world.server.registrar().expect("the memory store takes registrations");
    let submit = |number| ready(registrar.submit(applicant(number), world::form(), Some(world::logo())));
    let ids = (0..count).map(|number| submit(number).expect("the form is valid")).collect();
    (world, ids)
}

/// Each has ten applications.
fn applicant(number: usize) -> Subject {
    world::subject(number / 10)
}
