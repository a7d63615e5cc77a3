//! A host on the loopback that sends what a test sets, and records what it receives.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{HandshakeKind, ServerConfig};

/// A step of a response.
#[derive(Clone)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// The same again and again, until the client has closed.
    Endless(Vec<u8>),
    /// Nothing, until the client has closed.
    Wait,
    /// The connection ends without the closing message of TLS.
    Cut,
}

impl Part {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into_bytes())
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    ended: AtomicUsize,
    resumed: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

impl Server {
    pub(crate) async fn start(tls: Arc<ServerConfig>, parts: Vec<Part>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Seen::default()));
        let task = tokio::spawn(serve(listener, TlsAcceptor::from(tls), Arc::clone(&seen), parts));
        Self { address, seen, task }
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// How many of them resume an earlier TLS session.
    pub(crate) fn resumed(&self) -> usize {
        self.seen.resumed.load(Ordering::SeqCst)
    }

    /// The heads of the requests, as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap().clone()
    }

    /// Waits until every connection has ended.
    pub(crate) async fn is_idle(&self) {
        while self.seen.ended.load(Ordering::SeqCst) < self.connections() {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, seen: Arc<Seen>, parts: Vec<Part>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, seen, parts) = (tls.clone(), Arc::clone(&seen), parts.clone());
        tokio::spawn(async move {
            // A client that refuses the certificate or closes early is what many tests want.
            let _ = answer(stream, tls, &seen, parts).await;
            seen.ended.fetch_add(1, Ordering::SeqCst);
        });
    }
}

async fn answer(stream: TcpStream, tls: TlsAcceptor, seen: &Seen, parts: Vec<Part>) -> io::Result<()> {
    let mut stream = tls.accept(stream).await?;
    if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
        seen.resumed.fetch_add(1, Ordering::SeqCst);
    }
    let head = read_head(&mut stream).await?;
    seen.requests.lock().unwrap().push(head);
    for part in parts {
        match part {
            Part::Bytes(bytes) => stream.write_all(&bytes).await?,
            Part::Pause(time) => sleep(time).await,
            Part::Endless(bytes) => loop {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
            },
            Part::Wait => while stream.read(&mut [0; 64]).await? > 0 {},
            Part::Cut => return Ok(()),
        }
        stream.flush().await?;
    }
    stream.shutdown().await
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(head).unwrap())
}
