//! Registrations: a hash for each client, and a set of ids for each filter.

use redis::Cmd;

use crate::client::Client;
use crate::client::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::id::ClientId;
use crate::store::redis::error::RedisError;
use crate::store::redis::keys::{Entry, Written, key};
use crate::store::redis::link::Link;
use crate::store::redis::listed::{add, list};
use crate::store::redis::rows::{last_second, write_header};
use crate::store::redis::script::REGISTER;
use crate::store::{LogoWrite, Page, Registration, StoreError};

/// Returns the client of that id.
pub(super) async fn client(link: &Link, prefix: &str, id: &ClientId) -> Result<Option<Client>, StoreError> {
    let octets = field(link, prefix, id.as_str(), "client").await?;
    Ok(octets.map(|octets| Client::decode(&octets)).transpose()?)
}

/// Returns the application of that client.
pub(super) async fn application(link: &Link, prefix: &str, id: &str) -> Result<Option<Application>, StoreError> {
    let octets = field(link, prefix, id, "application").await?;
    Ok(octets.map(|octets| Application::decode(&octets)).transpose()?)
}

/// Returns a logo of that client.
pub(super) async fn logo(link: &Link, prefix: &str, id: &ClientId, slot: LogoSlot) -> Result<Option<Logo>, StoreError> {
    let name = match slot {
        LogoSlot::InForce => "logo",
        LogoSlot::Proposed => "proposed_logo",
    };
    let octets = field(link, prefix, id.as_str(), name).await?;
    Ok(octets.map(Logo::decode).transpose()?)
}

/// Returns applications that are listed under the filter, ids ascending.
pub(super) async fn applications(
    link: &Link,
    prefix: &str,
    filter: &ApplicationFilter,
    page: &Page<ClientId>,
) -> Result<Vec<Application>, StoreError> {
    let after = page.start().map(|id| id.as_str().as_bytes());
    let look = |id: Vec<u8>| async move {
        let Ok(id) = String::from_utf8(id) else { return Ok(None) };
        let application = application(link, prefix, &id).await?;
        Ok(application.filter(|application| application.filters().any(|listed| listed == *filter)))
    };
    list(link, &filter_key(prefix, filter), after, page.limit(), look).await
}

/// Writes a registration if the client has the version `seen`, or is not there for `None`.
///
/// It is in the sets of its filters before that; what it leaves is taken out of the sets of others when
/// they are listed.
pub(super) async fn write(
    link: &Link,
    prefix: &str,
    seen: Option<u32>,
    registration: &Registration,
) -> Result<bool, RedisError> {
    let Registration { client, application, logo, proposed_logo } = registration;
    let entry = Entry { id: client.id.as_str().as_bytes().to_vec(), written: Written::now() };
    for filter in application.filters() {
        add(link, &filter_key(prefix, &filter), &entry).await?;
    }
    let (logo, logo_octets) = what_happens(logo);
    let (proposed, proposed_octets) = what_happens(proposed_logo);
    let (last, seen) = (last_second(), seen.map(u32::to_be_bytes));
    let arguments = [
        last.as_bytes(),
        &write_header(client.version),
        seen.as_ref().map_or(&[][..], <[u8; 4]>::as_slice),
        &client.encode(),
        &application.encode(),
        logo,
        logo_octets,
        proposed,
        proposed_octets,
    ];
    REGISTER.run(link, &client_key(prefix, client.id.as_str()), &arguments).await
}

async fn field(link: &Link, prefix: &str, id: &str, name: &str) -> Result<Option<Vec<u8>>, RedisError> {
    let client = client_key(prefix, id);
    let mut get = Cmd::new();
    get.arg("HGET").arg(&client).arg(name);
    link.read(&client, get).await
}

fn what_happens(write: &LogoWrite) -> (&[u8], &[u8]) {
    match write {
        LogoWrite::Keep => (b"keep", b""),
        LogoWrite::Clear => (b"clear", b""),
        LogoWrite::Put(logo) => (b"put", logo.octets()),
    }
}

fn client_key(prefix: &str, id: &str) -> Vec<u8> {
    key(prefix, "client", id)
}

fn filter_key(prefix: &str, filter: &ApplicationFilter) -> Vec<u8> {
    key(prefix, "applications", &filter.key())
}
