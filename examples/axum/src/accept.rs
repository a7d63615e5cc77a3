//! An accept loop with timeouts, which `axum::serve` does not have.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Serves an application over HTTP/1.1 and HTTP/2 until `shutdown` completes. Requests that have begun then have thirty
/// seconds to complete.
///
/// Unlike `axum::serve`, it allows ten seconds for the head of a request, and ten seconds between two requests of a
/// connection [RFC 9112 section 9.5]. A connection over HTTP/2 is closed if its peer does not answer a ping for ten
/// seconds. Handlers find the peer as `ConnectInfo<SocketAddr>`.
///
/// It does not limit the number of connections, nor how slowly a client reads an answer. A proxy in front does.
pub async fn serve(listener: TcpListener, app: Router, shutdown: impl Future<Output = ()>) {
    let (stop, stopped) = watch::channel(());
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, peer)) => drop(tokio::spawn(serve_one(stream, peer, app.clone(), stopped.clone()))),
            Err(error) if is_of_one_connection(&error) => {}
            // Most likely the process has no sockets left. Connections that end will free some.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
    drop((listener, stopped));
    let _ = stop.send(());
    let _ = timeout(SHUTDOWN_PATIENCE, stop.closed()).await;
}

async fn serve_one(stream: TcpStream, peer: SocketAddr, app: Router, mut stopped: watch::Receiver<()>) {
    select! {
        begun = timeout(HEAD_PATIENCE, begins(&stream)) => if !matches!(begun, Ok(Ok(()))) { return },
        _ = stopped.changed() => return,
    }
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(HEAD_PATIENCE).keep_alive_timeout(HEAD_PATIENCE);
    let service = TowerToHyperService::new(app.layer(Extension(ConnectInfo(peer))));
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    // An error ends only this connection.
    select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Waits until the first bytes show which version of HTTP follows [RFC 9113 section 3.4]. hyper has no timeout here.
async fn begins(stream: &TcpStream) -> io::Result<()> {
    let mut start = [0; PREFACE.len()];
    loop {
        let seen = stream.peek(&mut start).await?;
        let is_undecided = seen > 0 && seen < PREFACE.len() && PREFACE.starts_with(&start[..seen]);
        if !is_undecided {
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(30);
