//! How often an operation allocates, on a store in memory.

use std::time::Duration;

use grantor::application::{Logo, RegistrationLimits};

use crate::operations::allocator;
use crate::operations::service::{Pair, Service, pair as pair_of, subject};

const CALLS: usize = 1000;

/// Most calls take at most 1.4 times as many allocations as when the limit was set. Now and then a table of the store
/// grows, which may add one on average.
#[track_caller]
fn assert_takes<I>(measured: u64, inputs: Vec<I>, mut operation: impl FnMut(I)) {
    let mut counts: Vec<_> = inputs
        .into_iter()
        .map(|input| {
            let before = allocator::calls();
            operation(input);
            allocator::calls() - before
        })
        .collect();
    counts.sort_unstable();
    let all: u64 = counts.iter().sum();
    let (median, calls) = (counts[counts.len() / 2], u64::try_from(counts.len()).unwrap());
    let max = measured * 14 / 10;
    println!("median {median} of at most {max}, mean {}.{:02}", all / calls, all % calls * 100 / calls);
    assert!(median <= max, "{median} allocations, more than {max}");
    assert!(all <= (max + 1) * calls, "{all} for {calls} calls");
}

fn pairs(service: &Service) -> Vec<Pair> {
    (0..CALLS).map(|number| service.pair(&format!("user-{number}"))).collect()
}

/// Four of them are the lists that enforce the limits of consent requests and of live grants.
#[test]
fn a_whole_flow() {
    let service = Service::new();
    let query = service.query();
    let users = (0..CALLS).map(|number| subject(&format!("user-{number}"))).collect();
    assert_takes(42, users, |user| {
        let code = service.authorize(&query, &user);
        assert_eq!(service.exchange(&service.exchange_body(&code)).status(), 200);
    });
}

/// Into an empty table: nearly every grant is the first of its shard, and makes the shard's three tables. The redirect
/// URI is escaped, which copies it. The list of the user's grants, which enforces their limit, takes three.
#[test]
fn an_exchange() {
    let service = Service::new();
    let codes = (0..CALLS).map(|number| service.code(&format!("user-{number}")));
    let bodies = codes.map(|code| service.exchange_body(&code)).collect();
    assert_takes(12, bodies, |body: String| assert_eq!(service.exchange(&body).status(), 200));
}

/// The tables of the shards exist, and have room for more.
#[test]
fn an_exchange_into_a_table_that_holds_grants() {
    let service = Service::new();
    for number in 0..10 * CALLS {
        service.pair(&format!("user-{number}"));
    }
    let codes = (0..CALLS).map(|number| service.code(&format!("another-{number}")));
    let bodies = codes.map(|code| service.exchange_body(&code)).collect();
    assert_takes(10, bodies, |body: String| assert_eq!(service.exchange(&body).status(), 200));
}

#[test]
fn a_refresh_and_one_in_grace() {
    let service = Service::new();
    let bodies: Vec<_> = pairs(&service).iter().map(|pair| service.refresh_body(&pair.refresh)).collect();
    assert_takes(7, bodies.clone(), |body| assert_eq!(service.refresh(&body).status(), 200));
    assert_takes(4, bodies, |body| assert_eq!(service.refresh_in_grace(&body).status(), 200));
}

#[test]
fn a_refresh_that_drops_a_pair_of_the_past() {
    let service = Service::new();
    let refreshed = |service: &Service, pair: &Pair| pair_of(&service.refresh(&service.refresh_body(&pair.refresh)));
    let refreshed: Vec<_> = pairs(&service).iter().map(|pair| refreshed(&service, pair)).collect();
    service.advance(Duration::from_secs(6 * 60));
    let bodies = refreshed.iter().map(|pair| service.refresh_body(&pair.refresh)).collect();
    assert_takes(7, bodies, |body: String| assert_eq!(service.refresh(&body).status(), 200));
}

#[test]
fn a_check_of_an_access_token() {
    let service = Service::new();
    let headers = pairs(&service).iter().map(|pair| format!("Bearer {}", pair.access)).collect();
    assert_takes(2, headers, |header: String| drop(service.authenticate(&header)));
}

#[test]
fn an_introspection() {
    let service = Service::new();
    let bodies = pairs(&service).iter().map(|pair| format!("token={}", pair.access)).collect();
    assert_takes(14, bodies, |body: String| assert_eq!(service.introspect(&body).status(), 200));
}

#[test]
fn a_revocation_of_an_access_token() {
    let service = Service::new();
    let bodies = pairs(&service).iter().map(|pair| format!("token={}", pair.access)).collect();
    assert_takes(5, bodies, |body: String| assert_eq!(service.revoke_access(&body).status(), 200));
}

/// The grant that is left has a list without resources of its own.
#[test]
fn a_revocation_of_a_refresh_token() {
    let service = Service::new();
    let bodies = pairs(&service).iter().map(|pair| format!("token={}", pair.refresh)).collect();
    assert_takes(7, bodies, |body: String| assert_eq!(service.revoke_refresh(&body).status(), 200));
}

#[test]
fn an_answer_with_the_metadata() {
    let service = Service::new();
    assert_takes(2, vec![(); CALLS], |()| assert_eq!(service.metadata().status(), 200));
}

/// IMG-01: an image that declares a hundred thousand pixels a side is refused by its header.
#[test]
fn an_image_is_judged_without_memory_of_its_declared_size() {
    let limits = RegistrationLimits::default();
    let png = |side: u32| -> Box<[u8]> {
        let side = side.to_be_bytes();
        [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &side, &side, b"\x08\x06\0\0\0", &[0; 16]].concat().into()
    };
    let images = (0..CALLS).map(|_| png(100_000)).collect();
    assert_takes(0, images, |image| assert!(Logo::new(image, &limits).is_err()));
    let images = (0..CALLS).map(|_| png(2048)).collect();
    assert_takes(0, images, |image| assert!(Logo::new(image, &limits).is_ok()));
}
