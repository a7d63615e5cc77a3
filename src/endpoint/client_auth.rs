//! Authenticates the client [RFC 6749 sections 2.3 and 3.2.1]: one credential is extracted, then
//! verified.
//!
//! Unknown client, wrong secret and disabled client give the same answer after the same work.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::client::{Client, ClientAuthentication, ClientSecrets, ClientType};
use crate::config::BasicReading;
use crate::context::Context;
use crate::endpoint::form;
use crate::error::{Reason, delivery};
use crate::hooks::Attempt;
use crate::id::ClientId;
use crate::secret::Digest;
use crate::wire::params::{Params, form_decode, is_encoded};
use crate::wire::request::HeaderLine;
use crate::wire::{Endpoint, Request, Response};

/// A form that was read, and the client that it came from.
pub(crate) struct Submitted<'a, const N: usize> {
    pub(crate) client: Arc<Client>,
    pub(crate) form: Params<'a, N>,
}

/// Reads the form of a request and authenticates its client, in this order.
pub(crate) async fn submitted<'a, const N: usize>(
    context: &Context,
    request: &Request<'a>,
    endpoint: Endpoint,
    names: &'static [&'static str; N],
) -> Result<Submitted<'a, N>, Reason> {
    let form = form::read(request, endpoint, names, &context.config)?;
    let credentials = FormCredentials {
        client_id: form::text(&form, "client_id"),
        client_secret: form::text(&form, "client_secret"),
    };
    let client = authenticate(context, request, endpoint, credentials).await?;
    Ok(Submitted { client, form })
}

/// Answers a refused request and tells the event sink.
pub(crate) fn refused(context: &Context, endpoint: Endpoint, client: Option<&ClientId>, reason: &Reason) -> Response {
    context.note_refusal(endpoint, client, reason);
    delivery::to_client(reason, endpoint, &context.config)
}

/// What a form says of its client.
#[derive(Clone, Copy)]
struct FormCredentials<'a> {
    client_id: Option<&'a str>,
    client_secret: Option<&'a str>,
}

/// Authenticates the client of a request, or names the public client that it comes from.
async fn authenticate(
    context: &Context,
    request: &Request<'_>,
    endpoint: Endpoint,
    form: FormCredentials<'_>,
) -> Result<Arc<Client>, Reason> {
    let header = Header::read(request, form)?;
    let decoded = header.decoded();
    let credentials = header.credentials(decoded.as_ref(), form, context.config.basic);
    if let Err(reason @ Reason::ClientIdMismatch) = credentials {
        return Err(reason);
    }
    let claimed = credentials.as_ref().ok().and_then(Credentials::first_id).or(form.client_id);
    let attempt = Attempt { client: claimed, peer: request.peer_address(), ..Attempt::new(endpoint) };
    context.check_throttle(&attempt).await?;
    let outcome = match credentials {
        Ok(credentials) => verify(context, &credentials).await.and_then(|client| admit(endpoint, client)),
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

/// RFC 7662 section 2.1: whoever asks about tokens is authorized to, and a name alone proves nothing.
fn admit(endpoint: Endpoint, client: Arc<Client>) -> Result<Arc<Client>, Reason> {
    let only_named = client.client_type == ClientType::Public;
    if endpoint == Endpoint::Introspection && only_named { Err(Reason::MissingSecret) } else { Ok(client) }
}

/// What the `Authorization` header holds.
enum Header {
    Absent,
    OtherScheme,
    Malformed,
    /// What should be `id:secret`, decoded from Base64.
    Basic(Zeroizing<String>),
}

/// Both halves of Basic credentials, form-decoded.
struct Decoded {
    id: Zeroizing<String>,
    secret: Zeroizing<String>,
}

/// One credential; Basic may be read in two ways, the likelier one first.
struct Credentials<'a> {
    readings: [Option<Reading<'a>>; 2],
    method: Method,
}

#[derive(Clone, Copy)]
struct Reading<'a> {
    id: &'a str,
    /// An empty one counts as none.
    secret: Option<&'a str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Basic,
    Post,
    None,
}

impl<'a> Credentials<'a> {
    fn first_id(&self) -> Option<&'a str> {
        self.readings.iter().flatten().next().map(|reading| reading.id)
    }
}

impl<'a> Reading<'a> {
    fn new(id: &'a str, secret: &'a str) -> Self {
        Self { id, secret: Some(secret).filter(|secret| !secret.is_empty()) }
    }
}

impl Header {
    /// § 2.3: not more than one method in a request.
    fn read(request: &Request<'_>, form: FormCredentials<'_>) -> Result<Self, Reason> {
        match request.authorization() {
            HeaderLine::Several => Err(Reason::SeveralCredentials),
            HeaderLine::One(_) if form.client_secret.is_some() => Err(Reason::SeveralCredentials),
            HeaderLine::One(header) => Ok(Self::parse(header)),
            HeaderLine::Absent => Ok(Self::Absent),
        }
    }

    /// RFC 7617 § 2: the scheme in any case, spaces, Base64 of a text without control characters.
    fn parse(header: &[u8]) -> Self {
        let (scheme, rest) = split_scheme(header);
        if !scheme.eq_ignore_ascii_case(b"basic") {
            return Self::OtherScheme;
        }
        let text = STANDARD.decode(rest.trim_ascii()).ok().and_then(|octets| String::from_utf8(octets).ok());
        match text.map(Zeroizing::new) {
            Some(text) if !has_control(&text) => Self::Basic(text),
            Some(_) | None => Self::Malformed,
        }
    }

    /// § 2.3.1 form-encodes both halves; nothing if that changes nothing or cannot be undone.
    fn decoded(&self) -> Option<Decoded> {
        let Self::Basic(pair) = self else { return None };
        if !is_encoded(pair.as_bytes()) {
            return None;
        }
        let (id, secret) = pair.split_once(':')?;
        Some(Decoded { id: decoded_half(id)?, secret: decoded_half(secret)? })
    }

    fn credentials<'a>(
        &'a self,
        decoded: Option<&'a Decoded>,
        form: FormCredentials<'a>,
        reading: BasicReading,
    ) -> Result<Credentials<'a>, Reason> {
        let pair = match self {
            Self::Absent => return from_form(form),
            Self::OtherScheme => return Err(Reason::UnsupportedAuthentication),
            Self::Malformed => return Err(Reason::MalformedCredentials),
            Self::Basic(pair) => pair,
        };
        let decoded = decoded.map(|decoded| Reading::new(&decoded.id, &decoded.secret));
        let may_be_raw = reading == BasicReading::Either || !is_encoded(pair.as_bytes());
        let raw = pair.split_once(':').filter(|_| may_be_raw).map(|(id, secret)| Reading::new(id, secret));
        let readings = [decoded, raw];
        if readings.iter().flatten().next().is_none() {
            return Err(Reason::MalformedCredentials);
        }
        // The form may name the client that the header proves.
        let named = |id: &str| readings.iter().flatten().any(|reading| reading.id == id);
        if form.client_id.is_some_and(|id| !named(id)) {
            return Err(Reason::ClientIdMismatch);
        }
        Ok(Credentials { readings, method: Method::Basic })
    }
}

fn from_form(form: FormCredentials<'_>) -> Result<Credentials<'_>, Reason> {
    let id = form.client_id.ok_or(Reason::NoCredentials)?;
    let method = if form.client_secret.is_some() { Method::Post } else { Method::None };
    Ok(Credentials { readings: [Some(Reading { id, secret: form.client_secret }), None], method })
}

/// Most texts are ASCII, whose octets can be looked at many at once.
fn has_control(text: &str) -> bool {
    if text.is_ascii() {
        return text.bytes().fold(false, |found, octet| found | octet.is_ascii_control());
    }
    text.chars().any(char::is_control)
}

/// Cuts a header value at its first space.
pub(crate) fn split_scheme(header: &[u8]) -> (&[u8], &[u8]) {
    let header = header.trim_ascii();
    let end = header.iter().position(|&octet| octet == b' ').unwrap_or(header.len());
    header.split_at_checked(end).unwrap_or((header, &[]))
}

fn decoded_half(half: &str) -> Option<Zeroizing<String>> {
    let octets = form_decode(half.as_bytes()).ok()?;
    let text = Zeroizing::new(std::str::from_utf8(&octets).ok()?.to_owned());
    (!has_control(&text)).then_some(text)
}

/// Tries every reading; the first that proves its client wins.
async fn verify(context: &Context, credentials: &Credentials<'_>) -> Result<Arc<Client>, Reason> {
    let mut failure = Reason::NoCredentials;
    for (position, reading) in credentials.readings.iter().flatten().enumerate() {
        match verify_reading(context, *reading, credentials.method).await {
            Ok(client) => return Ok(client),
            Err(reason @ Reason::Store(_)) => return Err(reason),
            Err(reason) if position == 0 => failure = reason,
            Err(_) => {}
        }
    }
    Err(failure)
}

async fn verify_reading(context: &Context, reading: Reading<'_>, method: Method) -> Result<Arc<Client>, Reason> {
    let presented = Digest::of(reading.secret.unwrap_or_default().as_bytes());
    let client = match ClientId::new(reading.id) {
        Ok(id) => context.stores.clients.find(&id).await?,
        Err(_) => None,
    };
    let secrets = client.as_ref().map_or_else(ClientSecrets::default, |client| client.secrets);
    let proven = secrets.prove(&presented);
    let client = client.ok_or(Reason::UnknownClient)?;
    match (client.client_type, reading.secret) {
        (ClientType::Public, None) if context.config.serves(ClientType::Public) => {}
        (ClientType::Public, None) => return Err(Reason::UnregisteredAuthentication),
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
