//! The load generator: connections that each send a request as soon as the previous one is answered.

use std::io;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::connection::{Connection, Plan};
use super::machine::Process;
use crate::material::Tokens;

pub(crate) const CONNECTIONS: usize = 64;
const WARM_UP: Duration = Duration::from_millis(300);

/// The figures of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Processor time of the server per request. `None` if it cannot be read.
    pub(crate) cpu_us: Option<f64>,
}

/// Loads a server for `length`, on new connections.
///
/// # Panics
///
/// If the server closes a connection, or if an answer is not the expected one.
pub(crate) fn load(
    address: &str,
    plan: &Plan<'_>,
    tokens: &mut [Tokens],
    length: Duration,
    server: Process,
) -> Measured {
    run(address, plan, tokens, length, server).expect("the server answers")
}

fn run(
    address: &str,
    plan: &Plan<'_>,
    tokens: &mut [Tokens],
    length: Duration,
    server: Process,
) -> io::Result<Measured> {
    let mut poll = Poll::new()?;
    let mut connections = Vec::with_capacity(CONNECTIONS);
    for share in tokens.chunks_mut(tokens.len().div_ceil(CONNECTIONS)) {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(connections.len()), interest)?;
        connections.push(Connection::new(stream, share));
    }
    for connection in &mut connections {
        connection.ask(plan)?;
    }

    let mut events = Events::with_capacity(CONNECTIONS);
    let mut under_way = connections.len();
    let mut latencies = Vec::with_capacity(1 << 20);
    let begin = Instant::now() + WARM_UP;
    let end = begin + length;
    let (mut cpu_begin, mut cpu_end) = (None, None);
    while under_way > 0 {
        poll.poll(&mut events, Some(Duration::from_secs(30)))?;
        assert!(!events.is_empty(), "the server does not answer");
        for event in &events {
            let connection = &mut connections[event.token().0];
            if event.is_writable() {
                connection.write()?;
            }
            if !event.is_readable() || !connection.read(plan)? {
                continue;
            }
            let now = Instant::now();
            if now >= begin && now < end {
                cpu_begin = cpu_begin.or_else(|| server.cpu());
                latencies.push(now - connection.started);
            }
            // Wait for the last answers: they contain the tokens for the next round.
            if now < end {
                connection.ask(plan)?;
            } else {
                cpu_end = cpu_end.or_else(|| server.cpu());
                under_way -= 1;
            }
        }
    }
    Ok(measured(latencies, length, cpu_begin.zip(cpu_end).map(|(begin, end)| end.saturating_sub(begin))))
}

fn measured(mut latencies: Vec<Duration>, length: Duration, cpu: Option<Duration>) -> Measured {
    assert!(!latencies.is_empty(), "no answer within the round");
    latencies.sort_unstable();
    let count = latencies.len();
    let at = |share: f64| latencies[((count - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    Measured {
        per_second: count as f64 / length.as_secs_f64(),
        p50_ms: at(0.50),
        p99_ms: at(0.99),
        cpu_us: cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / count as f64),
    }
}
