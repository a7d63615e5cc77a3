//! Attacks on the fetcher, and its behaviour towards honest hosts; requests to a configured host. Every server is on
//! the loopback; public addresses exist only in the scripted network.

mod addresses;
mod authority;
mod configured;
mod limits;
mod ranges;
mod request;
mod response;
mod scripted;
mod server;
mod tls;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use grantor::fetch::{FetchErrorKind, FetchPurpose, FetchRequest, FetchResponse, Fetcher as _};
use grantor_fetch::Fetch;

use crate::authority::Authority;
use crate::scripted::Scripted;
use crate::server::{Part, Server};

/// An address that is not special-use, and that no host has [RFC 7535].
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 31, 196, 1));
const NAME: &str = "client.example";
const URL: &str = "https://client.example/metadata.json";

/// A host with a certificate, a network in which its name resolves, and a fetcher that trusts it.
struct World {
    server: Server,
    network: Scripted,
    fetch: Fetch,
}

impl World {
    /// A host that sends these parts to every client.
    async fn new(parts: Vec<Part>) -> Self {
        let authority = Authority::new();
        let server = Server::start(authority.certify(NAME), parts).await;
        let network = Scripted::new().leading_to(server.address);
        let fetch = Fetch::for_development(authority.pem()).unwrap().network(network.clone());
        Self { server, network, fetch }
    }

    /// Fetches [`URL`], whose host has the public address [`PUBLIC`].
    async fn fetch(&self) -> Result<FetchResponse, FetchErrorKind> {
        self.network.answer([PUBLIC]);
        fetch(&self.fetch, URL).await
    }
}

async fn fetch(fetch: &Fetch, url: &str) -> Result<FetchResponse, FetchErrorKind> {
    fetch.fetch(&FetchRequest::new(url)).await.map_err(|error| error.kind())
}

async fn fetch_within(fetch: &Fetch, time: Duration) -> Result<FetchResponse, FetchErrorKind> {
    fetch_for(fetch, URL, FetchPurpose::MetadataDocument, time).await
}

async fn fetch_for(
    fetch: &Fetch,
    url: &str,
    purpose: FetchPurpose,
    time: Duration,
) -> Result<FetchResponse, FetchErrorKind> {
    let mut request = FetchRequest::new(url);
    (request.purpose, request.timeout) = (purpose, time);
    fetch.fetch(&request).await.map_err(|error| error.kind())
}
