//! `client_secret_basic`: the client's id and secret in the `Authorization` header
//! [RFC 6749 section 2.3.1, RFC 7617].

use std::borrow::Cow;
use std::mem;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr;
use zeroize::{Zeroize, Zeroizing};

use crate::client_auth::credentials::{Credentials, Presented, Reading};
use crate::config::BasicDecoding;
use crate::error::Reason;
use crate::wire::params::{form_decode, is_encoded};
use crate::wire::request::{HeaderLine, split_scheme};

pub(super) fn read<'a>(presented: &Presented<'a>) -> Result<Credentials<'a>, Reason> {
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
