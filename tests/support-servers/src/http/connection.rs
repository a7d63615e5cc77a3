//! Sends and receives bytes, for no longer than a server may take.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::http::answer::Answer;
use crate::http::request::Request;

/// How long an answer may take: more than the servers wait for the head or the body of a request.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same on a connection that is kept, under load.
const PATIENCE_UNDER_LOAD: Duration = Duration::from_secs(30);
/// How much longer to wait once an answer is there.
const MORE: Duration = Duration::from_secs(1);

/// What the client does once its bytes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Waits for the server to close.
    Wait,
    /// Says that nothing more will come.
    End,
    /// Sends one byte at a time, slowly and without end.
    Drip(u8),
    /// Sends as much as the server takes, without end.
    Flood,
}

/// The server neither answered nor closed.
#[derive(Debug)]
pub struct Late;

/// What a server sent, and whether it closed then.
#[derive(Debug)]
pub struct Heard {
    pub bytes: Vec<u8>,
    pub closed: bool,
}

/// Connects from that address of this machine, or from one that the system chooses.
pub async fn connect(from: Ipv4Addr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if !from.is_unspecified() {
        socket.bind((from, 0).into())?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends over a new connection and reads until the server closes, or sends nothing more after an answer.
///
/// actix-web answers at once and then takes the rest of a body in chunks for as long as there is one.
pub async fn exchange(address: SocketAddr, bytes: &[u8], then: Then) -> Result<Heard, Late> {
    exchange_over(connect(Ipv4Addr::UNSPECIFIED, address).await.unwrap(), bytes, then, MORE).await
}

/// Sends a request and reads until the server closes, as it was asked to.
pub(crate) async fn exchange_one(from: Ipv4Addr, address: SocketAddr, bytes: &[u8]) -> Result<Heard, Late> {
    exchange_over(connect(from, address).await.unwrap(), bytes, Then::Wait, PATIENCE).await
}

/// `more` is how long the end is waited for once an answer is there.
async fn exchange_over(stream: TcpStream, bytes: &[u8], then: Then, more: Duration) -> Result<Heard, Late> {
    let (mut incoming, outgoing) = stream.into_split();
    let reading = async {
        let (mut answer, mut buffer) = (Vec::new(), [0; 16_384]);
        loop {
            let patience = if has_answer(&answer) { more } else { PATIENCE };
            match timeout(patience, incoming.read(&mut buffer)).await {
                Ok(Ok(count @ 1..)) => answer.extend_from_slice(&buffer[..count]),
                // A reset is an end as well: what was read before it is kept.
                Ok(_) => return Ok(Heard { bytes: answer, closed: true }),
                Err(_) if has_answer(&answer) => return Ok(Heard { bytes: answer, closed: false }),
                Err(_) => return Err(Late),
            }
        }
    };
    let writing = async {
        write(outgoing, bytes, then).await;
        std::future::pending().await
    };
    tokio::select! {
        heard = reading => heard,
        heard = writing => heard,
    }
}

/// Writes until everything is out or the server does not take more.
async fn write(mut outgoing: OwnedWriteHalf, bytes: &[u8], then: Then) {
    if outgoing.write_all(bytes).await.is_err() {
        return;
    }
    match then {
        // Dropping this half would end it.
        Then::Wait => outgoing.forget(),
        Then::End => drop(outgoing.shutdown().await),
        Then::Drip(byte) => {
            while outgoing.write_all(&[byte]).await.is_ok() {
                sleep(Duration::from_millis(100)).await;
            }
        }
        Then::Flood => {
            while outgoing.write_all(&[b'a'; 65_536]).await.is_ok() {
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// Whether a whole answer is there; `100 Continue` is none.
fn has_answer(bytes: &[u8]) -> bool {
    Answer::read_all(bytes, false).is_ok_and(|answers| !answers.is_empty())
}

/// A connection that is kept, for one request after the other.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    stream: TcpStream,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { address, stream: connect(Ipv4Addr::UNSPECIFIED, address).await? })
    }

    /// Sends a request and reads its answer; after an error, the next request uses a new connection.
    pub async fn ask(&mut self, request: &Request) -> io::Result<Answer> {
        let answer = timeout(PATIENCE_UNDER_LOAD, self.exchange(&request.bytes())).await;
        let answer = answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        if answer.is_err() {
            *self = Self::open(self.address).await?;
        }
        answer
    }

    async fn exchange(&mut self, bytes: &[u8]) -> io::Result<Answer> {
        self.stream.write_all(bytes).await?;
        let (mut answer, mut buffer) = (Vec::new(), [0; 16_384]);
        loop {
            match self.stream.read(&mut buffer).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => answer.extend_from_slice(&buffer[..count]),
            }
            match Answer::read(&answer, false).map_err(io::Error::other)? {
                Some((whole, length)) if length == answer.len() => return Ok(whole),
                Some(_) => return Err(io::Error::other("more than one answer")),
                None => {}
            }
        }
    }
}
