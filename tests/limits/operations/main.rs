//! Runs each operation often enough for a profile, or fills a store and prints the memory of a grant.
//!
//! ```sh
//! operations flow 2000      # each operation 2,000 times, to be run under callgrind
//! operations digest 2000    # secrets whose digest is wrong in one byte, to be run under callgrind
//! operations heap 100000    # bytes a grant, after the first pair and after a refresh
//! ```

#[expect(dead_code, reason = "the tests count calls")]
mod allocator;
mod service;
mod wrong_digest;

use std::env;
use std::hint::black_box;
use std::time::Duration;

use crate::allocator::Counting;
use crate::service::{Pair, Service, pair, subject};
use crate::wrong_digest::{WrongDigest, early_in_first_byte, early_in_last_byte};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let mut arguments = env::args().skip(1);
    let what = arguments.next().expect("flow, digest or heap");
    let count = arguments.next().expect("a number").parse().expect("a number");
    match what.as_str() {
        "flow" => flow(count),
        "digest" => digest(count),
        "heap" => heap(count),
        other => panic!("unknown: {other}"),
    }
}

fn flow(count: usize) {
    let service = Service::new();
    let query = service.query();
    let users: Vec<_> = (0..count).map(|number| subject(&format!("user-{number}"))).collect();
    let codes: Vec<_> = users.iter().map(|user| service.authorize(&query, user)).collect();
    let exchanges: Vec<_> = codes.iter().map(|code| service.exchange_body(code)).collect();
    let pairs: Vec<_> = exchanges.iter().map(|body| pair(&service.exchange(body))).collect();

    let headers: Vec<_> = pairs.iter().map(|pair| format!("Bearer {}", pair.access)).collect();
    for header in &headers {
        black_box(service.authenticate(header));
    }
    let questions: Vec<_> = pairs.iter().map(|pair| format!("token={}", pair.access)).collect();
    for body in &questions {
        assert!(service.introspect(body).body().starts_with(b"{\"active\":true"));
    }
    let refreshes: Vec<_> = pairs.iter().map(|pair| service.refresh_body(&pair.refresh)).collect();
    let refreshed: Vec<_> = refreshes.iter().map(|body| pair(&service.refresh(body))).collect();
    for body in &refreshes {
        pair(&service.refresh_in_grace(body));
    }
    let revocations = |token: fn(&Pair) -> &String| -> Vec<_> {
        refreshed.iter().map(|pair| format!("token={}", token(pair))).collect()
    };
    for body in &revocations(|pair| &pair.access) {
        assert_eq!(service.revoke_access(body).status(), 200);
    }
    for body in &revocations(|pair| &pair.refresh) {
        assert_eq!(service.revoke_refresh(body).status(), 200);
    }
    for _ in 0..count {
        assert_eq!(service.metadata().status(), 200);
    }
}

fn digest(count: usize) {
    let (first, last) = (WrongDigest::at(0), WrongDigest::at(31));
    for _ in 0..count {
        first.in_first_byte();
        last.in_last_byte();
        early_in_first_byte(&[7; 32]);
        early_in_last_byte(&[7; 32]);
    }
}

/// The memory of grants whose authorizations are purged, each of another user.
fn heap(count: usize) {
    let service = Service::new();
    let mut refresh_tokens: Vec<Box<str>> = Vec::with_capacity(count);
    let empty = allocator::held();
    for number in 0..count {
        refresh_tokens.push(service.pair(&format!("user-{number}")).refresh.into());
    }
    service.advance(Duration::from_secs(2 * 60 * 60));
    service.purge();
    let texts: i64 = refresh_tokens.iter().map(|token| allocator::chunk(token.len())).sum();
    let of_one = || (allocator::held() - empty - texts) / i64::try_from(count).expect("a number of grants");
    println!("one_pair {}", of_one());
    for token in &refresh_tokens {
        pair(&service.refresh(&service.refresh_body(token)));
    }
    println!("with_stale_pair {}", of_one());
    assert_eq!(service.store.grant_count(), count);
}
