//! Authenticates the client [RFC 6749 sections 2.3 and 3.2.1]: one credential is extracted, then
//! verified.
//!
//! Unknown client, wrong secret and disabled client give the same answer after the same work.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::client::{Client, ClientAuthentication, ClientSecrets, ClientType};
use crate::config::BasicReading;
use crate::context::{Context, attempt};
use crate::error::Reason;
use crate::id::ClientId;
use crate::secret::Digest;
use crate::wire::params::form_decode;
use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request};

/// What a form says of its client.
#[derive(Clone, Copy)]
pub(crate) struct FormCredentials<'a> {
    pub(crate) client_id: Option<&'a str>,
    pub(crate) client_secret: Option<&'a str>,
}

/// Authenticates the client of a request, or names the public client that it comes from.
pub(crate) async fn authenticate(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    form: FormCredentials<'_>,
) -> Result<Arc<Client>, Reason> {
    let outcome = extract(request, form, context.config.basic);
    if let Err(reason @ (Reason::SeveralCredentials | Reason::ClientIdMismatch)) = outcome {
        return Err(reason);
    }
    let claimed = outcome.as_ref().ok().and_then(|credentials| credentials.first_id());
    let claimed = claimed.or(form.client_id).map(str::to_owned);
    let attempt = attempt(endpoint, claimed.as_deref(), request.peer_address());
    context.check_throttle(&attempt).await?;
    let outcome = match outcome {
        Ok(credentials) => verify(context, &credentials).await,
        Err(reason) => Err(reason),
    };
    match outcome {
        Err(reason) if !matches!(reason, Reason::Store(_)) => {
            context.note_failed_authentication(&attempt, &reason).await;
            Err(reason)
        }
        outcome => outcome,
    }
}

/// One credential; Basic may be read in two ways, the likelier one first.
struct Credentials<'a> {
    readings: [Option<Reading<'a>>; 2],
    method: Method,
}

struct Reading<'a> {
    id: Cow<'a, str>,
    secret: Option<Zeroizing<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Basic,
    Post,
    None,
}

impl Credentials<'_> {
    fn first_id(&self) -> Option<&str> {
        self.readings.iter().flatten().next().map(|reading| &*reading.id)
    }
}

/// § 2.3: not more than one method; the form may name the client that the header proves.
fn extract<'a>(
    request: &Request<'a>,
    form: FormCredentials<'a>,
    reading: BasicReading,
) -> Result<Credentials<'a>, Reason> {
    let header = match request.authorization() {
        HeaderLine::Several => return Err(Reason::SeveralCredentials),
        HeaderLine::One(_) if form.client_secret.is_some() => return Err(Reason::SeveralCredentials),
        HeaderLine::One(header) => header,
        HeaderLine::Absent => return from_form(form),
    };
    let pair = basic_pair(header)?;
    let readings = basic_readings(&pair, reading)?;
    let named = |id: &str| readings.iter().flatten().any(|reading| reading.id == id);
    if form.client_id.is_some_and(|id| !named(id)) {
        return Err(Reason::ClientIdMismatch);
    }
    Ok(Credentials { readings, method: Method::Basic })
}

fn from_form(form: FormCredentials<'_>) -> Result<Credentials<'_>, Reason> {
    let id = form.client_id.ok_or(Reason::NoCredentials)?;
    let secret = form.client_secret.map(|secret| Zeroizing::new(secret.to_owned()));
    let method = if secret.is_some() { Method::Post } else { Method::None };
    Ok(Credentials { readings: [Some(Reading { id: id.into(), secret }), None], method })
}

/// RFC 7617 section 2: the scheme in any case, spaces, Base64 of `id:secret` without control characters.
fn basic_pair(header: &[u8]) -> Result<Zeroizing<String>, Reason> {
    let (scheme, rest) = split_scheme(header);
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return Err(Reason::UnsupportedAuthentication);
    }
    let octets = STANDARD.decode(rest.trim_ascii()).map_err(|_| Reason::MalformedCredentials)?;
    let text = String::from_utf8(octets).map_err(|_| Reason::MalformedCredentials)?;
    let text = Zeroizing::new(text);
    if text.chars().any(char::is_control) {
        return Err(Reason::MalformedCredentials);
    }
    Ok(text)
}

/// Cuts a header value at its first space.
pub(crate) fn split_scheme(header: &[u8]) -> (&[u8], &[u8]) {
    let header = header.trim_ascii();
    let end = header.iter().position(|&octet| octet == b' ').unwrap_or(header.len());
    header.split_at_checked(end).unwrap_or((header, &[]))
}

/// RFC 6749 section 2.3.1 form-encodes both halves; many clients do not.
fn basic_readings(pair: &str, reading: BasicReading) -> Result<[Option<Reading<'static>>; 2], Reason> {
    let (id, secret) = pair.split_once(':').ok_or(Reason::MalformedCredentials)?;
    let make = |id: &str, secret: &str| Reading {
        id: id.to_owned().into(),
        secret: (!secret.is_empty()).then(|| Zeroizing::new(secret.to_owned())),
    };
    let encoded = |text: &str| text.bytes().any(|octet| matches!(octet, b'%' | b'+'));
    if !encoded(id) && !encoded(secret) {
        return Ok([Some(make(id, secret)), None]);
    }
    let decoded = decoded_half(id).zip(decoded_half(secret)).map(|(id, secret)| make(&id, &secret));
    match reading {
        BasicReading::FormDecoded if decoded.is_none() => Err(Reason::MalformedCredentials),
        BasicReading::FormDecoded => Ok([decoded, None]),
        BasicReading::Either => Ok([decoded, Some(make(id, secret))]),
    }
}

fn decoded_half(half: &str) -> Option<Zeroizing<String>> {
    let octets = form_decode(half.as_bytes()).ok()?;
    let text = Zeroizing::new(std::str::from_utf8(&octets).ok()?.to_owned());
    (!text.chars().any(char::is_control)).then_some(text)
}

/// Tries every reading; the first that proves its client wins.
async fn verify(context: &Context, credentials: &Credentials<'_>) -> Result<Arc<Client>, Reason> {
    let mut failure = Reason::NoCredentials;
    for (position, reading) in credentials.readings.iter().flatten().enumerate() {
        match verify_reading(context, reading, credentials.method).await {
            Ok(client) => return Ok(client),
            Err(reason @ Reason::Store(_)) => return Err(reason),
            Err(reason) if position == 0 => failure = reason,
            Err(_) => {}
        }
    }
    Err(failure)
}

async fn verify_reading(context: &Context, reading: &Reading<'_>, method: Method) -> Result<Arc<Client>, Reason> {
    let presented = Digest::of(reading.secret.as_deref().map_or(b"", |secret| secret.as_bytes()));
    let client = match ClientId::new(&*reading.id) {
        Ok(id) => context.stores.clients.find(&id).await?,
        Err(_) => None,
    };
    let secrets = client.as_ref().map_or_else(ClientSecrets::default, |client| client.secrets);
    let proven = secrets.prove(&presented);
    let client = client.ok_or(Reason::UnknownClient)?;
    match (client.client_type, &reading.secret) {
        (ClientType::Public, None) => {}
        (ClientType::Confidential, None) => return Err(Reason::MissingSecret),
        (ClientType::Confidential, Some(_)) if proven => {}
        (ClientType::Public | ClientType::Confidential, Some(_)) => return Err(Reason::WrongSecret),
    }
    let registered = match client.authentication {
        ClientAuthentication::Any => true,
        ClientAuthentication::Basic => method != Method::Post,
        ClientAuthentication::Post => method != Method::Basic,
    };
    if !registered {
        return Err(Reason::UnregisteredAuthentication);
    }
    if !client.is_approved() {
        return Err(Reason::ClientNotApproved);
    }
    Ok(client)
}
