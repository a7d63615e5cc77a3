//! Credentials in the `Authorization` header prove what they say, in one of the ways to write them.
//!
//! An input is `strict` or `lenient`, a line end, and a pair, which is sent in Base64. With `raw ` in front of the
//! pair, the pair is the header's value as it is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::config::BasicDecoding;
use grantor::store::Stores;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, MemoryStore};

use super::answer;
use super::request::{decoded, has_whole_escapes};
use super::stage::at_once;
use support::directory::Directory;
use support::world::FORM;

/// Ids and secrets with every character that is easily misread.
const CLIENTS: [(&str, &str); 6] = [
    ("plain", "0123456789abcdefghijklmnopqrstuv"),
    ("a b", "a secret with blanks, and 32 long"),
    ("p+q", "1+1=2, which is 32 characters long"),
    ("50%", "100%25 sure, a percent of 32 or so"),
    ("x:y", "colons: in the id and in the secret"),
    ("%70lain", "%30123456789abcdefghijklmnopqrstuv"),
];

fn server(reading: BasicDecoding) -> AuthorizationServer {
    let client = |(id, secret): &(&str, &str)| {
        Client::builder(ClientId::new(id).unwrap()).secret(&ClientSecret::new(*secret)).unwrap().build()
    };
    let stores = Stores::new(MemoryStore::new()).with_clients(Directory::of(CLIENTS.iter().map(client)));
    let mut config = Config::platform("https://auth.example");
    config.client_authentication.basic = reading;
    AuthorizationServer::new(config, stores).unwrap()
}

thread_local! {
    static SERVERS: [AuthorizationServer; 2] = [BasicDecoding::FormDecoded, BasicDecoding::Either].map(server);
}

pub(super) fn check(input: &[u8]) -> String {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let lenient = &input[..end] != b"strict";
    let rest = input.get(end + 1..).unwrap_or_default();
    let raw = rest.strip_prefix(b"raw ");
    let header = raw.map_or_else(|| format!("Basic {}", STANDARD.encode(rest)).into_bytes(), <[u8]>::to_vec);
    let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).header("Authorization", &header);
    let request = request.body(Body::Bytes(b"token=x"));
    let response = SERVERS.with(|[strict, either]| {
        let server = if lenient { either } else { strict };
        at_once(server.serve(Endpoint::Revocation, &request))
    });
    answer::check(&response, &[200, 401]);
    answer::is_not_stored(&response);
    let admitted = response.status() == 200;
    if !admitted {
        assert_eq!(answer::error(&response), "invalid_client");
    }
    let pair = if raw.is_some() { pair_in(&header) } else { Some(rest.to_vec()) };
    let proven = pair.is_some_and(|pair| is_proven(&pair, lenient));
    assert_eq!(admitted, proven, "{}", header.escape_ascii());
    let words = (if admitted { "admitted" } else { "refused" }, if lenient { "lenient" } else { "strict" });
    format!("{}, {}", words.0, words.1)
}

/// RFC 7617: the scheme in any case, a space, Base64.
fn pair_in(header: &[u8]) -> Option<Vec<u8>> {
    let (scheme, encoded) = header.trim_ascii().split_at_checked("basic ".len())?;
    let encoded = STANDARD.decode(encoded.trim_ascii()).ok()?;
    scheme.eq_ignore_ascii_case(b"basic ").then_some(encoded)
}

/// With each half form-decoded, or as they are, for clients that do not encode them.
fn is_proven(pair: &[u8], lenient: bool) -> bool {
    let Some(colon) = pair.iter().position(|byte| *byte == b':') else { return false };
    let (id, secret) = (&pair[..colon], &pair[colon + 1..]);
    let known =
        |id: &[u8], secret: &[u8]| CLIENTS.iter().any(|(own, its)| own.as_bytes() == id && its.as_bytes() == secret);
    let whole = has_whole_escapes(id) && has_whole_escapes(secret);
    let encoded = pair.iter().any(|byte| matches!(byte, b'+' | b'%'));
    whole && known(&decoded(id), &decoded(secret)) || (lenient || !encoded) && known(id, secret)
}
