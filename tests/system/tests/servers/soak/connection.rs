//! One keep-alive connection on which a request is due every so often.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use support_servers::http::{self, Answer, Request};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::soak::tally::Tally;

/// Why a flow goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The load ends here.
    Over,
    /// A fault, which the tally has, or a flow that was given up.
    Flow,
}

/// An open connection with its own share of the load.
#[derive(Debug)]
pub(crate) struct Connection<'a> {
    host: String,
    stream: http::Connection,
    /// Of this connection alone, like its thread.
    runtime: Runtime,
    tally: &'a Tally,
    pub(crate) pace: Pace,
}

/// When requests are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) begun: Instant,
    pub(crate) next: Instant,
    pub(crate) interval: Duration,
    pub(crate) end: Instant,
}

impl<'a> Connection<'a> {
    pub(crate) fn open(address: SocketAddr, host: &str, tally: &'a Tally, pace: Pace) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stream = runtime.block_on(http::Connection::open(address))?;
        Ok(Self { host: host.to_owned(), stream, runtime, tally, pace })
    }

    /// Sends a request when it is due, and returns the answer if its status is the expected one.
    ///
    /// The latency counts from when the request was due, even if the previous answer came too late for that: otherwise
    /// a stalled server would be asked less, and look fast.
    pub(crate) fn ask(&mut self, kind: &'static str, status: u16, request: Request) -> Result<Answer, Stop> {
        let due = self.pace.next;
        if due >= self.pace.end {
            return Err(Stop::Over);
        }
        self.pace.next += self.pace.interval;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        match self.runtime.block_on(self.stream.ask(&request.host(&self.host).kept())) {
            Ok(answer) if answer.status == status => {
                self.tally.add(kind, due - self.pace.begun, due.elapsed());
                Ok(answer)
            }
            Ok(answer) => Err(self.fault(&format!("{kind}: {status} expected, not {answer:?}"))),
            Err(error) => Err(self.fault(&format!("{kind}: {error}"))),
        }
    }

    /// Notes what is wrong about an answer, or why none came.
    pub(crate) fn fault(&self, what: &str) -> Stop {
        self.tally.add_fault(format!("after {} s, {what}", self.pace.begun.elapsed().as_secs()));
        Stop::Flow
    }

    /// Gives the flow up if the load is too late to know which answer is right.
    pub(crate) fn in_time(&self, since: Instant, limit: Duration) -> Result<(), Stop> {
        if since.elapsed() < limit {
            return Ok(());
        }
        self.tally.add_given_up();
        Err(Stop::Flow)
    }

    pub(crate) fn add_record(&self) {
        self.tally.add_record(self.pace.begun.elapsed());
    }
}
