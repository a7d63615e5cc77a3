//! Requests as inputs write them, and what other parsers read in them.
//!
//! ```text
//! platform POST the=query
//! Content-Type: application/x-www-form-urlencoded
//! Authorization: Basic {basic}
//!
//! token={access}
//! ```
//!
//! A header `Too-Large` marks a body of which the rest was not read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::config::Profile;
use grantor::wire::{Body, Request};
use percent_encoding::percent_decode;

use super::stage::Stage;

/// The profile that an input asks for.
pub(super) fn profile(input: &[u8]) -> Profile {
    let word = input.split(|byte| *byte == b' ').next().unwrap_or_default();
    match word {
        b"strict" => Profile::Strict,
        b"mcp" => Profile::Mcp,
        _ => Profile::Platform,
    }
}

/// A request that was read from an input.
pub(super) struct Written {
    method: String,
    query: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Written {
    pub(super) fn read(input: &[u8], stage: &Stage) -> Self {
        let input = stage.expand(input);
        let end = input.windows(2).position(|two| two == b"\n\n").unwrap_or(input.len());
        let body = input.get(end + 2..).unwrap_or_default().to_vec();
        let mut lines = input[..end].split(|byte| *byte == b'\n');
        let mut first = lines.next().unwrap_or_default().splitn(3, |byte| *byte == b' ').skip(1);
        let method = String::from_utf8_lossy(first.next().unwrap_or_default()).into_owned();
        let query = first.next().unwrap_or_default().to_vec();
        let headers = lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let value = &line[colon + 1..];
            let value = value.strip_prefix(b" ").unwrap_or(value);
            Some((String::from_utf8_lossy(&line[..colon]).into_owned(), value.to_vec()))
        });
        Self { method, query, headers: headers.collect(), body }
    }

    pub(super) fn request(&self) -> Request<'_> {
        let body = match self.body.as_slice() {
            _ if self.headers.iter().any(|(name, _)| name == "Too-Large") => Body::TooLarge,
            [] => Body::Empty,
            bytes => Body::Bytes(bytes),
        };
        let request = Request::new(&self.method).query(&self.query).body(body).peer([192, 0, 2, 1].into());
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    /// The values of a parameter in the query.
    pub(super) fn in_query(&self, name: &str) -> Vec<Vec<u8>> {
        values(&self.query, name)
    }

    /// How often a parameter occurs in the query, with or without a value.
    pub(super) fn times_in_query(&self, name: &str) -> usize {
        parameters(&self.query).iter().filter(|(own, _)| own == name.as_bytes()).count()
    }

    /// The values of a parameter in the body.
    pub(super) fn in_body(&self, name: &str) -> Vec<Vec<u8>> {
        values(&self.body, name)
    }

    /// Whether one of the values in the body is one of these.
    pub(super) fn presents(&self, name: &str, texts: &[&str]) -> bool {
        self.in_body(name).iter().any(|value| texts.iter().any(|text| text.as_bytes() == value))
    }

    /// The values of a header.
    pub(super) fn headers(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let own = self.headers.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.as_slice())
    }

    /// Whether the request holds the secret of the stage's client, with its id.
    pub(super) fn proves_the_client(&self, stage: &Stage) -> bool {
        let (id, secret) = (stage.prop("client"), stage.prop("secret"));
        let in_form = self.presents("client_id", &[id]) && self.presents("client_secret", &[secret]);
        in_form || self.has_in_header(&format!("{id}:{secret}"))
    }

    /// Whether the request names the client that has no secret.
    pub(super) fn names_the_public_client(&self, stage: &Stage) -> bool {
        let id = stage.prop("public");
        self.presents("client_id", &[id]) || self.has_in_header(&format!("{id}:"))
    }

    fn has_in_header(&self, known: &str) -> bool {
        let mut pairs = self.headers("Authorization").filter_map(|value| {
            let (_, credentials) = value.trim_ascii().split_at_checked("basic ".len())?;
            STANDARD.decode(credentials.trim_ascii()).ok()
        });
        pairs.any(|pair| pair == known.as_bytes() || decoded(&pair) == known.as_bytes())
    }
}

/// The values of a parameter, empty ones left out, as a lenient reader finds them.
pub(super) fn values(form: &[u8], name: &str) -> Vec<Vec<u8>> {
    parameters(form)
        .into_iter()
        .filter(|(own, value)| own == name.as_bytes() && !value.is_empty())
        .map(|(_, value)| value)
        .collect()
}

/// Names and values of a form, as a lenient reader finds them.
pub(super) fn parameters(form: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pieces = form.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| {
            let mut halves = piece.splitn(2, |byte| *byte == b'=');
            let (name, value) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
            (decoded(name), decoded(value))
        })
        .collect()
}

/// One name or value, decoded; an invalid escape stays as it is.
pub(super) fn decoded(bytes: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = bytes.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).collect()
}

/// Whether each percent sign is followed by two digits.
pub(super) fn has_whole_escapes(bytes: &[u8]) -> bool {
    let digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_hexdigit);
    (0..bytes.len()).all(|place| bytes[place] != b'%' || digit(place + 1) && digit(place + 2))
}
