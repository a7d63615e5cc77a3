//! A token works only as a whole: a text that is made of parts of tokens is no token, and reports no reuse.
//!
//! An input is a text that is presented wherever a token may be. If it begins with `!`, the tag at the end of a refresh
//! token is computed anew, as an attacker could who has a genuine token and the source code, but not the key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::config::Profile;
use grantor::wire::{Body, Endpoint, Request, Response};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use sha2::{Digest, Sha256};

use super::answer;
use super::stage::{Stage, at_once, play};
use support::world::FORM;

/// Bytes of a refresh token: its id, its secret, and at its end the tag.
const REFRESH: usize = 16 + 66;
const TAG: usize = 11;
/// Texts that grant no access, change nothing and report no reuse.
const HARMLESS: [&str; 10] =
    ["front", "family id", "client", "secret", "basic", "public", "stranger", "foreign", "foreign_refresh", "dead"];

pub(super) fn check(input: &[u8]) -> String {
    play(Profile::Platform, |stage| {
        let forged = input.strip_prefix(b"!");
        let text = stage.expand(forged.unwrap_or(input));
        let text = if forged.is_some() { with_tag(&text) } else { text };
        let genuine = stage.props.iter().any(|(name, own)| own.as_bytes() == text && !HARMLESS.contains(name));
        let before = stage.contents();
        let answers = [
            post(stage, Endpoint::Introspection, &[("token", &text)]),
            post(stage, Endpoint::Token, &[("grant_type", b"authorization_code"), ("code", &text)]),
            post(stage, Endpoint::Token, &[("grant_type", b"refresh_token"), ("refresh_token", &text)]),
            post(stage, Endpoint::Revocation, &[("token", &text)]),
        ];
        for response in &answers {
            answer::check(response, &[200, 400]);
        }
        let events = stage.world.events.take();
        if genuine {
            return "genuine".to_owned();
        }
        let decided = at_once(stage.world.server.decide(
            &String::from_utf8_lossy(&text),
            &stage.world.alice,
            b"any",
            &grantor::Decision::Deny,
        ));
        assert!(decided.is_err());
        let [introspected, exchanged, refreshed, _] = &answers;
        assert!([exchanged, refreshed].iter().all(|response| response.status() == 400), "{}", text.escape_ascii());
        assert!(introspected.status() == 400 || introspected.body() == b"{\"active\":false}");
        // Only the grant's record holds the key of the tag, so not even the family id of a genuine token reports reuse.
        let accused = events.iter().any(|event| event.starts_with("RefreshTokenReused"));
        let changed = !stage.contents().same_grants(&before);
        assert!(!accused && !changed, "{}: {events:?}", text.escape_ascii());
        if forged.is_some() && has_lineage(stage, &text) {
            return "forged by a holder".to_owned();
        }
        "unknown".to_owned()
    })
}

fn post(stage: &Stage, endpoint: Endpoint, parameters: &[(&str, &[u8])]) -> Response {
    let pieces = parameters.iter().map(|(name, value)| format!("{name}={}", percent_encode(value, NON_ALPHANUMERIC)));
    let body = pieces.collect::<Vec<_>>().join("&");
    let basic = format!("Basic {}", stage.prop("basic"));
    let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(body.as_bytes()));
    at_once(stage.world.server.serve(endpoint, &request.header("Authorization", basic.as_bytes())))
}

/// The bytes of a text that has the shape of a refresh token.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"rt_")?;
    let (id, secret) = text.split_at_checked(22)?;
    let bytes = [URL_SAFE_NO_PAD.decode(id).ok()?, URL_SAFE_NO_PAD.decode(secret).ok()?].concat();
    (bytes.len() == REFRESH).then_some(bytes)
}

fn with_tag(text: &[u8]) -> Vec<u8> {
    let Some(mut bytes) = decode(text) else { return text.to_vec() };
    let digest = Sha256::digest(&bytes[16..REFRESH - TAG]);
    let tag = Sha256::digest([&[0; 16], &digest[..]].concat());
    bytes[REFRESH - TAG..].copy_from_slice(&tag[..TAG]);
    format!("rt_{}{}", URL_SAFE_NO_PAD.encode(&bytes[..16]), URL_SAFE_NO_PAD.encode(&bytes[16..])).into_bytes()
}

/// Whether id and family id are those of a genuine refresh token.
fn has_lineage(stage: &Stage, text: &[u8]) -> bool {
    let front = |text: &[u8]| decode(text).map(|bytes| bytes[..32].to_vec());
    let own = front(text);
    own.is_some() && ["refresh", "twin", "old"].iter().any(|name| front(stage.prop(name).as_bytes()) == own)
}
