//! The throttle of the examples.

use grantor::MemoryThrottle;

pub const USAGE: &str = "\
  --throttle          slow down requests from this machine too, which are exempt unless told";

pub fn throttle(counts_loopback: bool) -> MemoryThrottle {
    let throttle = MemoryThrottle::new();
    if counts_loopback { throttle } else { throttle.exempt_loopback() }
}
