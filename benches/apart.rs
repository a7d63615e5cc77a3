//! APIs in other processes than the authorization server, by introspection and by JWT: over HTTP beside a bare route,
//! beside the bare check of a signature, for many callers at once, and in memory.

mod http;
mod memory;
mod parallel;
mod service;

use grantor::ResourceServer;
use grantor::jose::SigningAlgorithm;
use support::keys::Signer;

use crate::apart::service::{FEWEST_ENTRIES, JWTS, Service, check, headers};
use crate::heap;
use crate::measure::{Lap, in_turns, timed};
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};
use crate::signatures::Signed;
use crate::world::ISSUER;

/// Checks of a round of [`jwts`]: more than the smallest cache keeps, and so few that other load interrupts few rounds.
const CHECKS: usize = FEWEST_ENTRIES + 4;

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for (algorithm, key, signer) in [
        (SigningAlgorithm::Es256, &include_bytes!("../tests/data/keys/p256-1.pk8")[..], Signer::es256()),
        (SigningAlgorithm::Rs256, include_bytes!("../tests/data/keys/rsa-1.pk8"), Signer::rs256()),
        (SigningAlgorithm::EdDsa, include_bytes!("../tests/data/keys/ed25519-1.pk8"), Signer::ed25519()),
    ] {
        jwts(&Service::new(ISSUER, algorithm, key), &signer, options, report);
    }
    http::measure(options, report);
    parallel::measure(report);
    memory::measure(options, report);
}

/// Checks of JWTs that are not kept and of those that are, beside the bare check of the signature.
fn jwts(service: &Service, signer: &Signer, options: &Options, report: &mut Report) {
    let tokens = service.tokens(JWTS, CHECKS);
    let headers = headers(&tokens);
    let tokens = Signed::of(tokens);
    let round = |resource: &ResourceServer| {
        let ((), time) = timed(|| headers.iter().for_each(|header| check(resource, header)));
        Lap { operations: headers.len() as u64, time }
    };
    let fresh = service.verifying(service.in_process(), Some(FEWEST_ENTRIES));
    let kept = service.verifying(service.in_process(), None);
    let times = in_turns(
        5 * options.short_rounds(),
        &mut [&mut || round(&fresh), &mut || tokens.bare(signer), &mut || round(&kept)],
    );
    let figure = |case: &str, time| {
        Figure::new(format!("apart/{case}/{}", signer.algorithm()), time, Unit::Nanoseconds).beside("ring", times[1])
    };
    report.add(figure("fresh JWT", times[0]).goal(Goal::AtMost(1.3)));
    report.add(figure("kept JWT", times[2]));
    let allocations = heap::allocations(headers.iter().map(|header| check(&fresh, header)));
    let id = format!("apart/fresh JWT/allocations/{}", signer.algorithm());
    report.add(Figure::new(id, allocations, Unit::Allocations));
}
