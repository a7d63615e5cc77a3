//! One hostile connection, and its allowed outcomes.

use std::future::ready;

use futures::StreamExt;
use futures::stream;

use crate::hostile::judge;
use crate::hostile::server::Server;
use support_servers::http::Answer;
use support_servers::http::{Late, Then, exchange};

/// The connection may be closed without an answer.
pub(crate) const CLOSED: u16 = 0;

#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    bytes: Vec<u8>,
    then: Then,
    /// The statuses that the first answer may have.
    statuses: Vec<u16>,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>, statuses: &[u16]) -> Self {
        Self { name: name.into(), bytes: bytes.into(), then: Then::Wait, statuses: statuses.to_vec() }
    }

    pub(crate) fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    async fn run(&self, server: &Server) -> Result<(), String> {
        let heard = exchange(server.address, &self.bytes, self.then).await.map_err(|Late| "no end")?;
        let answers = Answer::read_all(&heard.bytes, false)?;
        // What follows the request's end is no request. actix-web answers it with 400, even where it was asked to
        // close.
        if answers.iter().skip(1).any(|answer| answer.status != 400) {
            return Err(format!("{} answers to one request", answers.len()));
        }
        let status = answers.first().map_or(CLOSED, |answer| answer.status);
        if !self.statuses.contains(&status) {
            let shown = heard.bytes.escape_ascii().to_string();
            return Err(format!("{status} is none of {:?}: {shown:.300}", self.statuses));
        }
        answers.iter().try_for_each(|answer| judge::judge(answer, &server.base, &server.redirect_uri))
    }
}

/// Sends all cases, many at once, and returns everything that went wrong; then the server must still work.
pub(crate) async fn run_all(server: &Server, cases: &[Case]) -> Result<(), String> {
    run(server, cases, AT_ONCE).await
}

/// The same with as many connections as there are cases.
pub(crate) async fn run_together(server: &Server, cases: &[Case]) -> Result<(), String> {
    run(server, cases, cases.len()).await
}

async fn run(server: &Server, cases: &[Case], at_once: usize) -> Result<(), String> {
    let faults = stream::iter(cases)
        .map(async |case| {
            let fault = case.run(server).await.err()?;
            let (sent, _) = case.bytes.split_at(case.bytes.len().min(400));
            Some(format!("{}, {}: {fault}\n    {}", server.name, case.name, sent.escape_ascii()))
        })
        .buffer_unordered(at_once)
        .filter_map(ready);
    let faults: Vec<_> = faults.collect().await;
    server.still_works().await;
    if faults.is_empty() { Ok(()) } else { Err(format!("{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"))) }
}

const AT_ONCE: usize = 16;
