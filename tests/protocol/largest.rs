//! The most that each bound lets the store keep, under the default settings. The guide has the table.

use std::collections::BTreeSet;

use grantor::client::{GrantType, GrantTypes};
use grantor::config::{Profile, PushedRequests};
use grantor::id::GrantId;
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::store::{Authorization, Grant, Page, Record, RecordStore};
use grantor::{Application, ApplicationForm, Config, Subject};
use serde_json::json;

use crate::{rfc7591, rfc9126};
use support::world::{PKCE, SESSION, VERIFIER, World, created, form, ok};

/// A redirect URI as long as one may be.
fn longest_uri(host: &str) -> String {
    let start = format!("https://{host}/");
    format!("{start}{}", "x".repeat(2048 - start.len()))
}

pub(crate) fn all_scopes() -> String {
    scopes(usize::MAX)
}

/// All scopes but one: a token keeps its own list of them.
fn fewer_scopes() -> String {
    scopes(ScopeCatalog::platform().definitions().len() - 1)
}

fn scopes(count: usize) -> String {
    let catalog = ScopeCatalog::platform();
    let writable = |name: &str| catalog.parse(format!("{name}:rw").as_bytes()).is_ok();
    let names = catalog.definitions().iter().take(count).map(|definition| definition.name());
    let wire: Vec<_> = names.map(|name| format!("{name}:{}", if writable(name) { "rw" } else { "r" })).collect();
    wire.join(" ")
}

/// The longest list of resources that a form takes: 4096 bytes.
pub(crate) fn longest_list() -> ResourceScope {
    let end = |number: usize| if number < 96 { "x" } else { "" };
    ResourceScope::specified((0..100).map(|number| format!("{number:040}{}", end(number)))).unwrap()
}

/// A form with the longest redirect URI, all scopes and the longest list of resources.
fn largest_form() -> ApplicationForm {
    let mut form = form();
    form.redirect_uris = vec![longest_uri("app.example.com")];
    form.scopes = all_scopes();
    form.resource_scope = Some(longest_list());
    form
}

async fn consent_request() -> usize {
    let world = World::platform().await;
    let client = world.register(largest_form()).await;
    let (state, uri) = ("s".repeat(4096), longest_uri("app.example.com"));
    let query = world.query_of(&client, &[PKCE[0], PKCE[1], ("state", &state), ("redirect_uri", &uri)]);
    let pending = world.authorize(&query).await.unwrap();
    let subject = Subject::new("s".repeat(36)).unwrap();
    world.server.hold(&pending, &subject, SESSION).await.unwrap();
    let list = RecordStore::<Authorization>::list(&world.store, subject.as_str(), Page::first(9)).await.unwrap();
    list[0].encode().len()
}

/// After as many refreshes as one grace lets through, each with another set of scopes.
async fn grant() -> usize {
    let world = World::platform().await;
    let client = world.register(largest_form()).await;
    let uri = longest_uri("app.example.com");
    let code = world.code_for(&world.query_of(&client, &[PKCE[0], PKCE[1], ("redirect_uri", &uri)])).await;
    let (redirect, verifier) = (("redirect_uri", &*uri), ("code_verifier", VERIFIER));
    let exchange = [("grant_type", "authorization_code"), ("code", &*code), redirect, verifier];
    let mut pair = ok(&world.token(&exchange).client(&client).send().await);
    let scope = fewer_scopes();
    loop {
        let token = pair.refresh_token.as_ref().unwrap().expose();
        let refresh = [("grant_type", "refresh_token"), ("refresh_token", token), ("scope", &*scope)];
        let response = world.token(&refresh).client(&client).send().await;
        if response.status() != 200 {
            assert_eq!(response.status(), 429, "as many pairs as one grace lets through");
            break;
        }
        pair = ok(&response);
    }
    let list = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(9)).await.unwrap();
    list[0].encode().len()
}

async fn pushed_request() -> usize {
    let world = World::with(Profile::Platform, |config: &mut Config| {
        config.pushed_requests.mode = PushedRequests::Optional;
    })
    .await;
    let client = world.register(largest_form()).await;
    let state = "s".repeat(4096);
    let (scope, uri) = (all_scopes(), longest_uri("app.example.com"));
    let more = [PKCE[0], PKCE[1], ("state", &*state), ("scope", &*scope), ("redirect_uri", &*uri)];
    let uri = created(&world.par(&client, &more).send().await);
    rfc9126::stored(&world, &uri).await.unwrap().encode().len()
}

/// All tokens of one client that lists as many scopes and resources as it may.
async fn client_credentials_tokens() -> usize {
    let world = World::with(Profile::Platform, |config| config.client_credentials.on = true).await;
    let mut form = largest_form();
    form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
    form.client_scopes = all_scopes();
    form.client_resources = Some(longest_list());
    let machine = world.register(form).await;
    let scope = fewer_scopes();
    let mut grants = BTreeSet::new();
    for _ in 0..world.server.config().limits.client_credentials_tokens {
        let ask = [("grant_type", "client_credentials"), ("scope", &*scope)];
        let token = ok(&world.token(&ask).client(&machine).send().await).access_token;
        let id: GrantId = token.expose()["at_".len()..][..22].parse().unwrap();
        grants.insert(id);
    }
    let mut bytes = 0;
    for id in &grants {
        bytes += RecordStore::<Grant>::find(&world.store, id).await.unwrap().unwrap().encode().len();
    }
    bytes
}

/// The largest registration: its metadata is as large as it may be.
async fn registration() -> usize {
    let world = rfc7591::world().await;
    let body = |rest: usize| {
        let mut uris: Vec<_> = (0..3).map(|number| longest_uri(&format!("{number}.example.com"))).collect();
        uris.last_mut().unwrap().truncate(40 + rest);
        json!({
            "redirect_uris": uris,
            "token_endpoint_auth_method": "none",
            "client_name": "\u{1f600}".repeat(50),
            "grant_types": ["authorization_code", "refresh_token"],
        })
    };
    let mut largest = rfc7591::register(&world, body(0)).await;
    let (mut accepted, mut refused) = (0, 2000);
    while refused - accepted > 1 {
        let tried = usize::midpoint(accepted, refused);
        let answer = rfc7591::post(&world, body(tried).to_string()).await;
        if answer.status() == 201 {
            (largest, accepted) = (rfc7591::created(&answer), tried);
        } else {
            rfc7591::refused(&answer, 400, "invalid_client_metadata");
            refused = tried;
        }
    }
    let answer = largest;
    let found = RecordStore::<Application>::find(&world.store, &rfc7591::id(&answer)).await.unwrap().unwrap();
    found.encode().len()
}

/// LIM-01, LIM-02, CC-01, 7591-5-07
#[tokio::test]
async fn the_guide_tells_the_most_that_each_bound_keeps() {
    let limits = Config::platform("https://auth.example").limits;
    let all_tokens = client_credentials_tokens().await;
    let rows = [
        ("consent requests of a user", limits.consent_requests, consent_request().await),
        ("grants of a user and a client", limits.grants, grant().await),
        ("pushed requests of a client", limits.pushed_requests.try_into().unwrap(), pushed_request().await),
        ("records with a client's own tokens", 8, all_tokens.div_ceil(8)),
        ("unreviewed clients", limits.unreviewed_clients.try_into().unwrap(), registration().await),
    ];
    assert!(rows[4].2 <= 8192, "{}", rows[4].2);
    let guide = include_str!("../../src/guide/sizing.md");
    for (what, count, bytes) in rows {
        let kilobytes = (count * bytes).div_ceil(1000);
        let row = format!("| {what} | {} | {} | {} |", grouped(count), grouped(bytes), grouped(kilobytes));
        assert!(guide.contains(&row), "{row}");
    }
}

/// Writes a number with a blank after each thousand.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    groups.join(" ")
}
