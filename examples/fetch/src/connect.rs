//! Resolves a host, connects to it, and checks its certificate.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use grantor::fetch::{FetchError, FetchErrorKind};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::address::{self, Loopback};
use crate::network::Network;
use crate::target::Host;

/// How many addresses of a host are tried. Most hosts have two, one of each family.
const MAX_ATTEMPTS: u32 = 4;

/// Returns the addresses of a host, none of which is special-use.
pub(crate) async fn checked<P: Send + 'static>(
    network: &Arc<dyn Network>,
    host: &Host,
    loopback: Loopback,
    place: impl Future<Output = Result<P, FetchError>>,
) -> Result<Vec<IpAddr>, FetchError> {
    let addresses = addresses(network, host, place).await?;
    address::judge(&addresses, loopback).map_err(|error| caused(FetchErrorKind::SpecialUseAddress, error))?;
    Ok(addresses)
}

/// Returns the addresses of a host, at least one. A name is looked up once.
///
/// A look-up waits for its place, and keeps it until it has ended, even if the request is dropped.
pub(crate) async fn addresses<P: Send + 'static>(
    network: &Arc<dyn Network>,
    host: &Host,
    place: impl Future<Output = Result<P, FetchError>>,
) -> Result<Vec<IpAddr>, FetchError> {
    let addresses = match host {
        Host::Address(address) => vec![*address],
        // No resolver is asked [RFC 6761 section 6.3].
        Host::Name(_) if host.is_loopback() => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Host::Name(name) => {
            let (network, name, place) = (Arc::clone(network), name.clone(), place.await?);
            let look_up = tokio::spawn(async move {
                let found = network.look_up(name.as_ref()).await;
                drop(place);
                found
            });
            let found = look_up.await.map_err(io::Error::other).flatten();
            found.map_err(|error| caused(FetchErrorKind::Name, error))?
        }
    };
    if addresses.is_empty() { Err(FetchError::new(FetchErrorKind::Name)) } else { Ok(addresses) }
}

/// Connects to the first address that accepts. Each gets an equal share of the time.
pub(crate) async fn connect(
    network: &dyn Network,
    addresses: &[IpAddr],
    port: u16,
    time: Duration,
) -> Result<TcpStream, FetchError> {
    let attempts = u32::try_from(addresses.len()).unwrap_or(MAX_ATTEMPTS).clamp(1, MAX_ATTEMPTS);
    let mut last = FetchError::new(FetchErrorKind::Connection);
    for (address, _) in addresses.iter().zip(0..attempts) {
        match timeout(time / attempts, network.connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = caused(FetchErrorKind::Connection, error),
            Err(elapsed) => last = caused(FetchErrorKind::TimedOut, elapsed),
        }
    }
    Err(last)
}

/// Starts TLS, and checks that the certificate is for the host.
pub(crate) async fn encrypt(
    config: &Arc<ClientConfig>,
    name: ServerName<'static>,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, FetchError> {
    let failed = |error: io::Error| {
        let is_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
        caused(if is_tls { FetchErrorKind::Tls } else { FetchErrorKind::Connection }, error)
    };
    TlsConnector::from(Arc::clone(config)).connect(name, stream).await.map_err(failed)
}

pub(crate) fn caused(kind: FetchErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> FetchError {
    FetchError::with_source(kind, source)
}
