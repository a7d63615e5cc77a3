//! Connections over HTTP/1.1, and the pool that keeps those to a configured host open between requests.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use grantor::fetch::{FetchError, FetchResponse};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::io::InspectReader;

use crate::response::{broken, http, read};

/// How long a connection is kept without a request.
const MAX_IDLE: Duration = Duration::from_secs(30);

/// What a connection reads from and writes to, with TLS or without. It is boxed, because hyper's code is large and
/// would be compiled for each type.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection over HTTP/1.1. Dropping it closes it.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Reads and writes. It ends with the connection.
    driver: Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>,
    has_received: Arc<AtomicBool>,
}

impl Connection {
    pub(crate) async fn over(stream: Box<dyn Stream>) -> Result<Self, FetchError> {
        let has_received = Arc::new(AtomicBool::new(false));
        let received = Arc::clone(&has_received);
        let stream = InspectReader::new(stream, move |bytes: &[u8]| {
            received.fetch_or(!bytes.is_empty(), Ordering::Relaxed);
        });
        let (sender, driver) = http().handshake(TokioIo::new(stream)).await.map_err(broken)?;
        Ok(Self { sender, driver: Box::pin(driver), has_received })
    }

    /// Sends a request and reads the response to its end.
    pub(crate) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        max_bytes: usize,
    ) -> Result<FetchResponse, FetchError> {
        self.has_received.store(false, Ordering::Relaxed);
        let sent = self.sender.send_request(request);
        let response = async { read(sent.await.map_err(broken)?, max_bytes).await };
        let mut response = pin!(response);
        tokio::select! {
            biased;
            response = &mut response => response,
            // What arrived before the connection ended is still read. The response reports the error too.
            _ = &mut self.driver => response.await,
        }
    }

    /// Returns whether any byte of the last response has arrived.
    pub(crate) fn has_received(&self) -> bool {
        self.has_received.load(Ordering::Relaxed)
    }

    /// Returns whether another request can be sent. It cannot if the server has closed the connection, or has sent more
    /// than the response.
    async fn is_idle(&mut self) -> bool {
        let is_open = poll_fn(|context| Poll::Ready(self.driver.as_mut().poll(context).is_pending())).await;
        is_open && self.sender.is_ready()
    }
}

/// The connections without a request. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Mutex<Idle>>);

#[derive(Default)]
struct Idle {
    /// The last one was used last.
    connections: Vec<(Instant, Connection)>,
    /// Closes them in time; `None` if there are none.
    closer: Option<JoinHandle<()>>,
}

impl Pool {
    /// Takes a connection that the server has not closed. Of several, it is the one that was used last, so that the
    /// others can be closed when there are fewer requests.
    pub(crate) async fn take(&self) -> Option<Connection> {
        loop {
            let (_, mut connection) = lock(&self.0).connections.pop()?;
            if connection.is_idle().await {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose response was read to its end.
    pub(crate) async fn put(&self, mut connection: Connection) {
        if !connection.is_idle().await {
            return;
        }
        let mut idle = lock(&self.0);
        idle.connections.push((Instant::now(), connection));
        // It has also finished if the runtime of the earlier requests was shut down.
        if idle.closer.as_ref().is_none_or(JoinHandle::is_finished) {
            idle.closer = Some(tokio::spawn(close_in_time(Arc::downgrade(&self.0))));
        }
    }
}

/// Runs until no connection is left.
async fn close_in_time(idle: Weak<Mutex<Idle>>) {
    while let Some(next) = idle.upgrade().and_then(|idle| close_due(&idle)) {
        sleep_until(next).await;
    }
}

/// Closes the connections that were idle for too long, and returns when the next one will be.
fn close_due(idle: &Mutex<Idle>) -> Option<Instant> {
    let mut idle = lock(idle);
    idle.connections.retain(|(since, _)| since.elapsed() < MAX_IDLE);
    let next = idle.connections.first().map(|(since, _)| *since + MAX_IDLE);
    if next.is_none() {
        idle.closer = None;
    }
    next
}

fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
