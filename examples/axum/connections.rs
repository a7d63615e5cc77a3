//! Serves connections as `axum::serve` does, but waits for the head of a request no longer than a head may take.

use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

pub(crate) async fn serve(listener: TcpListener, routes: Router) -> ! {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => drop(tokio::spawn(serve_one(stream, peer, routes.clone()))),
            // That connection alone has ended.
            Err(error) if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) => {}
            // Out of sockets, most likely, which others give back.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

async fn serve_one(stream: TcpStream, peer: SocketAddr, routes: Router) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let service = TowerToHyperService::new(routes.layer(Extension(ConnectInfo(peer))));
    // What ends a connection concerns nobody else.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// Between two requests as well.
const PATIENCE: Duration = Duration::from_secs(10);
