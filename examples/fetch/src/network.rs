//! What a fetcher needs from the network: name look-ups and connections.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use tokio::net::{TcpStream, lookup_host};

/// Looks names up and opens connections. By default, the system's resolver and sockets do.
///
/// # Security
///
/// [`Fetch`](crate::Fetch) checks what [`look_up`](Self::look_up) returns, and calls [`connect`](Self::connect) only
/// for addresses that passed. An implementation may be stricter; for example, it may refuse the public addresses of
/// your own network. If it connects to another address than the one it was given, there is no protection.
#[async_trait]
pub trait Network: fmt::Debug + Send + Sync + 'static {
    /// Returns every address of a host. It is called once per request if the host is a name.
    ///
    /// It must end by itself. Until then it keeps one of the places for look-ups, even after the timeout of its
    /// request: see [`requests_at_once`](crate::Fetch::requests_at_once).
    ///
    /// # Errors
    ///
    /// Any error if the name was not found.
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to an address.
    ///
    /// # Errors
    ///
    /// Any error if there is no connection.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// The system's resolver and sockets.
#[derive(Debug)]
pub(crate) enum System {
    /// Names are absolute: no search domains are tried. With them, `kubernetes.default` is a host in many clusters.
    AbsoluteNames,
    /// Names are looked up as the system is set up, with its search domains.
    LocalNames,
}

#[async_trait]
impl Network for System {
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = match self {
            Self::AbsoluteNames => format!("{name}."),
            Self::LocalNames => name.to_owned(),
        };
        let found = lookup_host((name, 443)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}
