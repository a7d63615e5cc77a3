//! The client and a real authorization server.

use std::time::Duration;

use grantor::client::GrantTypes;
use grantor::config::Profile;
use grantor::resource::{ExpectedAudience, IntrospectionSettings, ResourceClient};
use grantor::store::Stores;
use grantor::{Approval, AuthorizationServer, Client, ClientId, ClientSecret, MemoryStore, ResourceServer};

use super::{ENDPOINT, config, refused};
use support::directory::Directory;
use support::to_server::ToServer;
use support::world::{Credentials, ISSUER, World, form};

fn client(
    server: &AuthorizationServer,
    api: &Credentials,
    change: impl FnOnce(&mut IntrospectionSettings),
) -> ResourceClient {
    let audience = ExpectedAudience::Is(ISSUER.to_owned());
    let mut settings = IntrospectionSettings::new(ENDPOINT, &api.id, ClientSecret::new(&api.secret), ISSUER, audience);
    change(&mut settings);
    ResourceClient::new(settings, ToServer(server.clone())).unwrap()
}

async fn status(resource: &ResourceServer, token: &str) -> u16 {
    let header = format!("Bearer {token}");
    let request = grantor::wire::Request::new("GET").header("Authorization", header.as_bytes());
    resource.authenticate(&request).await.map_or_else(refused, |_| 200)
}

/// RSC-02
#[tokio::test]
async fn a_secret_with_any_characters_is_accepted_by_the_server() {
    let secret = "100%25+a:b c&d=e \"f\" \\ ~!@#$^*()[]";
    let id = "orders api:1+%2B";
    let api = Client::builder(ClientId::new(id).unwrap())
        .grant_types(GrantTypes::NONE)
        .secret(&ClientSecret::new(secret))
        .unwrap()
        .may_introspect()
        .build();
    let stores = Stores::new(MemoryStore::new()).with_clients(Directory::of([api]));
    let server = AuthorizationServer::new(config(), stores).unwrap();
    for (secret, expected) in [(secret.to_owned(), 401), (format!("{secret}x"), 503)] {
        let api = Credentials { id: id.to_owned(), secret };
        let resource = ResourceServer::introspecting(config(), client(&server, &api, |_| {})).unwrap();
        // An unknown token is refused; wrong credentials are a failure.
        assert_eq!(status(&resource, "unknown").await, expected);
    }
}

/// RSC-03, RSC-15: with the prefix that the server has.
#[tokio::test]
async fn a_revoked_token_is_refused_at_once() {
    let world = World::with(Profile::Platform, |own| own.tokens.prefix = "x_".to_owned()).await;
    let api = world.register_as(form(), Approval::default().may_introspect()).await;
    let client = client(&world.server, &api, |own| own.token_prefix = "x_at_".to_owned());
    let client = client.with_clock(world.clock.clone());
    let resource = ResourceServer::introspecting(world.server.config().clone(), client).unwrap();
    let pair = world.pair().await;
    assert_eq!(status(&resource, &pair.access).await, 200);
    world.revoke(&pair.access).await;
    assert_eq!(status(&resource, &pair.access).await, 401);
    assert_eq!(status(&resource, &pair.refresh).await, 401);
}

/// RSC-14
#[tokio::test]
async fn a_resumed_client_is_accepted_within_5_s() {
    let world = World::platform().await;
    let api = world.register_as(form(), Approval::default().may_introspect()).await;
    let client = client(&world.server, &api, |own| own.inactive_time_to_live = Duration::from_secs(5));
    let resource =
        ResourceServer::introspecting(world.server.config().clone(), client.with_clock(world.clock.clone())).unwrap();
    let token = world.pair().await.access;
    let (registrar, id) = (world.server.registrar().unwrap(), world.client.client_id());
    registrar.suspend(&id).await.unwrap();
    assert_eq!(status(&resource, &token).await, 401);
    registrar.resume(&id).await.unwrap();
    assert_eq!(status(&resource, &token).await, 401);
    world.advance(5);
    assert_eq!(status(&resource, &token).await, 200);
}
