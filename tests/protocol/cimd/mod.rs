//! draft-ietf-oauth-client-id-metadata-document: clients whose id is the URL of a metadata document.

mod caching;
mod consent;
mod documents;
mod fetching;
mod keys;
mod places;
mod policy;
mod public_keys;
mod review;
mod settings;
mod stored;
pub(crate) mod web;

use grantor::client_metadata::RegistrationBounds;
use grantor::config::Profile;
use grantor::hooks::{ApproveWithin, QueueAll};
use grantor::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use grantor::wire::{Request, Response};
use grantor::{AuthorizationError, ClientId, Config, Consent, Decision, PendingAuthorization, Subject};
use serde_json::{Value, json};

use self::web::Web;
use support::world::{Credentials, PKCE, Pair, SCOPES, SESSION, World, code, config_of, page, pair, text};

const URL: &str = "https://client.example/oauth/client.json";
const URI: &str = "https://client.example/cb";

fn scopes(wire: &str) -> ScopeSet {
    ScopeCatalog::platform().parse(wire.as_bytes()).unwrap()
}

/// The bounds of the policies in these tests: the scopes of the world.
fn bounds() -> RegistrationBounds {
    RegistrationBounds::new(scopes(SCOPES), ResourceScope::All)
}

/// The settings of the MCP profile with documents on.
fn on() -> Config {
    let mut config = config_of(Profile::Mcp);
    config.registration.metadata_documents = true;
    config
}

async fn world_with(config: Config, web: &Web) -> World {
    let policy = ApproveWithin::new(bounds());
    World::built(config, |builder| builder.registration_policy(policy).fetcher(web.clone())).await
}

/// A world whose policy approves every document, and a web with a valid one at [`URL`].
async fn world() -> (World, Web) {
    let web = Web::with(URL, document());
    (world_with(on(), &web).await, web)
}

/// A world whose documents await review.
async fn queueing() -> (World, Web) {
    let web = Web::with(URL, document());
    (queueing_on(on(), &web).await, web)
}

async fn queueing_on(config: Config, web: &Web) -> World {
    let policy = QueueAll::new(bounds());
    World::built(config, |builder| builder.registration_policy(policy).fetcher(web.clone())).await
}

/// The document of a public client with code and refresh.
fn document() -> Value {
    json!({
        "client_id": URL,
        "client_name": "App",
        "redirect_uris": [URI],
        "grant_types": ["authorization_code", "refresh_token"],
    })
}

/// Returns the document with these members set; null counts as absent.
fn with(members: Value) -> Value {
    let mut document = document();
    document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    document
}

fn client(url: &str) -> Credentials {
    Credentials { id: url.to_owned(), secret: String::new() }
}

fn id() -> ClientId {
    ClientId::new(URL).unwrap()
}

/// The query of a request with that redirect URI and PKCE.
fn query(world: &World, url: &str, redirect_uri: &str) -> String {
    world.query_of(&client(url), &[&PKCE[..], &[("redirect_uri", redirect_uri)]].concat())
}

async fn ask_as(world: &World, user: &Subject, query: &str) -> Result<PendingAuthorization, AuthorizationError> {
    let request = Request::new("GET").query(query.as_bytes()).peer([192, 0, 2, 1].into());
    world.server.authorize(&request.subject(user)).await
}

/// A request of the signed-in user.
async fn ask(world: &World, query: &str) -> Result<PendingAuthorization, AuthorizationError> {
    ask_as(world, &world.alice, query).await
}

/// A minimal request of the client with the document at [`URL`].
async fn ask_for(world: &World, url: &str) -> Result<PendingAuthorization, AuthorizationError> {
    ask(world, &query(world, url, URI)).await
}

/// The response that the signed-in user gets for a request that is refused at once, or when it is held.
async fn refusal(world: &World, query: &str) -> Response {
    let refused = match ask(world, query).await {
        Ok(pending) => world.server.hold(&pending, &world.alice, SESSION).await.map(drop),
        Err(error) => Err(error),
    };
    refused.expect_err("the request was accepted").response(Some(&world.alice))
}

/// The request is refused with the page.
async fn refused(world: &World, url: &str) -> Response {
    let refused = refusal(world, &query(world, url, URI)).await;
    page(&refused);
    refused
}

/// Returns the tokens that the client gets with that user's consent.
async fn pair_as(world: &World, user: &Subject, url: &str) -> Pair {
    let pending = ask_as(world, user, &query(world, url, URI)).await.unwrap();
    let handle = world.server.hold(&pending, user, SESSION).await.unwrap();
    let approve = Decision::Approve(Consent::to_everything());
    let redirect = world.server.decide(handle.expose(), user, SESSION, &approve).await.unwrap();
    pair(&world.exchange_as(&client(url), &text(&code(&redirect), "code")).await)
}

async fn pair_of(world: &World, url: &str) -> Pair {
    pair_as(world, &world.alice, url).await
}

async fn purge(world: &World) {
    assert!(world.purge(1000).await.is_finished());
}
