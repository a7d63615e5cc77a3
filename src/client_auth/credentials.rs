//! The credentials of a request, and those of the method `client_secret_basic` [RFC 6749 section 2.3.1, RFC 7617].

use std::borrow::Cow;
use std::mem;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr;
use zeroize::{Zeroize, Zeroizing};

use crate::config::{BasicDecoding, Config};
use crate::error::Reason;
use crate::hooks::Credential;
use crate::jose::Jws;
use crate::secret::Digest;
use crate::wire::params::{Params, form_decode, is_encoded};
use crate::wire::request::{HeaderLine, split_scheme};

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
        first.as_ref().or(second.as_ref()).map_or(Credential::None, Reading::presented)
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

    /// Returns what the throttle learns of this reading.
    pub(crate) fn presented(&self) -> Credential {
        match &self.evidence {
            Evidence::Name => Credential::ClientId,
            Evidence::Secret(digest) => Credential::Secret((*digest).into()),
            Evidence::Assertion(_) => Credential::Assertion,
        }
    }
}

pub(super) fn read_basic<'a>(presented: &Presented<'a>) -> Result<Credentials<'a>, Reason> {
    let header = match presented.header {
        HeaderLine::Absent => return Err(Reason::NoCredentials),
        HeaderLine::One(header) => header,
        HeaderLine::Several => return Err(Reason::SeveralCredentials),
    };
    let (scheme, encoded) = split_scheme(header);
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return Err(Reason::UnsupportedAuthentication);
    }
    let pair = pair(encoded).ok_or(Reason::MalformedCredentials)?;
    let is_encoded = is_encoded(pair.as_bytes());
    let may_be_raw = presented.config.client_authentication.basic == BasicDecoding::Either || !is_encoded;
    let decoded = if is_encoded { decoded(&pair) } else { None };
    let raw = if may_be_raw { raw(pair) } else { None };
    let readings = [decoded, raw];
    if readings.iter().all(Option::is_none) { Err(Reason::MalformedCredentials) } else { Ok(Credentials { readings }) }
}

/// RFC 7617 § 2: Base64 of a text without control characters, `id:secret`.
fn pair(encoded: &[u8]) -> Option<Zeroizing<String>> {
    let bytes = STANDARD.decode(encoded.trim_ascii()).ok()?;
    let pair = Zeroizing::new(String::from_utf8(bytes).ok()?);
    (!has_control(&pair)).then_some(pair)
}

/// § 2.3.1 form-encodes both halves. Returns `None` if they cannot be decoded.
fn decoded(pair: &str) -> Option<Reading<'static>> {
    let (id, secret) = pair.split_once(':')?;
    let (mut id, secret) = (decoded_half(id)?, decoded_half(secret)?);
    Some(Reading::new(mem::take(&mut *id), secret.as_bytes()))
}

fn decoded_half(half: &str) -> Option<Zeroizing<String>> {
    let bytes = form_decode(half.as_bytes()).ok()?;
    let text = Zeroizing::new(String::from_utf8(bytes.into_owned()).ok()?);
    (!has_control(&text)).then_some(text)
}

/// Reads both halves unchanged. The id stays in the memory of the pair; the secret after it is wiped.
fn raw(mut pair: Zeroizing<String>) -> Option<Reading<'static>> {
    let end = memchr(b':', pair.as_bytes())?;
    let (_, secret) = pair.split_at_checked(end + 1)?;
    let reading = Reading::new(Cow::Borrowed(""), secret.as_bytes());
    if let Some((_, secret)) = pair.split_at_mut_checked(end) {
        secret.zeroize();
    }
    pair.truncate(end);
    Some(Reading { id: mem::take(&mut *pair).into(), ..reading })
}

/// Most texts are printable ASCII. Many of their bytes can be checked at once.
fn has_control(text: &str) -> bool {
    let is_printable = text.bytes().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~'));
    !is_printable && text.chars().any(char::is_control)
}
