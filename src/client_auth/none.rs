//! `none`: a public client sends its id in the form and does not authenticate [RFC 6749 section 3.2.1].

use crate::client_auth::credentials::{Credentials, Definition, Presented, Reading};
use crate::error::Reason;
use crate::model::client::ClientType;
use crate::wire::Endpoint;

/// A request uses this method if it uses no other.
pub(crate) const DEFINITION: Definition = Definition {
    parameters: &[],
    // RFC 7662 section 2.1: introspection must be authorized, and an id alone proves nothing.
    is_offered: |config, endpoint| config.serves(ClientType::Public) && endpoint != Endpoint::Introspection,
    is_used: |_| false,
    read,
};

fn read<'a>(presented: &Presented<'a>) -> Result<Credentials<'a>, Reason> {
    let id = presented.named().ok_or(Reason::NoCredentials)?;
    Ok(Credentials::one(Reading::new(id, b"")))
}
