//! Parameters as queries carry them, measured where they arrive: the check of an authorization request.
//!
//! The check looks up the client, compares the redirect URI and reads the scopes as well; those are the same
//! in all cases, so the differences are those of the parameters. It draws nothing and writes nothing.

use grantor::testing::SeededEntropy;
use grantor::wire::Request;

use crate::measure::{Contender, interleaved};
use crate::options::Options;
use crate::report::{Figure, Report, Unit};
use crate::world::{self, World, ready};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let world = World::new(SeededEntropy::new(7));
    let query = world::query(&world.client);
    let unknown: String = (0..93).map(|number| format!("&unknown_{number}=value")).collect();
    let cases = [
        // Spaces and slashes escaped, as clients do.
        ("query/7 parameters", query.clone(), true),
        // Every byte of the state is an escape of three.
        ("query/state of 1000 escapes", query.replace("state=", &format!("state={}", "%C3".repeat(1000))), true),
        // The most parameters that are read.
        ("query/100 parameters", format!("{query}{unknown}"), true),
        // One more than that is refused.
        ("query/101 parameters", format!("{query}{unknown}&one=more"), false),
        // Refused as soon as its length is known.
        ("query/32769 bytes", format!("{query}&{}", "a".repeat(32_768 - query.len())), false),
    ];
    let count = options.operations() as u64 / 4;
    let mut rounds: Vec<_> = cases
        .iter()
        .map(|(name, query, good)| {
            let round = || {
                for _ in 0..count {
                    let pending = ready(world.server.authorize(&Request::new("GET").query(query.as_bytes())));
                    assert_eq!(pending.is_ok(), *good);
                }
                count
            };
            (*name, round)
        })
        .collect();
    let mut contenders: Vec<_> = rounds.iter_mut().map(|(name, round)| Contender { name, round }).collect();
    let times = interleaved(options.short_rounds(), &mut contenders);
    for ((name, ..), time) in cases.iter().zip(times) {
        report.add(Figure::new(format!("params/{name}"), time, Unit::Nanoseconds));
    }
}
