//! The thin servers of grantor as the load needs them. Their routes are in the package `demo`.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use grantor::{AuthorizationServer, Clock, SystemClock, Timestamp};

use super::{CHAINS, Job};
use crate::in_process::flows;
use crate::in_process::grantor::Grantor;
use crate::material::{Credentials, Tokens};

/// A server with live grants.
///
/// The routes and adapters of the thin servers are served unchanged. Only their `main` is not used: it registers a demo
/// application with another scope, and purges once a minute, which the load would not notice.
pub(super) fn server(job: Job) -> (AuthorizationServer, Credentials, Vec<Tokens>) {
    use crate::in_process::Peer;

    let clock = FastClock::default();
    let mut grantor = match job {
        Job::Refresh => Grantor::with_clock(clock.clone()),
        Job::Authenticate => Grantor::with_clock(SystemClock),
    };
    let (_, _, tokens) = flows(&mut grantor, 0, CHAINS);
    clock.begin();
    (grantor.server().clone(), grantor.credentials().clone(), tokens)
}

/// A clock that is ten thousand times as fast as the system's.
///
/// A client refreshes a grant every eight hours, the load some twenty times a second. With this clock, minutes pass
/// between two refreshes of a grant, so the grace of the first has expired at the second. Otherwise the bench would
/// measure grants with a hundred pairs in grace, which do not occur in practice.
///
/// Until `begin` is called, it is the system's clock. Otherwise codes, which are valid for ten minutes, would expire in
/// 60 ms.
#[derive(Clone, Debug, Default)]
struct FastClock(Arc<OnceLock<(Timestamp, Instant)>>);

impl FastClock {
    fn begin(&self) {
        self.0.get_or_init(|| (SystemClock.now(), Instant::now()));
    }
}

impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        let Some((begin, since)) = self.0.get() else { return SystemClock.now() };
        begin.plus(since.elapsed().saturating_mul(10_000))
    }
}
