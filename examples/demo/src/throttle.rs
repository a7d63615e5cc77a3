//! The throttle of the examples.

use grantor::MemoryThrottle;

pub const USAGE: &str = "\
\x20 --throttle          slow down requests from this machine too (exempt by default)";

pub fn throttle(counts_loopback: bool) -> MemoryThrottle {
    let throttle = MemoryThrottle::new();
    if counts_loopback { throttle } else { throttle.exempt_loopback() }
}
