//! A registered client can be used as the response says. A refusal stores nothing, and repeats nothing of the input.
//!
//! An input is the body of a registration.

use std::cell::RefCell;

use grantor::MemoryStore;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::DynamicRegistration;
use grantor::config::Profile;
use grantor::hooks::ApproveWithin;
use grantor::redirect_uri::PrivateUseSchemes;
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::wire::{Body, Endpoint, Request, Response};
use serde_json::{Map, Value};
use support::world::{AnyStore, PKCE, SCOPES, World, config_of, encode};
use url::Url;

use super::answer;
use super::redirect_uri::{leads_nowhere, place};
use super::stage::at_once;

/// After this many registrations, a new world is made.
const CLIENTS: usize = 500;

/// Members of a response that the server makes.
const OF_THE_SERVER: [&str; 4] = ["client_id", "client_id_issued_at", "client_secret", "client_secret_expires_at"];

thread_local! {
    /// A world, and the number of clients that registered themselves there.
    static WORLD: RefCell<Option<(World, usize)>> = const { RefCell::new(None) };
}

pub(super) fn check(input: &[u8]) -> String {
    let (world, clients) = WORLD.take().filter(|(_, clients)| *clients < CLIENTS).unwrap_or_else(|| (put_up(), 0));
    let response = register(&world, input);
    let events = world.events.take();
    let registered = events.iter().filter(|event| event.contains("Registered")).count();
    answer::check(&response, &[201, 400, 413]);
    answer::is_not_stored(&response);
    let outcome = if response.status() == 201 {
        assert_eq!(registered, 1, "{events:?}");
        created(&world, input, &response)
    } else {
        assert_eq!(registered, 0, "{events:?}");
        format!("{}, {}", response.status(), answer::error(&response))
    };
    WORLD.set(Some((world, clients + 2 * registered)));
    outcome
}

fn put_up() -> World {
    let mut config = config_of(Profile::Platform);
    config.public_clients = true;
    config.registration.dynamic = DynamicRegistration::Open;
    config.redirect_uris.private_use_schemes = PrivateUseSchemes::ReverseDomain(vec!["cursor".into()]);
    let scopes = ScopeCatalog::platform().parse(SCOPES.as_bytes()).unwrap();
    let policy = ApproveWithin::new(RegistrationBounds::new(scopes, ResourceScope::All));
    let store = AnyStore::over(MemoryStore::new());
    let world = at_once(World::on(store, config, |builder| builder.registration_policy(policy)));
    world.events.take();
    world
}

fn register(world: &World, body: &[u8]) -> Response {
    let request = Request::new("POST").header("Content-Type", b"application/json").body(Body::Bytes(body));
    at_once(world.server.serve(Endpoint::Registration, &request))
}

fn created(world: &World, input: &[u8], response: &Response) -> String {
    // Another parser also reads one object.
    let sent: Map<String, Value> = serde_json::from_slice(input).unwrap();
    assert!(sent.contains_key("redirect_uris"));
    let client: Map<String, Value> = serde_json::from_slice(response.body()).unwrap();
    for (name, value) in &client {
        assert!(!value.is_null() && value != "" && !name.is_empty(), "{name}: {value}");
    }
    let id = client["client_id"].as_str().unwrap();
    assert!(!id.starts_with("https://") && Some(id) != sent.get("client_id").and_then(Value::as_str), "{id}");
    has_its_credentials(&client);
    assert_not_misleading(&client);
    for uri in texts(&client, "redirect_uris") {
        assert!(texts(&sent, "redirect_uris").contains(&uri), "{uri:?} was not sent");
        assert!(place(uri).is_ok() || leads_nowhere(uri), "{uri:?}");
        let query = [&[("response_type", "code"), ("client_id", id), ("redirect_uri", uri)], &PKCE[..]].concat();
        let pending = at_once(world.authorize(&encode(&query)));
        assert!(pending.is_ok(), "{uri:?} was registered, and is refused: {pending:?}");
    }
    registers_again(world, &client);
    format!("201, {}", client["token_endpoint_auth_method"].as_str().unwrap())
}

/// The response has a secret exactly if the method needs one, and only grant types with a user.
fn has_its_credentials(client: &Map<String, Value>) {
    let method = client["token_endpoint_auth_method"].as_str().unwrap();
    assert!(matches!(method, "none" | "client_secret_basic" | "client_secret_post"), "{method}");
    let has_secret = method != "none";
    assert_eq!(client.contains_key("client_secret"), has_secret);
    assert_eq!(client.get("client_secret_expires_at"), has_secret.then_some(&Value::from(0)));
    assert_eq!(texts(client, "response_types"), ["code"]);
    let grant_types = texts(client, "grant_types");
    assert!(grant_types.contains(&"authorization_code"), "{grant_types:?}");
    assert!(grant_types.iter().all(|own| ["authorization_code", "refresh_token"].contains(own)), "{grant_types:?}");
    let scope = client["scope"].as_str().unwrap();
    assert!(scope.split(' ').all(|own| SCOPES.contains(own.trim_end_matches(":r"))), "{scope}");
}

/// Texts have no invisible characters, and links go where they seem to go.
fn assert_not_misleading(client: &Map<String, Value>) {
    let hidden = |own: char| {
        own.is_control()
            || matches!(own, '\u{ad}' | '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    let lines = ["client_name", "software_id", "software_version"].map(|name| client.get(name).and_then(Value::as_str));
    for text in lines.into_iter().flatten().chain(texts(client, "contacts")) {
        assert!(!text.contains(hidden) && !text.trim().is_empty() && text.chars().count() <= 128, "{text:?}");
    }
    for link in ["client_uri", "logo_uri", "tos_uri", "policy_uri"] {
        let Some(link) = client.get(link).and_then(Value::as_str).filter(|link| !leads_nowhere(link)) else { continue };
        let url = Url::parse(link).unwrap();
        assert!(url.scheme() == "https" && url.username().is_empty() && url.password().is_none(), "{link:?}");
        assert!(link.to_ascii_lowercase().contains(url.host_str().unwrap()), "{link:?}");
    }
}

/// The metadata of a response can be registered again, with the same result.
fn registers_again(world: &World, client: &Map<String, Value>) {
    let metadata = |client: &Map<String, Value>| -> Map<String, Value> {
        let own = client.iter().filter(|(name, _)| !OF_THE_SERVER.contains(&name.as_str()));
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let first = metadata(client);
    let response = register(world, &serde_json::to_vec(&first).unwrap());
    assert_eq!(response.status(), 201, "{first:?}: {}", response.body().escape_ascii());
    let again: Map<String, Value> = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(metadata(&again), first);
    assert_ne!(again["client_id"], client["client_id"]);
    world.events.take();
}

fn texts<'c>(client: &'c Map<String, Value>, name: &str) -> Vec<&'c str> {
    let list = client.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|value| value.as_str().unwrap_or_default()).collect()
}
