//! Resolves a host, connects to one of its addresses, and checks its certificate.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use grantor::fetch::{FetchError, FetchErrorKind};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::address::{self, Loopback};
use crate::connection::Stream;
use crate::network::Network;
use crate::target::Host;

/// How many addresses of a host are tried, two of each family if it has both. The host chooses them, and each attempt
/// is a connection that a stranger makes the server open.
const MAX_ATTEMPTS: usize = 4;

/// How long an attempt goes on before the next one starts beside it. RFC 8305 section 5 recommends 250 ms.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

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

/// Connects to the first address that answers, by TLS too if it is wanted.
///
/// The families take turns, and the next attempt starts when the last one has failed or after [`ATTEMPT_DELAY`], so a
/// host is reached although one family of its addresses, or one server among them, is silent [RFC 8305 sections 4, 5].
pub(crate) async fn open(
    network: &Arc<dyn Network>,
    addresses: &[IpAddr],
    port: u16,
    tls: Option<(&Arc<ClientConfig>, ServerName<'static>)>,
) -> Result<Box<dyn Stream>, FetchError> {
    let mut waiting = in_turns(addresses).take(MAX_ATTEMPTS);
    // Dropping it ends the attempts that are left.
    let mut attempts = JoinSet::new();
    let mut last = FetchError::new(FetchErrorKind::Connection);
    loop {
        let has_started = waiting.next().is_some_and(|address| {
            let (network, address) = (Arc::clone(network), SocketAddr::new(address, port));
            let tls = tls.clone().map(|(config, name)| (Arc::clone(config), name));
            attempts.spawn(async move { attempt(&*network, address, tls).await });
            true
        });
        let delay = if has_started { ATTEMPT_DELAY } else { Duration::MAX };
        match timeout(delay, attempts.join_next()).await {
            Ok(Some(Ok(Ok(stream)))) => return Ok(stream),
            // What is wrong with a certificate says more than that another address refuses.
            Ok(Some(Ok(Err(error)))) if last.kind() != FetchErrorKind::Tls => last = error,
            Ok(Some(Ok(Err(_)))) | Err(_) => {}
            Ok(Some(Err(panicked))) => last = caused(FetchErrorKind::Connection, panicked),
            Ok(None) => return Err(last),
        }
    }
}

/// Returns the addresses so that the families take turns, beginning with the family of the first.
fn in_turns(addresses: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    let leads = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (first, second): (Vec<IpAddr>, Vec<IpAddr>) = addresses.iter().partition(|address| address.is_ipv6() == leads);
    (0..addresses.len()).flat_map(move |place| [first.get(place).copied(), second.get(place).copied()]).flatten()
}

async fn attempt(
    network: &dyn Network,
    address: SocketAddr,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
) -> Result<Box<dyn Stream>, FetchError> {
    let failed = |error: io::Error| caused(FetchErrorKind::Connection, error);
    let stream = network.connect(address).await.map_err(failed)?;
    // A request is written at once.
    stream.set_nodelay(true).map_err(failed)?;
    match tls {
        None => Ok(Box::new(stream)),
        Some((config, name)) => Ok(Box::new(encrypt(&config, name, stream).await?)),
    }
}

/// Starts TLS, and checks that the certificate is for the host.
async fn encrypt(
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
