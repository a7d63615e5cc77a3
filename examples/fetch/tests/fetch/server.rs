//! A host on the loopback that sends what a test sets, and records what it receives.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
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
    /// Nothing, until the next request has come.
    Next,
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
    /// Sends these parts over every connection.
    pub(crate) async fn start(tls: Arc<ServerConfig>, parts: Vec<Part>) -> Self {
        Self::start_each(Some(tls), vec![parts]).await
    }

    /// Each connection has its own parts; the last ones are for all further connections.
    pub(crate) async fn start_each(tls: Option<Arc<ServerConfig>>, parts: Vec<Vec<Part>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Seen::default()));
        let task = tokio::spawn(serve(listener, tls.map(TlsAcceptor::from), Arc::clone(&seen), parts));
        Self { address, seen, task }
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// How many of them resume an earlier TLS session.
    pub(crate) fn resumed(&self) -> usize {
        self.seen.resumed.load(Ordering::SeqCst)
    }

    /// The requests, as they came.
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

async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, seen: Arc<Seen>, parts: Vec<Vec<Part>>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let number = seen.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, seen, parts) = (tls.clone(), Arc::clone(&seen), parts[number.min(parts.len() - 1)].clone());
        tokio::spawn(async move {
            // A client that refuses the certificate or closes early is what many tests want.
            let _ = match tls {
                Some(tls) => answer_over_tls(stream, tls, &seen, parts).await,
                None => answer(stream, &seen, parts).await,
            };
            seen.ended.fetch_add(1, Ordering::SeqCst);
        });
    }
}

async fn answer_over_tls(stream: TcpStream, tls: TlsAcceptor, seen: &Seen, parts: Vec<Part>) -> io::Result<()> {
    let stream = tls.accept(stream).await?;
    if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
        seen.resumed.fetch_add(1, Ordering::SeqCst);
    }
    answer(stream, seen, parts).await
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, seen: &Seen, parts: Vec<Part>) -> io::Result<()> {
    read_request(&mut stream, seen).await?;
    for part in parts {
        match part {
            Part::Bytes(bytes) => stream.write_all(&bytes).await?,
            Part::Pause(time) => sleep(time).await,
            Part::Endless(bytes) => loop {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
            },
            Part::Wait => while stream.read(&mut [0; 64]).await? > 0 {},
            Part::Next => read_request(&mut stream, seen).await?,
            Part::Cut => return Ok(()),
        }
        stream.flush().await?;
    }
    stream.shutdown().await
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin), seen: &Seen) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let mut request = String::from_utf8(request).unwrap();
    let length = request.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    request.push_str(&String::from_utf8(body).unwrap());
    seen.requests.lock().unwrap().push(request);
    Ok(())
}
