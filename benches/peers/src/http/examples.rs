//! What the load needs of the thin servers of grantor, whose routes are in the package `demo`.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use grantor::{AuthorizationServer, Clock, SystemClock, Timestamp};

use super::{CHAINS, Job};
use crate::in_process::flows;
use crate::in_process::grantor::Grantor;
use crate::material::{Credentials, Tokens};

/// A server with live grants.
///
/// The thin servers' own `main` registers a demo application of another scope and purges once a minute, of which the
/// load would see nothing; their routes and adapters are served unchanged.
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

/// Ten thousand times as fast as the system's.
///
/// The load refreshes each grant some twenty times a second; a client does so every eight hours. With this clock
/// minutes lie between two refreshes of a grant, so that the grace of the one is over at the next. Otherwise the
/// bench would measure grants with a hundred pairs in grace, which nobody has.
///
/// Until it begins it goes as the system's: codes, good for ten minutes, would be over in 60 ms.
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
