//! Requests to one host that was configured.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use grantor::fetch::{FetchError, FetchErrorKind, FetchResponse, Transport, TransportRequest};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{ACCEPT_ENCODING, HOST, HeaderValue};
use tokio::sync::{AcquireError, Semaphore};
use tokio::time::timeout;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use zeroize::Zeroizing;

use crate::connect::{self, caused};
use crate::connection::{Connection, Pool};
use crate::network::{Network, System};
use crate::target::{Scheme, Target, UrlError};
use crate::tls::{self, SetupError};

/// How many requests run at once, and so how many connections are open.
const MAX_CONNECTIONS: usize = 64;

/// How many look-ups of the name run at once. The system's resolver cannot be stopped, and each look-up takes a thread.
const MAX_LOOK_UPS: usize = 8;

/// Sends requests to one host that you configured, such as an authorization server.
///
/// It connects to any address, also to private ones, and only for URLs whose scheme, host and port are those of the URL
/// that it was made with. It keeps connections open: at most 64, each for 30 seconds after its last request. Further
/// requests wait for a connection; the wait counts towards their timeout.
///
/// If the server closes a kept connection before it has sent a byte of its response, the request is sent once more over
/// a new connection. So send only requests that may arrive twice, such as introspection.
///
/// Clones share connections and limits.
///
/// # Panics
///
/// [`send`](Transport::send) panics outside of a tokio runtime with I/O and time enabled.
#[derive(Clone)]
pub struct ConfiguredHost {
    origin: Arc<Target>,
    network: Arc<dyn Network>,
    tls: Arc<ClientConfig>,
    places: Arc<Semaphore>,
    look_ups: Arc<Semaphore>,
    pool: Pool,
}

impl ConfiguredHost {
    /// Returns a transport to the host of an https URL. It trusts Mozilla's root certificates.
    ///
    /// Only scheme, host and port of the URL count, so it may be that of an endpoint.
    ///
    /// # Errors
    ///
    /// [`SetupError::Url`] if the URL is not an absolute https URL.
    pub fn new(url: &str) -> Result<Self, SetupError> {
        Self::with(https(url)?, tls::public_roots())
    }

    /// Returns a transport to the host of an https URL. It also trusts `roots`: one or more certificates in PEM, such
    /// as that of your company's own certificate authority.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if the URL is not an absolute https URL, or if `roots` has no certificate or one that cannot be
    /// read.
    pub fn with_roots(url: &str, roots: impl AsRef<[u8]>) -> Result<Self, SetupError> {
        let mut all = tls::public_roots();
        tls::add_roots(&mut all, roots.as_ref())?;
        Self::with(https(url)?, all)
    }

    /// Returns a transport for development. The URL may also begin with `http://` if its host is `localhost`, a name
    /// below it, or a loopback address.
    ///
    /// # Errors
    ///
    /// [`SetupError::Url`] if the URL is neither that nor an absolute https URL.
    pub fn for_development(url: &str) -> Result<Self, SetupError> {
        let target = configured(url)?;
        if target.scheme == Scheme::Http && !target.host.is_loopback() {
            return Err(unusable(UrlError::Plain));
        }
        Self::with(target, tls::public_roots())
    }

    fn with(origin: Target, roots: RootCertStore) -> Result<Self, SetupError> {
        Ok(Self {
            origin: Arc::new(origin),
            network: Arc::new(System::LocalNames),
            tls: Arc::new(tls::client_config(roots)?),
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            look_ups: Arc::new(Semaphore::new(MAX_LOOK_UPS)),
            pool: Pool::default(),
        })
    }

    /// Returns the request as it is sent.
    fn request(&self, request: &TransportRequest<'_>) -> Result<Request<Full<Bytes>>, FetchError> {
        let target = Target::configured(request.url).map_err(|error| caused(FetchErrorKind::Url, error))?;
        if !target.has_origin_of(&self.origin) {
            return Err(caused(FetchErrorKind::Url, UrlError::Origin(self.origin.to_string())));
        }
        let mut head = Request::builder().method(request.method).uri(target.path);
        for (name, value) in request.headers {
            head = head.header(*name, *value);
        }
        let body = Bytes::from_owner(Zeroizing::new(request.body.to_vec()));
        let mut whole = head.body(Full::new(body)).map_err(|error| caused(FetchErrorKind::Url, error))?;
        let host = HeaderValue::from_str(&self.origin.authority);
        whole.headers_mut().insert(HOST, host.map_err(|error| caused(FetchErrorKind::Url, error))?);
        whole.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(whole)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>, max_bytes: usize) -> Result<FetchResponse, FetchError> {
        let place = self.places.acquire().await.map_err(closed)?;
        let (connection, response) = match self.reuse(&request, max_bytes).await {
            Some(exchanged) => exchanged?,
            None => {
                let mut connection = self.connect().await?;
                let response = connection.exchange(request, max_bytes).await?;
                (connection, response)
            }
        };
        self.pool.put(connection).await;
        drop(place);
        Ok(response)
    }

    /// Sends the request over a kept connection. Returns `None` if there is none, or if the server closed it before it
    /// sent a byte of the response.
    ///
    /// > A client SHOULD NOT automatically retry a request with a non-idempotent method unless it has some means to
    /// > know that the request semantics are actually idempotent, regardless of the method
    ///
    /// [RFC 9110 section 9.2.2]
    async fn reuse(
        &self,
        request: &Request<Full<Bytes>>,
        max_bytes: usize,
    ) -> Option<Result<(Connection, FetchResponse), FetchError>> {
        let mut connection = self.pool.take().await?;
        match connection.exchange(request.clone(), max_bytes).await {
            Ok(response) => Some(Ok((connection, response))),
            Err(error) if error.kind() == FetchErrorKind::Connection && !connection.has_received() => None,
            Err(error) => Some(Err(error)),
        }
    }

    async fn connect(&self) -> Result<Connection, FetchError> {
        let host = &self.origin.host;
        let look_up = async { Arc::clone(&self.look_ups).acquire_owned().await.map_err(closed) };
        let addresses = connect::addresses(&self.network, host, look_up).await?;
        let tls = match self.origin.scheme {
            Scheme::Http => None,
            Scheme::Https => Some((&self.tls, host.server_name())),
        };
        Connection::over(connect::open(&self.network, &addresses, self.origin.port, tls).await?).await
    }
}

#[async_trait]
impl Transport for ConfiguredHost {
    async fn send(&self, request: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        let whole = self.exchange(self.request(request)?, request.max_bytes);
        timeout(request.timeout, whole).await.unwrap_or_else(|elapsed| Err(caused(FetchErrorKind::TimedOut, elapsed)))
    }
}

/// Shows the host alone.
impl fmt::Debug for ConfiguredHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConfiguredHost").field(&format_args!("{}", self.origin)).finish()
    }
}

fn https(url: &str) -> Result<Target, SetupError> {
    let target = configured(url)?;
    if target.scheme == Scheme::Https { Ok(target) } else { Err(unusable(UrlError::Scheme)) }
}

fn configured(url: &str) -> Result<Target, SetupError> {
    Target::configured(url).map_err(unusable)
}

fn unusable(error: UrlError) -> SetupError {
    SetupError::Url(Box::new(error))
}

/// No semaphore is ever closed.
fn closed(error: AcquireError) -> FetchError {
    caused(FetchErrorKind::Connection, error)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io;
    use std::net::{IpAddr, SocketAddr};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::net::TcpStream;

    use super::*;

    /// A resolver that never answers.
    #[derive(Debug, Default)]
    struct Hanging(AtomicUsize);

    #[async_trait]
    impl Network for Arc<Hanging> {
        async fn look_up(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            pending().await
        }

        async fn connect(&self, _: SocketAddr) -> io::Result<TcpStream> {
            Err(io::ErrorKind::ConnectionRefused.into())
        }
    }

    /// RSC-08
    ///
    /// Look-ups go on after their requests have timed out.
    #[tokio::test]
    async fn look_ups_that_hang_are_bounded() {
        let network = Arc::new(Hanging::default());
        let mut host = ConfiguredHost::new("https://auth.internal").unwrap();
        host.network = Arc::new(Arc::clone(&network));
        for _ in 0..3 {
            let requests: Vec<_> = (0..100)
                .map(|_| {
                    let host = host.clone();
                    tokio::spawn(async move {
                        let mut request = TransportRequest::new("POST", "https://auth.internal/introspect");
                        request.timeout = Duration::from_millis(50);
                        host.send(&request).await.unwrap_err().kind()
                    })
                })
                .collect();
            for request in requests {
                assert_eq!(request.await.unwrap(), FetchErrorKind::TimedOut);
            }
        }
        assert_eq!(network.0.load(Ordering::SeqCst), MAX_LOOK_UPS);
    }
}
