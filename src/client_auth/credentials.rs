//! The types that the methods of client authentication share.

use std::borrow::Cow;

use crate::config::Config;
use crate::hooks::Credential;
use crate::jose::Jws;
use crate::secret::Digest;
use crate::wire::params::Params;
use crate::wire::request::HeaderLine;

/// The parts of a request that may authenticate its client.
#[derive(Clone, Copy)]
pub(crate) struct Presented<'a> {
    pub(crate) header: HeaderLine<'a>,
    pub(crate) form: &'a Params<'a>,
    /// The client that the form names.
    pub(crate) named: Option<&'a str>,
    pub(crate) config: &'a Config,
}

/// The credentials of a request. Basic may be read in two ways; the likelier one is first.
#[derive(Default)]
pub(crate) struct Credentials<'a> {
    pub(crate) readings: [Option<Reading<'a>>; 2],
}

/// One way to read credentials.
pub(crate) struct Reading<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) evidence: Evidence<'a>,
}

/// The evidence that the request comes from the client that it names.
pub(crate) enum Evidence<'a> {
    /// None: the client only sends its id.
    Name,
    /// The digest of the secret that was sent.
    Secret(Digest),
    /// A signed assertion. Boxed, because most requests have none.
    Assertion(Box<Jws<'a>>),
}

impl<'a> Credentials<'a> {
    pub(crate) fn one(reading: Reading<'a>) -> Self {
        Self { readings: [Some(reading), None] }
    }

    pub(crate) fn first_id(&self) -> Option<&str> {
        let [first, second] = &self.readings;
        first.as_ref().or(second.as_ref()).map(|reading| &*reading.id)
    }

    /// Returns what the throttle learns of them.
    pub(crate) fn presented(&self) -> Credential {
        let [first, second] = &self.readings;
        match first.as_ref().or(second.as_ref()).map(|reading| &reading.evidence) {
            None => Credential::None,
            Some(Evidence::Name) => Credential::ClientId,
            Some(Evidence::Secret(digest)) => Credential::Secret((*digest).into()),
            Some(Evidence::Assertion(_)) => Credential::Assertion,
        }
    }

    pub(crate) fn may_be_of(&self, id: &str) -> bool {
        self.readings.iter().flatten().any(|reading| reading.id == id)
    }
}

impl<'a> Reading<'a> {
    /// An empty secret counts as none [RFC 6749 section 2.3.1].
    pub(crate) fn new(id: impl Into<Cow<'a, str>>, secret: &[u8]) -> Self {
        let evidence = if secret.is_empty() { Evidence::Name } else { Evidence::Secret(Digest::of(secret)) };
        Self { id: id.into(), evidence }
    }
}
