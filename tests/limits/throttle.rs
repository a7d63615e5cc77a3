//! What the throttle keeps in memory, whatever the callers.

use std::net::IpAddr;

use futures::executor::block_on;
use grantor::hooks::{Attempt, AttemptKind, Credential, PresentedSecret, Throttle};
use grantor::wire::Endpoint;
use grantor::{MemoryThrottle, Subject};

use crate::operations::allocator;

/// LIM-05: more names, networks and users than it has buckets, and long names.
#[test]
fn a_throttle_takes_eight_mebibytes_at_most() {
    const LIMIT: i64 = 8 << 20;
    let throttle = MemoryThrottle::new();
    let before = allocator::held();
    let mut max = 0;
    for number in 0..80_000_u32 {
        let (name, subject) = (format!("{number:0>200}"), Subject::new(number.to_string()).unwrap());
        let mut attempt = Attempt::new(AttemptKind::Authentication, Endpoint::Token);
        (attempt.client, attempt.peer) = (Some(&*name), Some(IpAddr::from(number.to_be_bytes())));
        attempt.credential = Credential::Secret(PresentedSecret::of(name.as_bytes()));
        block_on(throttle.check(&attempt));
        block_on(throttle.failed(&attempt));
        block_on(throttle.succeeded(&attempt));
        attempt.kind = AttemptKind::ConsentRequest;
        attempt.subject = Some(&subject);
        block_on(throttle.check(&attempt));
        attempt.kind = AttemptKind::Registration;
        block_on(throttle.check(&attempt));
        attempt.kind = AttemptKind::MetadataDocument;
        attempt.host = Some(&*name);
        block_on(throttle.check(&attempt));
        max = max.max(allocator::held() - before);
    }
    println!("{max} bytes at most");
    assert!(max < LIMIT, "{max}");
}
