//! Secrets: the hash and the comparison under every check, and what a wrong one costs.

use std::hint::black_box;

use grantor::secret::{Entropy, SystemEntropy};
use grantor::testing::SeededEntropy;
use grantor::wire::Endpoint;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::measure::{Contender, interleaved};
use crate::options::Options;
use crate::report::{Figure, Report, Unit};
use crate::world::{self, Credentials, World};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    blocks(options, report);
    refusals(options, report);
}

/// The parts of every operation: SHA-256 of a secret's 43 characters, a comparison of 32 bytes in constant time, and 32
/// bytes from the thread's copy of the system's generator.
fn blocks(options: &Options, report: &mut Report) {
    let count = options.operations() as u64 * 10;
    let secret = [b'a'; 43];
    let digest: [u8; 32] = Sha256::digest(secret).into();
    let mut hash = || {
        for _ in 0..count {
            assert_eq!(<[u8; 32]>::from(Sha256::digest(black_box(&secret))), digest);
        }
        count
    };
    let mut compare = || {
        for _ in 0..count {
            assert!(bool::from(black_box(&digest).ct_eq(black_box(&digest))));
        }
        count
    };
    let mut draw = || {
        let mut bytes = [0; 32];
        for _ in 0..count {
            let before = bytes;
            SystemEntropy.fill(&mut bytes);
            assert!(bytes != before);
        }
        count
    };
    let mut contenders = [
        Contender { name: "digest/43 characters", round: &mut hash },
        Contender { name: "compare/32 bytes", round: &mut compare },
        Contender { name: "draw/32 bytes", round: &mut draw },
    ];
    let times = interleaved(options.short_rounds(), &mut contenders);
    for (contender, time) in contenders.iter().zip(times) {
        report.add(Figure::new(format!("secret/{}", contender.name), time, Unit::Nanoseconds));
    }
}

/// A client with the right secret, one with a wrong secret and an unknown client ask about an unknown token. The last
/// two get the same answer, and the time it takes must not distinguish them.
fn refusals(options: &Options, report: &mut Report) {
    let world = World::new(SeededEntropy::new(7));
    let Credentials { id, secret } = &world.client;
    let wrong = Credentials { id: id.clone(), secret: secret.chars().rev().collect() };
    let unknown = Credentials { id: id.chars().rev().collect(), secret: secret.clone() };
    let count = options.operations() as u64;
    let ask = |client: &Credentials, status: u16| {
        let form = world::token_form(client, "at_unknown");
        for _ in 0..count {
            assert_eq!(world.post(Endpoint::Introspection, form.as_bytes()).status(), status);
        }
        count
    };
    let mut contenders = [
        Contender { name: "right", round: &mut || ask(&world.client, 200) },
        Contender { name: "wrong", round: &mut || ask(&wrong, 401) },
        Contender { name: "of an unknown client", round: &mut || ask(&unknown, 401) },
    ];
    let times = interleaved(options.short_rounds(), &mut contenders);
    report.add(Figure::new("secret/client/right", times[0], Unit::Nanoseconds));
    report.add(Figure::new("secret/client/wrong", times[1], Unit::Nanoseconds));
    let figure = Figure::new("secret/client/of an unknown client", times[2], Unit::Nanoseconds);
    report.add(figure.beside("wrong", times[1]));
}
