//! Clients that your service itself describes.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use futures::executor::block_on;
use grantor::client::{
    ApplicationType, ClientBuilder, ClientState, ClientType, GrantType, GrantTypes, Privileges, RefreshRotation,
};
use grantor::config::Profile;
use grantor::redirect_uri::RegisteredRedirectUri;
use grantor::registration::Reduction;
use grantor::scope::ResourceScope;
use grantor::{Application, Client, ClientId, ClientSecret, RegistrarError};

use crate::registration::{developer, registrar, submitted};
use support::world::{Credentials, REDIRECT_URI, SCOPES, World, e400, ok};

const SECRET: &str = "thirty-two characters and no less";

fn builder(world: &World, id: &str) -> ClientBuilder {
    let config = world.server.config();
    Client::builder(ClientId::new(id).unwrap())
        .name("Wiki")
        .redirect_uri(RegisteredRedirectUri::parse(REDIRECT_URI, &config.redirect_uris).unwrap())
        .scopes(config.scopes.parse(SCOPES.as_bytes()).unwrap())
        .resource_scope(ResourceScope::All)
}

pub(super) fn described(world: &World, id: &str) -> Client {
    builder(world, id).secret(&ClientSecret::new(SECRET)).unwrap().build()
}

/// ADM-09
#[tokio::test]
async fn a_client_is_brought_in_line_with_its_description() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    world.events.take();
    let first = registrar.ensure_client(&described(&world, "wiki")).await.unwrap();
    assert_eq!(first.state(), ClientState::Approved);
    assert_eq!(registrar.ensure_client(&described(&world, "wiki")).await.unwrap(), first);
    assert_eq!(world.events.take(), ["Application { client: wiki, actor: None, change: Ensured }"]);
    assert_eq!(registrar.application(first.id()).await.unwrap().owner, None);
    let client = Credentials { id: "wiki".into(), secret: SECRET.into() };
    let live = world.pair_of(&client).await;

    let config = world.server.config();
    let other = RegisteredRedirectUri::parse("https://app.example.com/other", &config.redirect_uris).unwrap();
    let changed = builder(&world, "wiki").redirect_uri(other).secret(&ClientSecret::new(SECRET)).unwrap().build();
    let next = registrar.ensure_client(&changed).await.unwrap();
    assert_eq!((next.version() == first.version(), next.epoch()), (false, first.epoch()));
    assert_eq!(next.form().redirect_uris.len(), 2);
    assert!(world.opens(&live.access).await);
    ok(&world.refresh_as(&client, &live.refresh).await);

    registrar.revoke_grants(next.id()).await.unwrap();
    registrar.suspend(next.id()).await.unwrap();
    let same = registrar.ensure_client(&changed).await.unwrap();
    assert_eq!((same.state(), same.epoch()), (ClientState::Suspended, first.epoch() + 1));
    let back = registrar.ensure_client(&described(&world, "wiki")).await.unwrap();
    assert_eq!((back.state(), back.epoch()), (ClientState::Suspended, first.epoch() + 1));
    registrar.delete(back.id(), back.version()).await.unwrap();
    let refused = registrar.ensure_client(&changed).await;
    assert!(matches!(refused, Err(RegistrarError::Reserved { .. })), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("can be reused from 2"), "a date, not seconds");
}

/// ADM-09
///
/// During a roll-out, an older process starts and undoes nothing; a higher number goes back.
#[tokio::test]
async fn an_older_description_undoes_nothing() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let numbered = |revision, name: &str| {
        let builder = builder(&world, "wiki").name(name).revision(revision);
        builder.secret(&ClientSecret::new(SECRET)).unwrap().build()
    };
    let (old, new) = (numbered(1, "Old"), numbered(2, "New"));
    registrar.ensure_client(&old).await.unwrap();
    let next = registrar.ensure_client(&new).await.unwrap();
    for older in [&old, &numbered(0, "None")] {
        assert_eq!(registrar.ensure_client(older).await.unwrap(), next);
    }
    let back = registrar.ensure_client(&numbered(3, "Old")).await.unwrap();
    assert_eq!((back.revision(), &*back.form().name), (3, "Old"));

    registrar.delete(back.id(), back.version()).await.unwrap();
    for older in [&old, &new, &numbered(3, "Old"), &numbered(0, "None")] {
        assert_eq!(registrar.ensure_client(older).await.unwrap().state(), ClientState::Deleted);
    }
    let refused = registrar.ensure_client(&numbered(4, "New")).await;
    assert!(matches!(refused, Err(RegistrarError::Reserved { .. })), "{refused:?}");
}

/// ADM-09
#[test]
fn of_twenty_processes_at_once_one_writes() {
    let world = block_on(World::platform());
    let description = described(&world, "wiki");
    world.events.take();
    let start = Barrier::new(20);
    let run = || {
        let registrar = registrar(&world);
        start.wait();
        block_on(registrar.ensure_client(&description)).unwrap().version()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(run)).collect();
        let versions: BTreeSet<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(versions.len(), 1);
    });
    assert_eq!(world.events.take().len(), 1);
}

/// ADM-10
#[tokio::test]
async fn no_other_client_is_taken_over() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let foreign = submitted(&world).await;
    let before = registrar.client(&foreign).await.unwrap();
    let refusal = async |id: &str| registrar.ensure_client(&described(&world, id)).await.unwrap_err().to_string();
    let made =
        "refused: client_id: has 22 letters and digits, like ids that the server makes; use a name such as \"wiki\"";
    assert_eq!(refusal(foreign.as_str()).await, made);
    assert_eq!(refusal("abcdefghijklmnopqrstuv").await, made);
    let document =
        "refused: client_id: begins with https://, like the URL of a metadata document; use a name such as \"wiki\"";
    assert_eq!(refusal("https://app.example/client.json").await, document);
    assert_eq!(registrar.client(&foreign).await.unwrap(), before);
    for secret in ["", "thirty-one characters, no more."] {
        assert!(builder(&world, "wiki").secret(&ClientSecret::new(secret)).is_err());
    }
    let unproven = registrar.ensure_client(&builder(&world, "wiki").build()).await.unwrap_err();
    assert_eq!(unproven.to_string(), "refused: client_secret: is missing (secret(…) sets it)");
    let nameless = registrar.ensure_client(&Client::builder(ClientId::new("wiki").unwrap()).build()).await.unwrap_err();
    assert_eq!(
        nameless.to_string(),
        "refused: client_secret: is missing (secret(…) sets it); name: is missing (name(…) sets it); redirect_uris: is \
         missing (redirect_uri(…) sets it); scopes: is missing (scopes(…) sets it); resource_scope: is missing \
         (resource_scope(…) sets it)"
    );
    assert!(registrar.client(&ClientId::new("wiki").unwrap()).await.is_err());
}

/// ADM-10
/// An id of another form was imported by a store: the client belongs to its owner.
#[tokio::test]
async fn a_submitted_client_under_a_name_of_its_own_is_not_taken_over() {
    use grantor::store::{Insertion, RecordStore};
    let world = World::platform().await;
    let imported = grantor::testing::records::application_under(&ClientId::new("imported").unwrap(), &developer());
    assert_eq!(RecordStore::<Application>::insert(&world.store, imported.into()).await.unwrap(), Insertion::Inserted);
    let refused = registrar(&world).ensure_client(&described(&world, "imported")).await;
    assert!(matches!(refused, Err(RegistrarError::NotFirstParty)), "{refused:?}");
}

/// ADM-09
#[tokio::test]
async fn what_the_description_says_is_changed_there() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = registrar.ensure_client(&described(&world, "wiki")).await.unwrap().id().clone();
    for outcome in [
        registrar.set_privileges(&id, 1, Privileges::default()).await,
        registrar.reduce(&id, 1, Reduction::default()).await,
        registrar.end_secrets(&id).await,
        registrar.transfer(&id, 1, developer()).await,
    ] {
        assert!(matches!(outcome, Err(RegistrarError::FirstParty)), "{outcome:?}");
    }
    let rotated = registrar.rotate_secret(&id, &developer(), 1).await;
    assert!(matches!(rotated, Err(RegistrarError::NotFound)), "{rotated:?}");
}

/// 6749-4.4-01, ADM-09
#[tokio::test]
async fn only_a_confidential_web_application_acts_for_itself() {
    let world = World::with(Profile::Platform, |config| config.client_credentials.on = true).await;
    let registrar = registrar(&world);
    let config = world.server.config();
    let machine = || {
        Client::builder(ClientId::new("build").unwrap())
            .name("Nightly build")
            .grant_types(GrantTypes::NONE.with(GrantType::ClientCredentials))
            .client_scopes(config.scopes.parse(b"repo-code:rw").unwrap())
            .client_resources(ResourceScope::specified(["acme/build"]).unwrap())
    };
    let with_secret = |builder: ClientBuilder| builder.secret(&ClientSecret::new(SECRET)).unwrap();
    let refused =
        [machine().client_type(ClientType::Public), with_secret(machine()).application_type(ApplicationType::Native)];
    for builder in refused {
        let refused = registrar.ensure_client(&builder.build()).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "refused: grant_types: has client_credentials, which is for confidential web applications"
        );
    }
    // A client without users needs neither a website nor resources of users.
    registrar.ensure_client(&with_secret(machine()).build()).await.unwrap();
    let client = Credentials { id: "build".into(), secret: SECRET.into() };
    let ask = [("grant_type", "client_credentials")];
    let token = ok(&world.token(&ask).client(&client).send().await).access_token.expose().to_owned();
    assert!(world.opens(&token).await);

    let mut other = builder(&world, "build");
    for keep in [false, true] {
        other = if keep { other.refresh_rotation(RefreshRotation::Keep) } else { other.may_introspect() };
        let native = with_secret(other.clone()).application_type(ApplicationType::Native).build();
        let refused = registrar.ensure_client(&native).await;
        assert!(matches!(refused, Err(RegistrarError::PublicClient)), "{refused:?}");
    }
    // A description without the grant type removes it, and its tokens become invalid.
    registrar.ensure_client(&with_secret(builder(&world, "build")).build()).await.unwrap();
    assert!(!world.opens(&token).await);
    e400(&world.token(&ask).client(&client).send().await, "unauthorized_client");
}
