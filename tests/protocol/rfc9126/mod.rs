//! RFC 9126: pushed authorization requests.

mod decision;
mod negative;
mod push;
mod settings;
mod visit;

use std::sync::Arc;

use grantor::config::Profile;
use grantor::config::PushedRequests;
use grantor::id::{AuthorizationId, PushedRequestId};
use grantor::store::{Authorization, Page, PushedRequest, RecordStore};
use grantor::wire::Response;
use grantor::{Config, Consent, Decision, Subject};

use support::world::{SESSION, World};

const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// A world of the strict profile whose clients may push.
async fn world() -> World {
    world_with(|_| ()).await
}

async fn world_with(change: impl FnOnce(&mut Config)) -> World {
    World::with(Profile::Strict, |config| {
        config.pushed_requests.mode = PushedRequests::Optional;
        change(config);
    })
    .await
}

/// The record that a `request_uri` names.
pub(crate) async fn stored(world: &World, request_uri: &str) -> Option<Arc<PushedRequest>> {
    let id: AuthorizationId = request_uri.strip_prefix(PREFIX).unwrap()[..22].parse().unwrap();
    RecordStore::<PushedRequest>::find(&world.store, &PushedRequestId::from_bytes(*id.as_bytes())).await.unwrap()
}

/// What that user's browser shows at a `request_uri`: a consent page, with its handle, or another response.
async fn opened(world: &World, request_uri: &str, session: &[u8], user: &Subject) -> Result<String, Response> {
    let answered = |error: grantor::AuthorizationError| error.response(Some(user));
    let pending = world.visit(&world.reference(request_uri), session, Some(user)).await.map_err(answered)?;
    let handle = world.server.hold(&pending, user, session).await.map_err(answered)?;
    Ok(handle.expose().to_owned())
}

/// The consent page of the world's user.
async fn held(world: &World, request_uri: &str) -> String {
    opened(world, request_uri, SESSION, &world.alice).await.expect("a consent page")
}

async fn decided(world: &World, handle: &str, decision: Decision) -> Response {
    match world.server.decide(handle, &world.alice, SESSION, &decision).await {
        Ok(response) => response,
        Err(error) => error.response(Some(&world.alice)),
    }
}

async fn approved(world: &World, handle: &str) -> Response {
    decided(world, handle, Decision::Approve(Consent::to_everything())).await
}

/// Counts the requests of the world's user that have a code that can be exchanged.
async fn codes(world: &World) -> usize {
    world.server.authorizations_of(&world.alice).await.unwrap().len()
}

/// Counts the requests of the world's user that were ever held.
async fn rows(world: &World) -> usize {
    RecordStore::<Authorization>::list(&world.store, world.alice.as_str(), Page::first(1000)).await.unwrap().len()
}

/// Asserts the page for a request that was answered before.
#[track_caller]
fn already_answered(response: &Response) {
    assert_eq!(response.status(), 400);
    assert!(String::from_utf8_lossy(response.body()).contains("already been answered"));
}
