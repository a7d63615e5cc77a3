//! The demo application of an example.

use std::net::{Ipv4Addr, SocketAddr};

use crate::soak::server::Server;

/// The application that the flows are of, and where its server is.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    pub(crate) issuer: String,
    address: SocketAddr,
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) redirect_uri: String,
    pub(crate) resource: String,
}

impl Application {
    pub(crate) fn of(server: &Server) -> Self {
        let about = |name| server.about(name).to_owned();
        let issuer = about("issuer");
        let resource = about("resource_url").replace(&issuer, "");
        let port = issuer.rsplit(':').next().unwrap().parse().unwrap();
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let (id, secret, redirect_uri) = (about("client_id"), about("client_secret"), about("redirect_uri"));
        Self { issuer, address, id, secret, redirect_uri, resource }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn host(&self) -> &str {
        self.issuer.trim_start_matches("http://")
    }
}
