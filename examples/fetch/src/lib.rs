#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(
    missing_docs,
    clippy::allow_attributes,
    clippy::as_conversions,
    clippy::dbg_macro,
    clippy::expect_used,
    clippy::future_not_send,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::todo,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]

mod address;
mod configured;
mod connect;
mod connection;
mod network;
mod response;
mod room;
mod target;
mod tls;

pub use crate::configured::ConfiguredHost;
pub use crate::network::Network;
pub use crate::tls::SetupError;

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use grantor::fetch::{FetchError, FetchErrorKind, FetchPurpose, FetchRequest, FetchResponse, Fetcher};
use tokio::time::timeout;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::address::Loopback;
use crate::connection::Connection;
use crate::network::System;
use crate::room::Room;
use crate::target::Target;

/// The default limit on concurrent requests of one purpose: with documents of 5120 bytes, about two megabytes of
/// buffers.
const REQUESTS_AT_ONCE: usize = 64;

/// Fetches metadata documents and key sets, from public hosts only.
///
/// Clones share the limits on concurrent requests.
///
/// # Panics
///
/// [`fetch`](Fetcher::fetch) panics outside of a tokio runtime with I/O and time enabled.
#[derive(Clone, Debug)]
pub struct Fetch {
    network: Arc<dyn Network>,
    tls: Arc<ClientConfig>,
    rooms: Arc<Rooms>,
    loopback: Loopback,
}

/// A room for each purpose.
#[derive(Debug)]
struct Rooms {
    documents: Room,
    reviewed: Room,
    unreviewed: Room,
}

impl Rooms {
    fn new(requests: usize) -> Arc<Self> {
        let room = || Room::new(requests);
        Arc::new(Self { documents: room(), reviewed: room(), unreviewed: room() })
    }

    fn of(&self, purpose: FetchPurpose) -> &Room {
        match purpose {
            FetchPurpose::MetadataDocument => &self.documents,
            FetchPurpose::ReviewedKeySet => &self.reviewed,
            // What this release does not know is for strangers.
            FetchPurpose::UnreviewedKeySet | _ => &self.unreviewed,
        }
    }
}

impl Fetch {
    /// Returns a fetcher for public hosts, which trusts Mozilla's root certificates.
    ///
    /// # Errors
    ///
    /// [`SetupError::Tls`] if TLS cannot be set up.
    pub fn new() -> Result<Self, SetupError> {
        Self::with(tls::public_roots(), Loopback::Refused)
    }

    /// Returns a fetcher for development. It also connects to loopback addresses, and also trusts `roots`: one or more
    /// certificates in PEM, such as the root of `mkcert`.
    ///
    /// `localhost` and names below it are the loopback. Certificates are checked there too.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if `roots` has no certificate, or one that cannot be read.
    ///
    /// # Security
    ///
    /// Clients can make the server send requests to every port of its own machine. Unless its issuer is on a loopback
    /// host, a server cannot be built with such a fetcher.
    pub fn for_development(roots: impl AsRef<[u8]>) -> Result<Self, SetupError> {
        let mut all = tls::public_roots();
        tls::add_roots(&mut all, roots.as_ref())?;
        Self::with(all, Loopback::Reached)
    }

    fn with(roots: RootCertStore, loopback: Loopback) -> Result<Self, SetupError> {
        let rooms = Rooms::new(REQUESTS_AT_ONCE);
        Ok(Self {
            network: Arc::new(System::AbsoluteNames),
            tls: Arc::new(tls::client_config(roots)?),
            rooms,
            loopback,
        })
    }

    /// Sets the limit on concurrent requests of each [`FetchPurpose`]; 64 by default. An eighth of them, and at least
    /// one, may be for hosts of one registrable domain. Further requests wait; the wait counts towards their timeout.
    ///
    /// A look-up may outlast its request. It then still counts against the limit on look-ups, which is the same number,
    /// and against that of its domain, but not against the limit on requests.
    #[must_use]
    pub fn requests_at_once(mut self, max: NonZeroUsize) -> Self {
        self.rooms = Rooms::new(max.get());
        self
    }

    /// Sets the network that looks names up and opens connections.
    #[must_use]
    pub fn network(mut self, network: impl Network) -> Self {
        self.network = Arc::new(network);
        self
    }

    async fn whole(&self, target: &Target, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        let head = response::request(target)?;
        let room = self.rooms.of(request.purpose);
        let place = room.enter(&target.host).await?;
        let look_up = room.look_up(&place);
        let addresses = connect::checked(&self.network, &target.host, self.loopback, look_up).await?;
        let tls = Some((&self.tls, target.host.server_name()));
        let stream = connect::open(&self.network, &addresses, target.port, tls).await?;
        let response = Connection::over(stream).await?.exchange(head, request.max_bytes).await;
        drop(place);
        response
    }
}

#[async_trait]
impl Fetcher for Fetch {
    async fn fetch(&self, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        let target = Target::parse(request.url, self.loopback)
            .map_err(|error| FetchError::with_source(FetchErrorKind::Url, error))?;
        let whole = timeout(request.timeout, self.whole(&target, request)).await;
        whole.unwrap_or_else(|elapsed| Err(FetchError::with_source(FetchErrorKind::TimedOut, elapsed)))
    }

    fn reaches_loopback(&self) -> bool {
        self.loopback == Loopback::Reached
    }
}
