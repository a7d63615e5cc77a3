//! A client's assertion authenticates it only if another reader finds the same client, audience and times in it.
//!
//! The first line of an input says what to do. After `raw`, the rest is the assertion as it is. After `ES256` or
//! `EdDSA`, the next line is the header and the rest are the claims, which are signed. There, `{jwk}` is replaced by
//! the public key.

use std::cell::RefCell;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::client::{AuthenticationMethod, AuthenticationMethods, ClientKeys};
use grantor::config::Profile;
use grantor::jose::JwkSet;
use grantor::store::Stores;
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Client, ClientId, MemoryStore, Timestamp};
use serde_json::{Map, Value, json};
use support::directory::Directory;
use support::keys::Signer;
use support::world::{FORM, ISSUER, START, config_of, encode};

use super::answer;
use super::stage::at_once;

const CLIENT: &str = "client";
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The settings of the server: how long assertions live, and how far clocks differ.
const LIFETIME: f64 = 3600.0;
const SKEW: f64 = 30.0;

thread_local! {
    /// A server that has accepted no assertion yet.
    static SERVER: RefCell<Option<AuthorizationServer>> = const { RefCell::new(None) };
}

fn server() -> AuthorizationServer {
    let keys: Vec<_> = [Signer::es256(), Signer::ps256(), Signer::ed25519()].iter().map(Signer::jwk).collect();
    let keys = JwkSet::parse(json!({"keys": keys}).to_string()).unwrap();
    let client = Client::builder(ClientId::new(CLIENT).unwrap())
        .authentication_methods(AuthenticationMethods::only(AuthenticationMethod::PrivateKeyJwt))
        .keys(ClientKeys::Set(keys))
        // Then any question uses the assertion up.
        .may_introspect()
        .build();
    let store = MemoryStore::new();
    let stores = Stores::new(store).with_clients(Directory::of([client]));
    let mut config = config_of(Profile::Strict);
    config.client_authentication.methods = AuthenticationMethods::KEY;
    let clock = ManualClock::new(Timestamp::from_seconds(START));
    AuthorizationServer::builder(config, stores).clock(clock).build().unwrap()
}

pub(super) fn check(input: &[u8]) -> String {
    let server = SERVER.take().unwrap_or_else(server);
    let token = token(input);
    if !is_admitted(&server, &token) {
        SERVER.set(Some(server));
        return "refused".to_owned();
    }
    is_of_the_client(&token);
    assert!(!is_admitted(&server, &token), "an assertion works once");
    "admitted".to_owned()
}

fn is_admitted(server: &AuthorizationServer, token: &[u8]) -> bool {
    let assertion = percent_encoding::percent_encode(token, percent_encoding::NON_ALPHANUMERIC);
    let form =
        format!("{}&client_assertion={assertion}", encode(&[("token", "x"), ("client_assertion_type", JWT_BEARER)]));
    let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(form.as_bytes()));
    let response = at_once(server.serve(Endpoint::Introspection, &request));
    answer::check(&response, &[200, 400, 413]);
    answer::is_not_stored(&response);
    if response.status() != 200 {
        assert!(["invalid_client", "invalid_request"].contains(&answer::error(&response).as_str()));
    }
    response.status() == 200
}

fn is_of_the_client(token: &[u8]) {
    let end = token.iter().rposition(|byte| *byte == b'.').unwrap();
    let is_signed = |signer: Signer| signer.is_signature(&token[..end], &decoded(&token[end + 1..]));
    assert!([Signer::es256(), Signer::ps256(), Signer::ed25519()].into_iter().any(is_signed));
    let (header, claims) = read(token);
    let typ = header.get("typ").map(|typ| typ.as_str().unwrap().to_ascii_lowercase());
    let typ = typ.as_deref().map(|typ| typ.strip_prefix("application/").unwrap_or(typ));
    assert!(matches!(typ, None | Some("jwt" | "client-authentication+jwt")), "{typ:?}");
    assert!(claims["iss"] == CLIENT && claims["sub"] == CLIENT);
    assert!(claims["aud"] == ISSUER || claims["aud"] == json!([ISSUER]));
    assert!((1..=256).contains(&claims["jti"].as_str().unwrap().len()));
    let now = f64::from(START);
    let exp = time(&claims, "exp").unwrap();
    assert!(now < exp + SKEW && exp <= now + LIFETIME + SKEW, "{exp}");
    for name in ["iat", "nbf"] {
        let own = time(&claims, name);
        assert!(own.is_none_or(|own| (0.0..=now + SKEW).contains(&own) && own < exp), "{name} {own:?}");
    }
}

/// The assertion of an input.
fn token(input: &[u8]) -> Vec<u8> {
    let (first, rest) = split(input);
    let signer = match first {
        b"ES256" => Signer::es256(),
        b"EdDSA" => Signer::ed25519(),
        _ => return rest.to_vec(),
    };
    let jwk = signer.jwk().to_string();
    let (header, claims) = split(rest);
    let header = match header.windows(5).position(|part| part == b"{jwk}") {
        Some(place) => [&header[..place], jwk.as_bytes(), &header[place + 5..]].concat(),
        None => header.to_vec(),
    };
    signer.sign(header, claims).into_bytes()
}

fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    (&text[..end], text.get(end + 1..).unwrap_or_default())
}

/// Header and claims of a token that was accepted.
fn read(token: &[u8]) -> (Map<String, Value>, Map<String, Value>) {
    let parts: Vec<_> = token.split(|byte| *byte == b'.').collect();
    let [header, claims, signature] = parts[..] else { panic!("{} parts", parts.len()) };
    let object = |part| match serde_json::from_slice(&decoded(part)).unwrap() {
        Value::Object(members) => members,
        other => panic!("{other}"),
    };
    let header = object(header);
    assert!(!header.contains_key("crit") && !header.contains_key("b64"));
    let bytes = decoded(signature).len();
    match header["alg"].as_str().unwrap() {
        "ES256" | "EdDSA" | "Ed25519" => assert_eq!(bytes, 64),
        "PS256" => assert!((256..=1024).contains(&bytes)),
        other => panic!("{other}"),
    }
    (header, object(claims))
}

/// Decodes base64url, which must have its one spelling.
fn decoded(part: &[u8]) -> Vec<u8> {
    let bytes = URL_SAFE_NO_PAD.decode(part).unwrap();
    assert_eq!(URL_SAFE_NO_PAD.encode(&bytes).as_bytes(), part);
    bytes
}

/// A time, without its fraction.
fn time(claims: &Map<String, Value>, name: &str) -> Option<f64> {
    claims.get(name).map(|time| time.as_f64().unwrap().trunc())
}
