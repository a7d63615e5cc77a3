//! One keep-alive connection on which a request is due every so often.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::request::Request;
use crate::tally::Tally;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(30);

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
    address: String,
    host: String,
    stream: TcpStream,
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
    pub(crate) fn open(address: &str, host: &str, tally: &'a Tally, pace: Pace) -> io::Result<Self> {
        let stream = connect(address)?;
        Ok(Self { address: address.to_owned(), host: host.to_owned(), stream, tally, pace })
    }

    /// Sends a request when it is due, and gives the answer if its status is the expected one.
    ///
    /// The latency counts from when the request was due, also if the answer before came too late for that:
    /// otherwise a server that stands still would be asked less, and look fast.
    pub(crate) fn ask(&mut self, kind: &'static str, status: u16, request: &Request) -> Result<Answer, Stop> {
        let due = self.pace.next;
        if due >= self.pace.end {
            return Err(Stop::Over);
        }
        self.pace.next += self.pace.interval;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        match self.exchange(request) {
            Ok(answer) if answer.status == status => {
                self.tally.add(kind, due - self.pace.begun, due.elapsed());
                Ok(answer)
            }
            Ok(answer) => Err(self.fault(&format!("{kind}: {status} expected, not {answer:?}"))),
            Err(error) => {
                self.stream = connect(&self.address).map_err(|error| self.fault(&format!("no connection: {error}")))?;
                Err(self.fault(&format!("{kind}: {error}")))
            }
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

    fn exchange(&mut self, request: &Request) -> io::Result<Answer> {
        self.stream.write_all(&request.octets(&self.host))?;
        let (mut octets, mut buffer) = (Vec::new(), [0; 16 * 1024]);
        loop {
            let count = self.stream.read(&mut buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            octets.extend_from_slice(&buffer[..count]);
            if let Some(answer) = Answer::complete(&octets)? {
                return Ok(answer);
            }
        }
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// An answer whose length is told.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The answer once all of it is there.
    fn complete(octets: &[u8]) -> io::Result<Option<Self>> {
        let Some(end) = octets.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
        let head = String::from_utf8_lossy(&octets[..end]).into_owned();
        let body = &octets[end + 4..];
        let wrong = |what: &str| io::Error::other(format!("{what}: {head}"));
        let status = head.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(|| wrong("no status"))?;
        let length: usize = match header(&head, "content-length").next() {
            Some(length) => length.parse().map_err(|_| wrong("no length"))?,
            None => return Err(wrong("no length")),
        };
        if body.len() > length {
            return Err(wrong("more than one answer"));
        }
        let body = String::from_utf8_lossy(body).into_owned();
        Ok((octets.len() == end + 4 + length).then_some(Self { status, head, body }))
    }

    pub(crate) fn header<'a>(&'a self, name: &'a str) -> &'a str {
        header(&self.head, name).next().unwrap_or_default()
    }

    /// The cookies that it sets, as they are sent back.
    pub(crate) fn cookies(&self) -> String {
        let pairs: Vec<_> = header(&self.head, "set-cookie").filter_map(|line| line.split(';').next()).collect();
        pairs.join("; ")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The text between `start` and the next quotation mark, wherever it stands in the page.
    pub(crate) fn quoted_after<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        self.body.split(start).skip(1).filter_map(|rest| rest.split('"').next())
    }
}

fn header<'a>(head: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.filter(move |(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}
