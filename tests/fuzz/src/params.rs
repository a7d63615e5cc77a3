//! A form is read as other parsers read it, or refused as a whole.

use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Config, MemoryStore};

use super::answer;
use super::request::{has_whole_escapes, parameters};
use super::stage::at_once;
use support::attempts::Attempts;
use support::world::FORM;

const KNOWN: [&[u8]; 4] = [b"token", b"token_type_hint", b"client_id", b"client_secret"];

thread_local! {
    static SERVER: (AuthorizationServer, Attempts) = {
        let attempts = Attempts::default();
        let builder = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new());
        (builder.throttle(attempts.clone()).build().unwrap(), attempts)
    };
}

pub(super) fn check(input: &[u8]) -> String {
    SERVER.with(|(server, attempts)| {
        attempts.take();
        let request = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(input));
        let response = at_once(server.serve(Endpoint::Revocation, &request));
        answer::check(&response, &[400, 401, 413]);
        answer::error(&response);
        let found = attempts.claimed();
        let config = server.config();
        let is_good = input.len() <= config.limits.body_bytes && count(input) <= 100 && is_sound(input);
        assert_eq!(found.is_some(), is_good, "{}: {found:?}", input.escape_ascii());
        match found {
            None => "refused".to_owned(),
            Some(client) => {
                let expected =
                    parameters(input).into_iter().find(|(name, value)| name == b"client_id" && !value.is_empty());
                assert_eq!(client.as_deref().map(str::as_bytes), expected.as_ref().map(|(_, value)| value.as_slice()));
                if client.is_some() { "read, a client".to_owned() } else { "read".to_owned() }
            }
        }
    })
}

fn count(form: &[u8]) -> usize {
    form.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()).count()
}

/// Whether all escapes are complete, and known parameters are UTF-8 and not repeated.
fn is_sound(form: &[u8]) -> bool {
    let parameters = parameters(form);
    let copies = |known: &[u8]| parameters.iter().filter(|(name, _)| name == known).count();
    let is_text =
        |(name, value): &(Vec<u8>, Vec<u8>)| !KNOWN.contains(&name.as_slice()) || std::str::from_utf8(value).is_ok();
    let whole = form.split(|byte| *byte == b'&' || *byte == b'=').all(has_whole_escapes);
    whole && KNOWN.iter().all(|known| copies(known) < 2) && parameters.iter().all(is_text)
}
