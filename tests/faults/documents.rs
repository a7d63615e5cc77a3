//! The row of a client with a metadata document is written once, even if the store fails or the request is dropped.

use std::sync::Arc;

use crate::waiting::{Waiting, dropped_after};
use async_trait::async_trait;
use futures::future::join_all;
use grantor::application::ApplicationFilter;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::Profile;
use grantor::fetch::{FetchError, FetchRequest, FetchResponse, Fetcher};
use grantor::hooks::{ApproveWithin, QueueAll};
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::secret::ConsentTicket;
use grantor::server::Builder;
use grantor::store::Page;
use grantor::wire::Request;
use grantor::{Client, ClientId, Config, Consent, Decision, Subject};
use support::intercepted::scripts::{Calls, Yielding};
use support::intercepted::{Failure, Fate, over_with};
use support::world::{PKCE, SCOPES, SESSION, World, code, config_of, ok};

const URL: &str = "https://client.example/c";

/// A document with that name.
#[derive(Clone, Copy, Debug)]
struct Named(&'static str);

#[async_trait]
impl Fetcher for Named {
    async fn fetch(&self, _: &FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        let Self(name) = self;
        let document = format!(
            r#"{{"client_id": "{URL}", "client_name": "{name}", "redirect_uris": ["https://client.example/cb"]}}"#
        );
        let mut response = FetchResponse::new(200, document);
        response.content_type = Some("application/json".to_owned());
        Ok(response)
    }
}

fn bounds() -> RegistrationBounds {
    RegistrationBounds::new(ScopeCatalog::platform().parse(SCOPES.as_bytes()).unwrap(), ResourceScope::All)
}

fn approving(builder: Builder, name: &'static str) -> Builder {
    builder.registration_policy(ApproveWithin::new(bounds())).fetcher(Named(name))
}

fn config() -> Config {
    let mut config = config_of(Profile::Mcp);
    config.registration.metadata_documents = true;
    config
}

/// A world without the client's row, or with the row of an earlier version of its document.
async fn scene(has_row: bool) -> World {
    let world = World::built(config(), |builder| approving(builder, "Before")).await;
    if has_row {
        hold(&world, &world.alice).await.unwrap();
    }
    world
}

async fn hold(world: &World, user: &Subject) -> Result<ConsentTicket, u16> {
    let query = [&[("response_type", "code"), ("client_id", URL)][..], &PKCE].concat();
    let query = support::world::encode(&query);
    let request = Request::new("GET").query(query.as_bytes()).subject(user);
    let refused = |error: grantor::AuthorizationError| error.response(Some(user)).status();
    let pending = world.server.authorize(&request).await.map_err(refused)?;
    world.server.hold(&pending, user, SESSION).await.map_err(refused)
}

async fn row(world: &World) -> Option<Arc<Client>> {
    world.server.client(&ClientId::new(URL).unwrap()).await.unwrap()
}

async fn rows(world: &World) -> usize {
    let all = world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(100)).await.unwrap();
    all.iter().filter(|application| application.id().as_str() == URL).count()
}

#[tokio::test]
async fn a_single_failure_leaves_the_row_of_before_or_after() {
    for has_row in [false, true] {
        for fate in [Fate::FailsBefore(Failure::Transient), Fate::FailsAfter(Failure::Transient), Fate::Repeated] {
            for at in 0.. {
                let world = scene(has_row).await;
                let script = Calls::failing(at, fate);
                let faulty = over_with(&world, script.clone(), |builder| approving(builder, "After"));
                let held = hold(&faulty, &world.alice).await;
                let case = format!("{has_row} {fate:?} {at}");
                if held.is_ok() {
                    assert_eq!(row(&world).await.unwrap().form().name, "After", "{case}");
                }
                if let Err(status) = held {
                    // The error is a page, or a redirect once the client is known.
                    assert!(matches!(status, 302 | 303 | 500 | 503), "{case}: {status}");
                }
                assert!(rows(&world).await <= 1, "{case}");
                // The next attempt works, and writes the row if it is not there.
                let again = over_with(&world, Calls::recorded(), |builder| approving(builder, "After"));
                let handle = hold(&again, &world.alice).await.unwrap();
                let client = row(&world).await.unwrap();
                assert_eq!(client.form().name, "After", "{case}");
                decided(&again, &handle).await;
                if script.met().is_none() {
                    assert!(at > 3, "{case}: the step made calls");
                    break;
                }
            }
        }
    }
}

async fn decided(world: &World, handle: &ConsentTicket) {
    let approve = Decision::Approve(Consent::to_everything());
    let redirect = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap();
    let code = support::world::text(&code(&redirect), "code");
    let client = support::world::Credentials { id: URL.to_owned(), secret: String::new() };
    ok(&world.exchange_as(&client, &code).await);
}

#[tokio::test]
async fn a_dropped_request_leaves_the_row_of_before_or_after() {
    for has_row in [false, true] {
        for polls in 1.. {
            let world = scene(has_row).await;
            let before = row(&world).await;
            let slow = over_with(&world, Waiting, |builder| approving(builder, "After"));
            let is_done = dropped_after(polls, hold(&slow, &world.alice)).await;
            let after = row(&world).await;
            let is_after = after.as_ref().is_some_and(|after| after.form().name == "After");
            assert!(is_after || after == before, "{has_row} {polls}: {after:?}");
            let fast = over_with(&world, Calls::recorded(), |builder| approving(builder, "After"));
            let handle = hold(&fast, &world.alice).await.unwrap();
            assert_eq!((rows(&world).await, row(&world).await.unwrap().form().name.as_str()), (1, "After"));
            decided(&fast, &handle).await;
            if is_done {
                assert!(polls > 6, "the step waited");
                break;
            }
        }
    }
}

#[tokio::test]
async fn holds_at_once_that_wait_at_every_call_store_one_row() {
    for has_row in [false, true] {
        let world = scene(has_row).await;
        let slow = over_with(&world, Yielding, |builder| approving(builder, "After"));
        let users: Vec<_> = (0..16).map(|number| Subject::new(format!("user-{number}")).unwrap()).collect();
        world.events.take();
        let held = join_all(users.iter().map(|user| hold(&slow, user))).await;
        assert!(held.iter().all(Result::is_ok), "{held:?}");
        let client = row(&world).await.unwrap();
        assert_eq!(
            (rows(&world).await, client.form().name.as_str(), writes(&world)),
            (1, "After", 1),
            "has a row: {has_row}"
        );
    }
}

/// Concurrent requests write a document that awaits review once.
#[tokio::test]
async fn requests_at_once_queue_one_client() {
    let world = World::built(config(), |builder| approving(builder, "Before")).await;
    let slow = over_with(&world, Yielding, |builder| {
        builder.registration_policy(QueueAll::new(bounds())).fetcher(Named("Queued"))
    });
    let users: Vec<_> = (0..16).map(|number| Subject::new(format!("user-{number}")).unwrap()).collect();
    world.events.take();
    let held = join_all(users.iter().map(|user| hold(&slow, user))).await;
    assert!(held.iter().all(|held| matches!(held, Err(400))), "{held:?}");
    let client = row(&world).await.unwrap();
    assert_eq!((rows(&world).await, client.form().name.as_str(), writes(&world)), (1, "Queued", 1));
}

/// How often the document was stored since the events were last taken.
fn writes(world: &World) -> usize {
    world.events.take().iter().filter(|event| event.contains("DocumentStored")).count()
}
