//! The task that owns the connections: it sends waiting jobs, and reconnects when a connection is lost.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::store::postgres::error::{PostgresError, PostgresProblem};
use crate::store::postgres::jobs::Job;
use crate::store::postgres::link::{Link, Process};
use crate::store::postgres::options::PostgresOptions;
use crate::store::postgres::write::{jittered, write};

/// The first pause between attempts to connect. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const BETWEEN_CHECKS: Duration = Duration::from_secs(5);

/// The state of the connections.
#[derive(Clone, Debug)]
pub(super) enum State {
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
    /// Starts the task on the runtime of the caller, with a first connection.
    pub(super) fn start(
        settings: PostgresOptions,
        jobs: mpsc::Receiver<Job>,
        link: Link,
        reading: Arc<Semaphore>,
    ) -> watch::Receiver<State> {
        let (states, seen) = watch::channel(State::Opening);
        let keeper = Self { settings, jobs, states, reading };
        let link = keeper.up(link);
        tokio::spawn(keeper.run(link));
        seen
    }

    /// Works until the store is dropped and all queued jobs are done.
    async fn run(mut self, mut link: Arc<Link>) {
        while let Ok(()) = self.serve(&link).await {
            link.cut();
            match self.replaced(link.processes().to_vec()).await {
                Ok(next) => link = next,
                Err(Closed) => return,
            }
        }
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
            // Callers without an answer by then get the error that the outcome is unknown.
            if timeout(patience, write(link, std::mem::take(&mut jobs))).await.is_err() {
                return Ok(());
            }
        }
    }

    /// Reconnects, however long it takes. The first attempt may be quick, so callers keep waiting for it. After it
    /// fails, all callers are refused until there is a connection.
    async fn replaced(&mut self, left_behind: Vec<Process>) -> Result<Arc<Link>, Closed> {
        self.states.send_replace(State::Opening);
        let settings = self.settings.clone();
        let open = async || {
            let link = Link::open(&settings).await?;
            timeout(settings.connect_timeout, link.end(&left_behind))
                .await
                .map_err(|_| PostgresProblem::TimedOut)??;
            Ok(link)
        };
        let mut opened: Result<Link, PostgresError> = open().await;
        let mut pause = FIRST_PAUSE;
        loop {
            let failure = match opened {
                Ok(link) => return Ok(self.up(link)),
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

    /// Returns the time-out for a server that never answers. One that answers late applies its own time-out.
    fn patience(&self) -> Duration {
        self.settings.statement_timeout * 3 / 2
    }
}

/// Closes connections on which a read never ends.
async fn watch_reads(link: Weak<Link>, is_reading: impl Fn() -> bool, patience: Duration) {
    loop {
        sleep(BETWEEN_CHECKS).await;
        let Some(link) = link.upgrade() else { return };
        if is_reading() && timeout(patience, link.reader.check_connection()).await.is_err() {
            link.cut();
        }
        if link.reader.is_closed() {
            return;
        }
    }
}
