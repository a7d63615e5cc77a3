//! Octets out, octets in, and no longer than a server may take.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::time::{sleep, timeout};

use crate::answer::Answer;

/// What the client does once its octets are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Waits for the server to close.
    Wait,
    /// Says that nothing more will come.
    End,
    /// Sends one octet at a time, slowly and without end.
    Drip(u8),
    /// Sends as much as the server takes, without end.
    Flood,
}

/// The server neither answered nor closed.
pub(crate) struct Late;

/// Sends over a connection of its own and reads until the server closes, or says nothing more after an answer.
///
/// actix-web answers at once and then takes the rest of a body in chunks for as long as there is one.
pub(crate) async fn exchange(address: SocketAddr, octets: &[u8], then: Then) -> Result<Vec<u8>, Late> {
    let (mut incoming, outgoing) = TcpStream::connect(address).await.unwrap().into_split();
    let mut answer = Vec::new();
    let reading = async {
        let mut buffer = [0; 16_384];
        loop {
            match timeout(patience(&answer), incoming.read(&mut buffer)).await {
                Ok(Ok(count @ 1..)) => answer.extend_from_slice(&buffer[..count]),
                // A reset is an end as well: what was read before it is kept.
                Ok(_) => return Ok(()),
                Err(_) if has_answer(&answer) => return Ok(()),
                Err(_) => return Err(Late),
            }
        }
    };
    let writing = async {
        write(outgoing, octets, then).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = reading => ended?,
        () = writing => {}
    }
    Ok(answer)
}

/// Writes until everything is out or the server does not take more.
async fn write(mut outgoing: OwnedWriteHalf, octets: &[u8], then: Then) {
    if outgoing.write_all(octets).await.is_err() {
        return;
    }
    match then {
        // Dropping this half would end it.
        Then::Wait => outgoing.forget(),
        Then::End => drop(outgoing.shutdown().await),
        Then::Drip(octet) => {
            while outgoing.write_all(&[octet]).await.is_ok() {
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

/// How long more is waited for.
fn patience(answer: &[u8]) -> Duration {
    if has_answer(answer) { Duration::from_secs(1) } else { PATIENCE }
}

/// A whole answer, whatever it is; `100 Continue` is none.
fn has_answer(octets: &[u8]) -> bool {
    Answer::read_all(octets).is_ok_and(|answers| !answers.is_empty())
}

/// More than the examples wait for the head or the body of a request.
const PATIENCE: Duration = Duration::from_secs(20);
