//! The task that owns the connections: it sends waiting jobs, and reconnects when a connection is lost.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::base::measure;
use crate::store::postgres::error::{PostgresError, PostgresProblem};
use crate::store::postgres::jobs::Job;
use crate::store::postgres::link::{Access, Link};
use crate::store::postgres::options::PostgresOptions;
use crate::store::postgres::write::{jittered, write};

/// The first pause between attempts to connect. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// While the primary refuses writes, the time between attempts to find one that takes them.
const BETWEEN_SEARCHES: Duration = Duration::from_secs(1);

/// The state of the connections.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// Reads are sent; writes too, unless the primary refuses them.
    Up(Arc<Link>),
    /// They were lost, and the first attempt to replace them is in progress. Callers keep waiting.
    Opening,
    /// Attempts fail; callers are refused at once.
    Down(PostgresError),
}

pub(super) struct Keeper {
    settings: PostgresOptions,
    jobs: mpsc::Receiver<Job>,
    states: watch::Sender<State>,
    /// Has all its permits while no read is in progress.
    reading: Arc<Semaphore>,
}

/// The queue was closed: the store was dropped.
struct Closed;

impl Keeper {
    /// Starts the task on the runtime of the caller. Without a first link, it begins as if that one was lost.
    pub(super) fn start(
        settings: PostgresOptions,
        jobs: mpsc::Receiver<Job>,
        link: Option<Link>,
        reading: Arc<Semaphore>,
    ) -> watch::Receiver<State> {
        let (states, seen) = watch::channel(State::Opening);
        let keeper = Self { settings, jobs, states, reading };
        let link = link.map(|link| keeper.up(link));
        tokio::spawn(keeper.run(link));
        seen
    }

    /// Works until the store is dropped and all queued jobs are done.
    async fn run(mut self, first: Option<Arc<Link>>) {
        let mut link = match first {
            Some(link) => link,
            None => {
                let Ok(link) = self.replaced(None).await else { return };
                self.up(link)
            }
        };
        loop {
            let next = match link.access {
                Access::ReadWrite => self.serve(&link).await.map(|()| None),
                Access::ReadOnly => self.serve_reads(&link).await,
            };
            let next = match next {
                Ok(Some(next)) => next,
                Ok(None) => {
                    link.cut();
                    let Ok(next) = self.replaced(Some(&link)).await else { return };
                    next
                }
                Err(Closed) => return,
            };
            link = self.up(next);
        }
    }

    /// Refuses all writes until a primary takes them, which it returns, or until the link is lost. Reads in progress
    /// end on the old link.
    async fn serve_reads(&mut self, link: &Link) -> Result<Option<Link>, Closed> {
        let settings = self.settings.clone();
        let mut searches = interval(BETWEEN_SEARCHES);
        searches.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let found = async {
            loop {
                searches.tick().await;
                if let Ok(next) = Link::open(&settings, Access::ReadWrite).await {
                    return Some(next);
                }
            }
        };
        let ended = async {
            tokio::select! {
                () = link.watch.lost.notified() => None,
                next = found => next,
            }
        };
        self.refusing(&PostgresProblem::ReadOnly.into(), ended).await
    }

    /// Sends waiting jobs until the link is lost.
    async fn serve(&mut self, link: &Link) -> Result<(), Closed> {
        let patience = self.patience();
        let mut jobs = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = link.watch.lost.notified() => return Ok(()),
                received = self.jobs.recv_many(&mut jobs, self.settings.batch_limit) => if received == 0 {
                    return Err(Closed);
                },
            }
            measure::batch("postgres", "writes", jobs.len());
            measure::waiting("postgres", "writes", self.jobs.len());
            // Callers without an answer by then get the error that the outcome is unknown.
            if timeout(patience, write(link, std::mem::take(&mut jobs))).await.is_err() {
                link.watch.note_silence();
                return Ok(());
            }
        }
    }

    /// Connects, however long it takes, in place of a lost link if there was one. The first attempt may be quick, so
    /// callers wait for it, unless they have waited for a server that never answers. After it fails, all callers are
    /// refused until there is a connection.
    async fn replaced(&mut self, lost: Option<&Link>) -> Result<Link, Closed> {
        let is_silent = lost.is_some_and(|lost| lost.watch.is_silent());
        let silent = is_silent.then(|| PostgresError::from(PostgresProblem::TimedOut));
        self.states.send_replace(silent.clone().map_or(State::Opening, State::Down));
        let (settings, left_behind) =
            (self.settings.clone(), lost.map_or_else(Vec::new, |lost| lost.processes().to_vec()));
        let open = async || {
            let link = match Link::open(&settings, Access::ReadWrite).await {
                Err(error) if settings.is_read_only(&error) => Link::open(&settings, Access::ReadOnly).await?,
                opened => opened?,
            };
            timeout(settings.connect_timeout, link.end(&left_behind))
                .await
                .map_err(|_| PostgresProblem::TimedOut)??;
            Ok(link)
        };
        let mut opened: Result<Link, PostgresError> = match silent {
            Some(failure) => self.refusing(&failure, open()).await?,
            None => open().await,
        };
        let mut pause = FIRST_PAUSE;
        loop {
            let failure = match opened {
                Ok(link) => return Ok(link),
                Err(error) => error,
            };
            self.states.send_replace(State::Down(failure.clone()));
            let attempt = async {
                sleep(jittered(pause)).await;
                open().await
            };
            opened = self.refusing(&failure, attempt).await?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn up(&self, link: Link) -> Arc<Link> {
        measure::connected("postgres");
        let link = Arc::new(link);
        let (reading, all) = (self.reading.clone(), self.settings.queue_limit);
        let is_reading = move || reading.available_permits() < all;
        tokio::spawn(watch_reads(Arc::downgrade(&link), is_reading, self.patience()));
        self.states.send_replace(State::Up(link.clone()));
        link
    }

    /// Refuses all waiting and new jobs until the work is done.
    async fn refusing<T>(&mut self, failure: &PostgresError, work: impl Future<Output = T>) -> Result<T, Closed> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                job = self.jobs.recv() => match job {
                    Some(job) => job.refuse(failure),
                    None => return Err(Closed),
                },
            }
        }
    }

    /// Returns how long a call waits for a server that never answers. One that answers late applies its own time-out.
    fn patience(&self) -> Duration {
        self.settings.statement_timeout * 3 / 2
    }
}

/// Closes connections on which a read never ends. A check begins within a sixth of the time that a read may take, and
/// has the rest: still longer than the server works on the statement before it.
async fn watch_reads(link: Weak<Link>, is_reading: impl Fn() -> bool, patience: Duration) {
    let between = patience / 6;
    loop {
        sleep(between).await;
        let Some(link) = link.upgrade() else { return };
        if is_reading() && timeout(patience - between, link.reader.check_connection()).await.is_err() {
            link.watch.note_silence();
            link.cut();
        }
        if link.reader.is_closed() {
            return;
        }
    }
}
