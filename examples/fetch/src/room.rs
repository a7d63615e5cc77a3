//! How many requests and look-ups run at once: in a room of each purpose, and there for each registrable domain.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use grantor::fetch::{FetchError, FetchErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::target::Host;

/// The requests of one purpose. Rooms share nothing, so requests of one purpose never wait for those of another.
#[derive(Debug)]
pub(crate) struct Room {
    requests: Arc<Semaphore>,
    /// As many as requests. Look-ups are counted apart, since they go on after their request has timed out: the
    /// system's resolver cannot be stopped, and occupies a thread.
    look_ups: Arc<Semaphore>,
    of_each_domain: usize,
    /// The domains that have a request, a look-up or a waiter.
    domains: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A place for a request. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    _request: OwnedSemaphorePermit,
    domain: Arc<OwnedSemaphorePermit>,
}

/// A place for a look-up, which also keeps a place of its domain.
#[derive(Debug)]
pub(crate) struct LookUpPlace {
    _look_up: OwnedSemaphorePermit,
    _domain: Arc<OwnedSemaphorePermit>,
}

impl Room {
    /// Creates a room for so many requests at once, of which an eighth, and at least one, may be for one domain.
    pub(crate) fn new(requests: usize) -> Self {
        let max = requests.min(Semaphore::MAX_PERMITS);
        Self {
            requests: Arc::new(Semaphore::new(max)),
            look_ups: Arc::new(Semaphore::new(max)),
            of_each_domain: max.div_ceil(8),
            domains: Mutex::default(),
        }
    }

    /// Waits for a place, first among the requests for the same domain.
    pub(crate) async fn enter(&self, host: &Host) -> Result<Place, FetchError> {
        let domain = Arc::new(acquire(self.domain(host)).await?);
        Ok(Place { _request: acquire(Arc::clone(&self.requests)).await?, domain })
    }

    /// Waits for a place for the look-up of a request.
    pub(crate) async fn look_up(&self, place: &Place) -> Result<LookUpPlace, FetchError> {
        let look_up = acquire(Arc::clone(&self.look_ups)).await?;
        Ok(LookUpPlace { _look_up: look_up, _domain: Arc::clone(&place.domain) })
    }

    fn domain(&self, host: &Host) -> Arc<Semaphore> {
        let mut domains = self.domains.lock().unwrap_or_else(PoisonError::into_inner);
        // Every place and every waiter has a reference to its domain.
        domains.retain(|_, domain| Arc::strong_count(domain) > 1);
        let domain = domains.entry(domain(host)).or_insert_with(|| Arc::new(Semaphore::new(self.of_each_domain)));
        Arc::clone(domain)
    }
}

async fn acquire(places: Arc<Semaphore>) -> Result<OwnedSemaphorePermit, FetchError> {
    places.acquire_owned().await.map_err(|closed| FetchError::with_source(FetchErrorKind::Connection, closed))
}

/// Returns what one owner can have many hosts below: the registrable domain of a name, and the network of an address.
///
/// Only registries are suffixes here. All names below a hosting service count as one, since the service, and not its
/// customers, answers look-ups.
fn domain(host: &Host) -> String {
    let name = match host {
        Host::Address(IpAddr::V4(address)) => return Ipv4Addr::from_bits(address.to_bits() >> 8 << 8).to_string(),
        Host::Address(IpAddr::V6(address)) => return Ipv6Addr::from_bits(address.to_bits() >> 80 << 80).to_string(),
        Host::Name(name) => name.as_ref(),
    };
    let mut domain = name;
    while let Some((_, rest)) = domain.split_once('.') {
        let is_registry = psl::suffix(rest.as_bytes())
            .is_some_and(|suffix| suffix.as_bytes() == rest.as_bytes() && suffix.typ() != Some(psl::Type::Private));
        if is_registry {
            return domain.to_owned();
        }
        domain = rest;
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Loopback;
    use crate::target::Target;

    #[test]
    fn hosts_of_one_owner_are_one_domain() {
        for (host, expected) in [
            ("client.example", "client.example"),
            ("a.b.client.example", "client.example"),
            ("client.co.uk", "client.co.uk"),
            ("a.client.co.uk", "client.co.uk"),
            ("user.github.io", "github.io"),
            ("a.user.github.io", "github.io"),
            ("co.uk", "co.uk"),
            ("192.0.2.77", "192.0.2.0"),
            ("[2001:db8:1:2::3]", "2001:db8:1::"),
        ] {
            let target = Target::parse(&format!("https://{host}/"), Loopback::Refused).unwrap();
            assert_eq!(domain(&target.host), expected, "{host}");
        }
    }
}
