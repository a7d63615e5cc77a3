//! Which web pages may call the MCP server.
//!
//! Programs send no `Origin`, and a page needs an access token anyway. The check keeps a page whose name was pointed at
//! this machine from using a token that it obtained elsewhere [MCP, Transports].

use std::sync::Arc;

use axum::http::HeaderValue;
use grantor::server::Hosts;

/// The origins of this service, of this machine, and those of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    hosts: Hosts,
    named: Arc<[String]>,
}

impl Origins {
    pub(crate) fn new(hosts: Hosts, named: &[String]) -> Self {
        Self { hosts, named: named.into() }
    }

    /// Whether a page with this `Origin` header may call [RFC 6454 section 7].
    pub(crate) fn contain(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| self.hosts.contains(host.as_bytes())) || self.named.iter().any(|named| named == origin)
    }
}
